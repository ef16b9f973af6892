/* SPDX-License-Identifier: GPL-2.0 */
/* A process that runs already: who it is, and whether it still is. */
#ifndef MASSIF_CTL_RUNNING_H
#define MASSIF_CTL_RUNNING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct mf_pidproc {
	pid_t pid;
	int fd;	   /* a pidfd; -1: not open */
	char *cmd; /* its arguments with blanks between, or its name in brackets; owned */
};

/* Returns 0; or -errno, when there is no such process, or when it is a thread or massif-ctl itself. */
int mf_pidproc_open(struct mf_pidproc *process, pid_t pid, struct mf_error *err);
void mf_pidproc_close(struct mf_pidproc *process);

/* When process @pid was started, in the kernel's clock ticks; 0: there is none. With @pid it is unique. */
uint64_t mf_pidproc_start_time(pid_t pid);

/* Whether it has not ended since; no other process has had its number then. */
bool mf_pidproc_is_alive(const struct mf_pidproc *process);

#endif
