// SPDX-License-Identifier: GPL-2.0
// massif-ctl snapshot, detailed_snapshot, all_snapshots, xtmemory: each writes a file from a running profile.

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/standard_output.h"
#include "ctl/control/client.h"
#include "command.h"
#include "ctl/message/message.h"
#include "ctl/options/number.h"
#include "ctl/files/outfile.h"
#include "ctl/files/outname.h"
#include "ctl/output/output.h"
#include "report/writers.h"

#define DEFAULT_FILE "massif.vgdb.out"
#define XTREE_FILE   "xtmemory.kcg.%p.%n"

enum {
	MODE_HEAP = 0644,
	/*
	 * file mode in pages mode: only the owner may read the file, because it is made from copies of the program's
	 * stack
	 */
	MODE_PAGES = 0600,
};

struct request {
	pid_t pid; /* the process whose profile is read, or 0 for the only running profile */
	const char *file;
};

static int parse_pid(const char *text, pid_t *pid, struct mf_error *err)
{
	int64_t number;

	if (!text || !mf_number_parse_integer(text, &number) || number <= 0 || number > INT32_MAX)
		return mf_error_set(err, -EINVAL, "--pid needs a process id");
	*pid = (pid_t)number;
	return 0;
}

static int parse(int argc, char **argv, struct request *request, struct mf_error *err)
{
	static const char pid[] = "--pid";
	const size_t length = strlen(pid);
	bool options = true;
	int code = 0;

	for (int i = 0; i < argc && !code; i++) {
		if (options && strcmp(argv[i], "--") == 0) {
			options = false;
		} else if (options && strcmp(argv[i], pid) == 0) {
			i++;
			code = parse_pid(i < argc ? argv[i] : NULL, &request->pid, err);
		} else if (options && strncmp(argv[i], pid, length) == 0 && argv[i][length] == '=') {
			code = parse_pid(argv[i] + length + 1, &request->pid, err);
		} else if (options && argv[i][0] == '-' && argv[i][1]) {
			code = mf_error_set(err, -EINVAL, "Unknown option: %.400s", argv[i]);
		} else if (request->file || !*argv[i]) {
			code = mf_error_set(err, -EINVAL, "one file at a time: %.400s", argv[i]);
		} else {
			request->file = argv[i];
		}
	}
	return code;
}

static bool is_standard_output(const char *path)
{
	return strcmp(path, "-") == 0;
}

static int copy_to_output(int fd, struct mf_error *err)
{
	char buffer[65536];
	ssize_t size;

	while ((size = read(fd, buffer, sizeof(buffer))) > 0)
		fwrite(buffer, 1, (size_t)size, stdout);
	if (size < 0)
		return mf_error_set(err, -errno, "cannot read the snapshot: %s", strerror(errno));
	return mf_standard_output_finish(err);
}

/*
 * Writes the file. Returns 0 or -errno. Sets *@elsewhere, and reports the name, if the file was saved under another
 * name.
 */
static int save(int fd, const char *path, mode_t mode, bool *elsewhere, struct mf_error *err)
{
	const struct mf_outfile_source source = {
		.fill = mf_outfile_fill_from, .data = &fd, .mode = mode, .stem = DEFAULT_FILE,
	};
	mf_auto_free char *saved = NULL;
	int code;

	/* With SIGXFSZ ignored, write() fails if the file becomes too large, and the partial file is removed. */
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	code = mf_outfile_write(path, &source, &saved, err);
	*elsewhere = saved;
	if (saved)
		mf_message_say(MF_MESSAGE_ERROR, "%s", err->text);
	return code;
}

/* Expands the name of an xtree file; its suffix selects one of two formats. */
static int choose_format(const struct request *request, pid_t pid, enum mf_control_verb *verb,
			 char **name, struct mf_error *err)
{
	int code = mf_outname_expand(request->file ? request->file : XTREE_FILE, pid, 1, name, err);

	if (!code && mf_writers_xtree_format(*name) == MF_FORMAT_MASSIF)
		*verb = MF_CONTROL_XTMEMORY_MS;
	return code;
}

/* Like Massif, reports on standard output that an execution tree was written. */
static void say_written(const struct mf_profiled *profiled, const char *file, bool is_xtree)
{
	struct mf_output_name program;

	if (is_standard_output(file))
		return;
	mf_output_make_name(&program, profiled->cmd, strcspn(profiled->cmd, " "));
	if (is_xtree)
		printf("xtree memory report: %s\n", file);
	else
		mf_message_say(MF_MESSAGE_NOTE, "%s (pid %d): wrote %s", program.text,
			       (int)profiled->pid, file);
}

static int take(int argc, char **argv, enum mf_control_verb verb)
{
	const char *file = NULL;
	mf_auto_free char *name = NULL;
	__attribute__((cleanup(mf_ask_free))) struct mf_profiled_list list = { 0 };
	struct request request = { 0 };
	const struct mf_profiled *profiled = NULL;
	mf_auto_close int fd = -1;
	bool elsewhere = false;
	struct mf_error err;
	int code;

	code = parse(argc, argv, &request, &err);
	if (!code)
		code = mf_ask_list(&list, MF_ASK_PATIENCE_MS, &err);
	if (!code) {
		profiled = mf_ask_choose(&list, request.pid, "--pid ", &err);
		code = profiled ? 0 : -ESRCH;
		if (code)
			mf_ask_say_silent(&list);
	}
	if (!code && verb == MF_CONTROL_XTMEMORY)
		code = choose_format(&request, profiled->pid, &verb, &name, &err);
	file = name ? name : request.file ? request.file : DEFAULT_FILE;
	if (!code && !is_standard_output(file))
		code = mf_outfile_check(file, &err);
	if (!code)
		code = mf_ask_file(profiled, verb, &fd, &err);
	if (!code && is_standard_output(file))
		code = copy_to_output(fd, &err);
	else if (!code)
		code = save(fd, file, strcmp(profiled->mode, "heap") == 0 ? MODE_HEAP : MODE_PAGES,
			    &elsewhere, &err);
	if (code)
		mf_message_say(MF_MESSAGE_ERROR, "%s", err.text);
	else if (!elsewhere)
		say_written(profiled, file, name);
	return code ? 1 : 0;
}

int mf_command_snapshot(int argc, char **argv)
{
	return take(argc, argv, MF_CONTROL_SNAPSHOT);
}

int mf_command_detailed_snapshot(int argc, char **argv)
{
	return take(argc, argv, MF_CONTROL_DETAILED_SNAPSHOT);
}

int mf_command_all_snapshots(int argc, char **argv)
{
	return take(argc, argv, MF_CONTROL_ALL_SNAPSHOTS);
}

int mf_command_xtmemory(int argc, char **argv)
{
	return take(argc, argv, MF_CONTROL_XTMEMORY);
}
