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
	int fd;	   /* pidfd of the process, or -1 if not open */
	char *cmd; /* the process's arguments joined by spaces, or its name in brackets; owned */
};

/* Opens process @pid. Returns 0, or -errno if it does not exist, is a thread, or is massif-ctl itself. */
int mf_pidproc_open(struct mf_pidproc *process, pid_t pid, struct mf_error *err);
void mf_pidproc_close(struct mf_pidproc *process);

/*
 * Returns the start time of process @pid in clock ticks since boot; 0 if there is no such process. Together with @pid,
 * the start time identifies a process uniquely.
 */
uint64_t mf_pidproc_start_time(pid_t pid);

/* Returns the parent of process @pid; 0 if there is no such process, or its parent is not visible from here. */
pid_t mf_pidproc_parent(pid_t pid);

/* Returns whether the process is still running; if so, its pid has not been reused since the process was opened. */
bool mf_pidproc_is_alive(const struct mf_pidproc *process);

#endif
