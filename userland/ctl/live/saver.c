// SPDX-License-Identifier: GPL-2.0
// Saves a snapshot of a running profile by massif-ctl detailed_snapshot.

#include "saver.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/printable.h"

#define FILES_MAX 10000 /* numbers of snapshots of one process that are tried */

/* Chooses a name that no file has yet. */
static int choose_name(pid_t pid, char *name, size_t size, struct mf_error *err)
{
	for (int i = 1; i <= FILES_MAX; i++) {
		snprintf(name, size, "massif.snapshot.%d.%d", (int)pid, i);
		if (faccessat(AT_FDCWD, name, F_OK, AT_SYMLINK_NOFOLLOW) && errno == ENOENT)
			return 0;
	}
	return mf_error_set(err, -EEXIST, "there are %d snapshots of process %d here already", FILES_MAX, (int)pid);
}

/* Starts the command, with its messages going to @to. */
static int spawn(struct mf_saver *saver, char *const *argv, int to)
{
	static const int usual[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGPIPE, SIGCHLD };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, defaults;
	int code;

	sigemptyset(&none);
	sigemptyset(&defaults);
	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		sigaddset(&defaults, usual[i]);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, to, STDERR_FILENO);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &defaults);
	code = posix_spawn(&saver->pid, saver->program, &actions, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return -code;
}

int mf_saver_start(struct mf_saver *saver, pid_t pid, struct mf_error *err)
{
	static char name[] = "massif-ctl", command[] = "detailed_snapshot", option[] = "--pid";
	char number[16], file[64];
	char *const argv[] = { name, command, option, number, file, NULL };
	int ends[2], code;

	if (saver->fd >= 0)
		return mf_error_set(err, -EBUSY, "the last snapshot is not complete yet");
	code = choose_name(pid, file, sizeof(file), err);
	if (code)
		return code;
	snprintf(number, sizeof(number), "%d", (int)pid);
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		return mf_error_set(err, -errno, "cannot create a pipe: %s", strerror(errno));
	saver->used = 0;
	code = spawn(saver, argv, ends[1]);
	close(ends[1]);
	if (code) {
		close(ends[0]);
		return mf_error_set(err, code, "cannot start massif-ctl detailed_snapshot: %s", strerror(-code));
	}
	saver->fd = ends[0];
	return 0;
}

/* Returns the last line of the messages, without the name of the program. */
static const char *last_line(struct mf_saver *saver)
{
	static const char prefix[] = "massif-ctl: ";
	char *line;

	while (saver->used && saver->text[saver->used - 1] == '\n')
		saver->used--;
	saver->text[saver->used] = '\0';
	line = strrchr(saver->text, '\n');
	line = line ? line + 1 : saver->text;
	mf_printable_clean(line);
	if (strncmp(line, prefix, strlen(prefix)) == 0)
		line += strlen(prefix);
	return *line ? line : "massif-ctl detailed_snapshot has ended without a message";
}

const char *mf_saver_look(struct mf_saver *saver)
{
	size_t room = sizeof(saver->text) - 1 - saver->used;
	char beyond[256];
	ssize_t size = room ? read(saver->fd, saver->text + saver->used, room) : read(saver->fd, beyond, sizeof(beyond));

	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return NULL;
	if (size > 0) {
		saver->used += room ? (size_t)size : 0;
		return NULL;
	}
	close(mf_take(saver->fd, -1));
	waitpid(saver->pid, NULL, 0);
	return last_line(saver);
}

void mf_saver_stop(struct mf_saver *saver)
{
	if (saver->fd < 0)
		return;
	close(mf_take(saver->fd, -1));
	kill(saver->pid, SIGTERM);
	waitpid(saver->pid, NULL, 0);
}
