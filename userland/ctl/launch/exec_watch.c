// SPDX-License-Identifier: GPL-2.0
// Detects when a process executes another program. This requires polling, because the kernel does not notify the
// parent.

#include "exec_watch.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	FIRST_LOOK_MS = 2,
	LAST_LOOK_MS = 500,
};

/*
 * Calls stat() on the file that the process executes. Fails if the process has ended or this user may not inspect
 * it.
 */
static int stat_image(pid_t pid, char link[32], struct stat *image)
{
	snprintf(link, 32, "/proc/%d/exe", (int)pid);
	return stat(link, image);
}

void mf_exec_watch_init(struct mf_exec_watch *watch, pid_t pid, const char *path)
{
	char link[32];
	int ret;

	*watch = (struct mf_exec_watch){ .pid = pid, .period_ms = FIRST_LOOK_MS };
	ret = path ? stat(path, &watch->image) : stat_image(pid, link, &watch->image);
	if (ret < 0)
		watch->period_ms = -1;
}

void mf_exec_watch_deinit(struct mf_exec_watch *watch)
{
	free(watch->replaced_by);
}

void mf_exec_watch_look(struct mf_exec_watch *watch)
{
	char link[32], path[PATH_MAX];
	struct stat image;
	ssize_t length;

	if (watch->period_ms < 0)
		return;
	watch->period_ms *= 2;
	if (watch->period_ms > LAST_LOOK_MS)
		watch->period_ms = LAST_LOOK_MS;
	if (stat_image(watch->pid, link, &image) < 0 ||
	    (image.st_dev == watch->image.st_dev && image.st_ino == watch->image.st_ino))
		return;
	length = readlink(link, path, sizeof(path) - 1);
	if (length < 0)
		return;
	path[length] = '\0';
	/* The process may execute several programs in turn; report only the last one. */
	free(watch->replaced_by);
	watch->replaced_by = strdup(path);
	watch->image = image;
}
