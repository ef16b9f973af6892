// SPDX-License-Identifier: GPL-2.0
// Executes the monitor commands that a profiled program issues itself.

#include "monitor_command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ctl/message/message.h"
#include "ctl/files/outfile.h"
#include "ctl/files/outname.h"
#include "report/writers.h"

#define BLANKS " "

/* As in Valgrind, a command can be given as any unambiguous abbreviation. */
static const struct {
	const char *name;
	enum mf_control_verb verb;
	const char *file; /* name of the file that the command writes, unless the command gives one */
} commands[] = {
	{ "snapshot", MF_CONTROL_SNAPSHOT, "massif.vgdb.out" },
	{ "detailed_snapshot", MF_CONTROL_DETAILED_SNAPSHOT, "massif.vgdb.out" },
	{ "all_snapshots", MF_CONTROL_ALL_SNAPSHOTS, "massif.vgdb.out" },
	{ "xtmemory", MF_CONTROL_XTMEMORY, "xtmemory.kcg.%p.%n" },
	{ "help", MF_CONTROL_VERBS, NULL },
};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

/*
 * Returns the index of the command that begins with the @length characters of @word, or N_COMMANDS if there is none. At
 * most one command can match, because no two commands start with the same letter.
 */
static size_t find(const char *word, size_t length)
{
	size_t i = 0;

	while (i < N_COMMANDS && strncmp(commands[i].name, word, length))
		i++;
	return i;
}

/* Counts one more message about an error. Returns whether it is to be printed. */
static bool may_say(struct mf_monitor_said *said)
{
	return mf_message_quota_take(&said->errors, MF_MESSAGE_ERROR,
				     "the program's monitor commands, and files that it cannot write,");
}

static void help(struct mf_monitor_said *said)
{
	if (!may_say(said))
		return;
	mf_message_say(MF_MESSAGE_ERROR, "the program's monitor commands, with FILE's default:");
	for (size_t i = 0; i < N_COMMANDS; i++)
		if (commands[i].file)
			mf_message_say(MF_MESSAGE_ERROR, "  %s [FILE]  (%s)", commands[i].name,
				       commands[i].file);
}

/*
 * Prints the snapshot to the file in memory @fd, and seals the file, because the program receives it and massif-ctl may
 * have to copy it later: the program must not be able to make it longer.
 */
static int print(const struct mf_heap_process *process, enum mf_control_verb verb, int fd,
		 struct mf_error *err)
{
	mf_auto_fclose FILE *out = NULL;
	int copy = dup(fd), code;

	out = copy < 0 ? NULL : fdopen(copy, "w");
	if (!out)
		return mf_error_set(err, -errno, "cannot create a file in memory: %s", strerror(errno));
	code = mf_heap_process_snapshot(process, verb, out, err);
	if (!code && (fflush(out) || fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK)))
		code = mf_error_set(err, -errno, "cannot create a file in memory: %s", strerror(errno));
	return code;
}

/* The result of a monitor command: a file for the process to write, or nothing. */
struct file {
	/* name of the file: the one given in the command, or the default; NULL if there is no file; owned */
	char *name;
	int contents; /* descriptor of a file in memory with the contents to write, or -1 if there is no file */
	bool is_announced; /* print a message when the file has been written */
};

/*
 * Executes the monitor command @text for @process, which waits for the answer. Returns 0, -ENOSYS if there is no such
 * command, or another -errno with a message in @err. The caller releases *@file.
 */
static int execute(struct mf_heap_process *process, const char *text, struct file *file,
		   struct mf_monitor_said *said, struct mf_error *err)
{
	mf_auto_free char *given = NULL;
	enum mf_control_verb verb;
	size_t length, i;
	bool numbered;
	int code = 0;

	*file = (struct file){ .contents = -1 };
	text += strspn(text, BLANKS);
	length = strcspn(text, BLANKS);
	if (!length)
		return 0;
	i = find(text, length);
	if (i == N_COMMANDS)
		return -ENOSYS;
	if (!commands[i].file) {
		help(said);
		return 0;
	}
	text += length;
	text += strspn(text, BLANKS);
	given = strndup(*text ? text : commands[i].file,
			*text ? strcspn(text, BLANKS) : strlen(commands[i].file));
	if (!given)
		return mf_error_set(err, -ENOMEM, "out of memory");
	numbered = strstr(given, "%n");
	verb = commands[i].verb;
	file->is_announced = verb == MF_CONTROL_XTMEMORY;
	if (file->is_announced)
		code = mf_outname_expand_foreign(given, process->pid, process->n_xtrees + 1, &file->name, err);
	else
		file->name = mf_take(given, NULL);
	if (code)
		return code;
	if (file->is_announced && mf_writers_xtree_format(file->name) == MF_FORMAT_MASSIF)
		verb = MF_CONTROL_XTMEMORY_MS;
	if (numbered)
		process->n_xtrees++;
	file->contents = memfd_create("massif-snapshot", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (file->contents < 0)
		return mf_error_set(err, -errno, "cannot create a file in memory: %s", strerror(errno));
	return print(process, verb, file->contents, err);
}

static void release(struct file *file)
{
	free(file->name);
	if (file->contents >= 0)
		close(file->contents);
}

int mf_monitor_serve(struct mf_heap_process *process, struct mf_join_conn *guest, const struct mf_request *join_request,
		     struct mf_monitor_said *said)
{
	__attribute__((cleanup(release))) struct file file = { .contents = -1 };
	struct mf_error err = { "" };
	int code;

	if (!process)
		return -ESRCH;
	code = execute(process, join_request->path, &file, said, &err);
	if (code && code != -ENOSYS && may_say(said))
		mf_message_say(MF_MESSAGE_ERROR, "%s", err.text);
	if (code)
		return code;
	code = mf_join_server_answer_text(guest->fd, 0, (int[]){ file.contents, -1, -1 }, file.name ? file.name : "");
	if (guest->contents >= 0)
		close(guest->contents);
	guest->is_announced = file.is_announced;
	guest->contents = mf_take(file.contents, -1);
	return code ? code : EINPROGRESS;
}

/* Saves a file elsewhere if the process itself failed to write it. */
static void save(const struct mf_join_conn *guest, const char *path, int code, struct mf_outputs *outputs)
{
	int contents = guest->contents;
	const struct mf_outfile_source source = {
		.fill = mf_outfile_fill_from, .data = &contents, .stem = "massif.vgdb.out",
	};
	mf_auto_free char *saved = NULL;
	struct mf_error err;

	mf_outfile_explain(path, code, &err);
	if (mf_outfile_save(path, &source, &saved, &err))
		mf_outputs_lose(outputs);
	mf_message_say(MF_MESSAGE_ERROR, "%s", err.text);
}

void mf_monitor_serve_written(const struct mf_join_conn *guest, const struct mf_request *join_request,
			      struct mf_monitor_said *said, struct mf_outputs *outputs)
{
	int code = -atoi(join_request->args);

	/* The connection is closed afterwards, so there is at most one report for each file that was sent. */
	if (guest->contents < 0)
		return;
	if (code && may_say(said))
		save(guest, join_request->path, code, outputs);
	else if (code)
		mf_outputs_lose(outputs); /* without a message the user would not find the file */
	else if (guest->is_announced &&
		 mf_message_quota_take(&said->reports, MF_MESSAGE_NOTE, "xtree memory reports"))
		mf_message_say(MF_MESSAGE_NOTE, "xtree memory report: %s", join_request->path);
}
