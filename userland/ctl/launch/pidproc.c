// SPDX-License-Identifier: GPL-2.0
// Identifies a running process by pidfd and reads its data from /proc.

#include "pidproc.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

/*
 * Returns the contents of /proc/@pid/@name, which the caller frees, and stores their size in *@size. Returns NULL if
 * the file cannot be read.
 */
static char *read_proc(pid_t pid, const char *name, size_t *size)
{
	mf_auto_fclose FILE *file = NULL;
	mf_auto_free char *text = NULL;
	char path[64];
	size_t room = 0;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	file = fopen(path, "re");
	if (!file)
		return NULL;
	n = getdelim(&text, &room, EOF, file);
	if (n < 0)
		return NULL;
	*size = (size_t)n;
	return mf_take(text, NULL);
}

static char *read_cmd(pid_t pid)
{
	mf_auto_free char *name = NULL;
	size_t size = 0, name_size = 0;
	char *text = read_proc(pid, "cmdline", &size), *words;

	while (size && !text[size - 1])
		size--;
	if (size) {
		for (size_t i = 0; i < size; i++)
			if (!text[i])
				text[i] = ' ';
		text[size] = '\0';
		return text;
	}
	/* The command line is empty: the process has overwritten it, or this user may not read it. */
	free(text);
	name = read_proc(pid, "comm", &name_size);
	if (asprintf(&words, "[%.*s]", name ? (int)strcspn(name, "\n") : 1, name ? name : "?") < 0)
		return NULL;
	return words;
}

/* Returns the number in the line of /proc/@pid/status that begins with @label, which begins with a newline; 0 if unknown. */
static pid_t read_status(pid_t pid, const char *label)
{
	size_t size;
	mf_auto_free char *status = read_proc(pid, "status", &size);
	const char *line = status ? strstr(status, label) : NULL;

	return line ? (pid_t)strtol(line + strlen(label), NULL, 10) : 0;
}

int mf_pidproc_open(struct mf_pidproc *process, pid_t pid, struct mf_error *err)
{
	pid_t owner = read_status(pid, "\nTgid:"); /* not @pid, if that is a thread */

	*process = (struct mf_pidproc){ .pid = pid, .fd = -1 };
	if (pid == getpid())
		return mf_error_set(err, -EINVAL, "massif-ctl cannot profile itself");
	if (owner && owner != pid)
		return mf_error_set(err, -ESRCH, "%d is a thread of process %d; use the id of the process",
				    (int)pid, (int)owner);
	process->fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (process->fd < 0 && errno == ESRCH)
		return mf_error_set(err, -ESRCH, "there is no process %d", (int)pid);
	if (process->fd < 0)
		return mf_error_set(err, -errno, "cannot access process %d: %s", (int)pid,
				    strerror(errno));
	process->cmd = read_cmd(pid);
	if (!process->cmd)
		return mf_error_set(err, -ENOMEM, "out of memory");
	return 0;
}

void mf_pidproc_close(struct mf_pidproc *process)
{
	if (process->fd >= 0)
		close(process->fd);
	free(process->cmd);
	*process = (struct mf_pidproc){ .fd = -1 };
}

pid_t mf_pidproc_parent(pid_t pid)
{
	return read_status(pid, "\nPPid:");
}

uint64_t mf_pidproc_start_time(pid_t pid)
{
	size_t size;
	mf_auto_free char *stat = read_proc(pid, "stat", &size);
	const char *at = stat ? strrchr(stat, ')') : NULL;
	uint64_t start = 0;
	char state = 'Z';

	/* In /proc/PID/stat, the name in parentheses may contain any character, so parse after the last parenthesis. */
	if (!at || sscanf(at + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
				  "%*d %" SCNu64, &state, &start) != 2 || state == 'Z' || state == 'X')
		return 0;
	return start;
}

bool mf_pidproc_is_alive(const struct mf_pidproc *process)
{
	struct pollfd polled = { .fd = process->fd, .events = POLLIN };

	/* A pidfd becomes readable when the process ends. */
	return poll(&polled, 1, 0) == 0;
}
