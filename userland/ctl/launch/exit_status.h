/* SPDX-License-Identifier: GPL-2.0 */
/* Finds out how a process ended that is not a child of massif-ctl. */
#ifndef MASSIF_CTL_EXIT_STATUS_H
#define MASSIF_CTL_EXIT_STATUS_H

#include <sys/types.h>

#define MF_EXIT_STATUS_UNKNOWN (-1)

/*
 * Returns the status, in the format of waitpid(2), of process @pid, which has ended and to which @pidfd refers. If its
 * parent has already fetched the status, only Linux 6.15 and later can tell it: MF_EXIT_STATUS_UNKNOWN before that.
 */
int mf_exit_status_read(pid_t pid, int pidfd);

#endif
