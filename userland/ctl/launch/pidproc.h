/* SPDX-License-Identifier: GPL-2.0 */
/* Identifies a running process by pidfd and reads its data from /proc. */
#ifndef MASSIF_CTL_PIDPROC_H
#define MASSIF_CTL_PIDPROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct mf_pidproc {
	pid_t pid;
	int fd;	   /* a pidfd of the process; -1: not open */
	char *cmd; /* its arguments joined by blanks, or its name in brackets; owned */
};

/* Opens process @pid. Returns 0, or -errno if it does not exist, is a thread, or is massif-ctl itself. */
int mf_pidproc_open(struct mf_pidproc *process, pid_t pid, struct mf_error *err);
void mf_pidproc_close(struct mf_pidproc *process);

/*
 * Returns the start time of process @pid in clock ticks since boot; 0 if there is no such process. Together
 * with @pid it is unique.
 */
uint64_t mf_pidproc_start_time(pid_t pid);

/* Returns whether the process has not ended; if true, its pid was not reused since it was opened. */
bool mf_pidproc_is_alive(const struct mf_pidproc *process);

#endif
