// SPDX-License-Identifier: GPL-2.0
// Moves massif-ctl into the background.
//
// The background process must not hold the program's output pipes open, keep a file system from being unmounted, or
// die with the terminal. So it closes all inherited descriptors, and its messages go to a file.

#include "background.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "launch.h"
#include "ctl/message/message.h"
#include "ctl/files/outname.h"
#include "ctl/files/recorder.h"

char *mf_background_join(const char *directory, const char *name)
{
	mf_auto_free char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (; *directory; directory++)
		fputs(*directory == '%' ? "%%" : (char[]){ *directory, '\0' }, out);
	fprintf(out, "/%s", name);
	return fclose(out) == 0 ? mf_take(text, NULL) : NULL;
}

/* Returns the absolute path of the working directory, which the caller frees; NULL if it cannot be reached by a path. */
static char *find_directory(void)
{
	mf_auto_free char *name = getcwd(NULL, 0);
	struct stat by_name, here;

	if (!name || *name != '/' || stat(name, &by_name) || stat(".", &here) ||
	    by_name.st_dev != here.st_dev || by_name.st_ino != here.st_ino)
		return NULL;
	return mf_take(name, NULL);
}

/* Makes the output file names absolute and leaves the working directory, so that its file system can be unmounted. */
static void leave_directory(struct mf_background *background)
{
	struct mf_options *options = background->options;
	const char **relative[] = { &options->out_file, &options->xtree_file, &options->record_file };
	mf_auto_free char *directory = find_directory();

	if (!directory)
		return;
	for (size_t i = 0; i < sizeof(relative) / sizeof(relative[0]); i++) {
		if (!*relative[i] || **relative[i] == '/')
			continue;
		background->names[i] = mf_background_join(directory, *relative[i]);
		if (!background->names[i])
			return;
	}
	for (size_t i = 0; i < sizeof(relative) / sizeof(relative[0]); i++)
		if (background->names[i])
			*relative[i] = background->names[i];
	if (!mf_recorder_make_absolute(options->recorder, directory))
		return;
	/* If chdir() fails, that is harmless: the files' names are absolute, and so are valid in any directory. */
	if (chdir("/"))
		return;
}

static void let_go(const struct mf_background *background)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC | O_NOCTTY);

	if (background->keep_descriptors)
		goto out;
	mf_launch_drop_inherited();
	if (null >= 0)
		dup2(null, STDERR_FILENO);
out:
	if (null >= 0)
		close(null);
}

/* Discards pending signals, such as SIGHUP, that were sent to the parent's process group. */
static void forget_signals(const struct mf_background *background)
{
	struct signalfd_siginfo info;

	while (mf_signals_next(background->signals, &info))
		;
}

static pid_t go_on(struct mf_background *background, struct mf_error *err)
{
	mf_auto_free char *log = NULL;
	int code;

	setsid();
	forget_signals(background);
	leave_directory(background);
	code = mf_background_log(background, getpid(), &log);
	if (code)
		mf_error_set(err, code, "out of memory");
	else
		code = mf_logfile_detach(background->log, log, err);
	if (code)
		return code;
	background->names[3] = mf_take(log, NULL);
	let_go(background);
	return background->resume(background->data, err);
}

/* What the child reports through the pipe. End of file means that the child ended without sending a report. */
struct report {
	int code;
	struct mf_error err;
};

/* When this returns, the child has no descriptor of this pipe any more. */
static pid_t await(int reader, pid_t pid, struct mf_error *err)
{
	struct report report;
	char more;

	if (read(reader, &report, sizeof(report)) != (ssize_t)sizeof(report)) {
		report.code = -EPIPE;
		mf_error_set(&report.err, -EPIPE, "the process ended at once");
	}
	while (read(reader, &more, 1) > 0)
		;
	if (!report.code)
		return pid;
	waitpid(pid, NULL, 0);
	return mf_error_set(err, report.code, "%s", report.err.text);
}

pid_t mf_background_start(struct mf_background *background, struct mf_error *err)
{
	mf_auto_close int reader = -1, writer = -1;
	struct report report = { 0 };
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return mf_error_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
	reader = ends[0];
	writer = ends[1];
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return mf_error_set(err, -errno, "cannot start a process: %s", strerror(errno));
	if (pid > 0) {
		close(mf_take(writer, -1));
		return await(reader, pid, err);
	}
	close(mf_take(reader, -1));
	report.code = go_on(background, &report.err);
	if (write(writer, &report, sizeof(report)) != (ssize_t)sizeof(report) || report.code)
		_exit(1);
	return 0;
}

void mf_background_deinit(struct mf_background *background)
{
	for (size_t i = 0; i < sizeof(background->names) / sizeof(background->names[0]); i++)
		free(mf_take(background->names[i], NULL));
}

int mf_background_log(const struct mf_background *background, pid_t pid, char **name)
{
	mf_auto_free char *output = NULL;
	const char *slash = NULL;
	struct mf_error err;

	if (!background->keep_descriptors &&
	    !mf_outname_expand(background->options->out_file, pid, 1, &output, &err))
		slash = strrchr(output, '/');
	return asprintf(name, "%.*smassif.log.%d", slash ? (int)(slash - output) + 1 : 0,
			output ? output : "", (int)pid) < 0 ?
		       -ENOMEM :
		       0;
}
