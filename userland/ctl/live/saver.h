/* SPDX-License-Identifier: GPL-2.0 */
/* Saves a snapshot of a running profile by massif-ctl detailed_snapshot, in a process of its own. */
#ifndef MASSIF_CTL_SAVER_H
#define MASSIF_CTL_SAVER_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

/* Set @fd to -1 before the first use, and @program to MF_SAVER_PROGRAM, but in tests. */
struct mf_saver {
	const char *program; /* massif-ctl */
	pid_t pid; /* the process that saves */
	int fd;	   /* its messages; -1 if none is running */
	char text[1024];
	size_t used;
};

#define MF_SAVER_PROGRAM "/proc/self/exe"

/*
 * Begins to save a snapshot of process @pid in the current directory, in a file that does not exist yet. Returns 0 or
 * -errno; -EBUSY if the last one is not complete.
 */
int mf_saver_start(struct mf_saver *saver, pid_t pid, struct mf_error *err);

/*
 * Call it when @saver->fd is readable. Returns NULL, or the last message of the process when it has ended: that the file
 * was written, or why not.
 */
const char *mf_saver_look(struct mf_saver *saver);

/* Ends the process, if it is running. */
void mf_saver_stop(struct mf_saver *saver);

#endif
