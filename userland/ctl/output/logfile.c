// SPDX-License-Identifier: GPL-2.0
// The log file, which replaces standard error.
//
// It is opened before the program starts, so that errors are reported early. If its name contains the program's pid,
// the file has a temporary name until the pid is known.

#include "logfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "ctl/message/message.h"
#include "ctl/files/outname.h"

/* Expands the pattern for @pid. Returns 0, or -errno with a message. */
static int expand(const char *pattern, pid_t pid, char **name, struct mf_error *err)
{
	mf_auto_free char *arg = NULL;
	struct mf_error reason;
	int ret = mf_outname_expand(pattern, pid, 1, name, &reason);

	if (!ret)
		return 0;
	if (asprintf(&arg, "--log-file=%s", pattern) < 0)
		return mf_error_set(err, -ENOMEM, "out of memory");
	mf_options_explain(err, arg, reason.text);
	return ret;
}

/* Determines whether the file's name contains the program's pid. */
static int depends_on_pid(const char *pattern, bool *depends, struct mf_error *err)
{
	mf_auto_free char *one = NULL, *two = NULL;
	int ret = expand(pattern, 1, &one, err);

	if (!ret)
		ret = expand(pattern, 2, &two, err);
	if (!ret)
		*depends = strcmp(one, two) != 0;
	return ret;
}

static int explain(const char *name, int code, struct mf_error *err)
{
	return mf_error_set(err, code, "Cannot create log file '%.600s': %s", name,
			    strerror(-code));
}

/* Returns an unused random file name in the directory of @name; NULL if out of memory. The caller frees it. */
static char *beside(const char *name)
{
	const char *slash = strrchr(name, '/');
	uint64_t random;
	char *made;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random) ||
	    asprintf(&made, "%.*s.massif-log-%016" PRIx64, slash ? (int)(slash - name) + 1 : 0,
		     name, random) < 0)
		return NULL;
	return made;
}

/* Duplicates @fd to a high-numbered descriptor that the program does not inherit, and sends messages there. */
static int keep(struct mf_logfile *log, int fd)
{
	log->fd = mf_fd_move_high(fd);
	if (log->fd < 0)
		return log->fd;
	mf_message_set_target(log->fd);
	return 0;
}

static int open_file(struct mf_logfile *log, struct mf_error *err)
{
	mf_auto_free char *name = NULL;
	mf_auto_close int fd = -1;
	bool depends;
	int ret = depends_on_pid(log->pattern, &depends, err);

	/* The program has no pid yet, so %p stays in the name. */
	if (!ret)
		ret = expand(log->pattern, 0, &name, err);
	if (ret)
		return ret;
	if (depends) {
		log->temporary = beside(name);
		if (!log->temporary)
			return explain(name, -ENOMEM, err);
	}
	fd = open(depends ? log->temporary : name,
		  O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY |
			  (depends ? O_EXCL : O_TRUNC),
		  0644);
	ret = fd < 0 ? -errno : keep(log, fd);
	if (ret) {
		if (fd < 0)
			free(mf_take(log->temporary, NULL));
		return explain(name, ret, err);
	}
	/* Record the parent's pid, which helps to distinguish the logs of several runs. */
	mf_message_say(MF_MESSAGE_NOTE, "Parent PID: %d", (int)getppid());
	return 0;
}

int mf_logfile_open(struct mf_logfile *log, const struct mf_options *options,
		    struct mf_error *err)
{
	int flags, ret;

	log->pattern = options->log_file;
	log->outputs = options->outputs;
	if (log->pattern)
		return open_file(log, err);
	if (options->log_fd == STDERR_FILENO)
		return 0;
	flags = fcntl((int)options->log_fd, F_GETFL);
	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
		ret = -EBADF;
	else
		ret = keep(log, (int)options->log_fd);
	if (ret)
		return mf_error_set(err, ret, "cannot write to descriptor %u of --log-fd: %s",
				    options->log_fd, strerror(-ret));
	return 0;
}

/* Renames the temporary file to @name. Returns 0 or -errno. */
static int rename_to(struct mf_logfile *log, const char *name, struct mf_error *err)
{
	if (!log->temporary)
		return 0;
	if (rename(log->temporary, name) < 0)
		return explain(name, -errno, err);
	free(mf_take(log->temporary, NULL));
	return 0;
}

void mf_logfile_name(struct mf_logfile *log, pid_t pid)
{
	mf_auto_free char *name = NULL;
	struct mf_error err;

	if (!log->pattern || log->fd < 0)
		return;
	if (!expand(log->pattern, pid, &name, &err) && !rename_to(log, name, &err)) {
		mf_outputs_reserve(log->outputs, MF_OUTPUT_LOG, name, pid);
		return;
	}
	mf_message_say(MF_MESSAGE_ERROR, "%s", err.text);
	mf_message_say(MF_MESSAGE_ERROR, "the log is in %s", log->temporary);
	free(mf_take(log->temporary, NULL));
}

bool mf_logfile_is_file(void)
{
	struct stat st;

	return fstat(mf_message_target(), &st) == 0 && S_ISREG(st.st_mode);
}

int mf_logfile_detach(struct mf_logfile *log, const char *name, struct mf_error *err)
{
	int ret;

	if (!mf_logfile_is_file()) {
		mf_message_set_late_target(name);
		if (log->fd >= 0)
			close(mf_take(log->fd, -1));
		return 0;
	}
	if (log->fd >= 0)
		return 0;
	ret = keep(log, mf_message_target());
	return ret ? mf_error_set(err, ret, "no file descriptor is left for messages: %s",
				  strerror(-ret)) :
		     0;
}

void mf_logfile_close(struct mf_logfile *log)
{
	/* The log still has its temporary name because no program was started. Use massif-ctl's own pid in its name. */
	if (log->temporary)
		mf_logfile_name(log, getpid());
	if (log->fd < 0)
		return;
	mf_message_set_target(STDERR_FILENO);
	close(mf_take(log->fd, -1));
}
