/* SPDX-License-Identifier: GPL-2.0 */
/* Determines the command line of a process that has just executed a program. */
#ifndef MASSIF_CTL_PROC_CMDLINE_H
#define MASSIF_CTL_PROC_CMDLINE_H

#include <sys/types.h>

#include "ctl/heap/join_server.h"

/*
 * Returns the command line of process @pid in the form in which profiles show it, or NULL if out of memory. The caller
 * must free it. @join_request is the message in which the process asked massif-ctl to profile it.
 */
char *mf_proc_cmdline(pid_t pid, const struct mf_request *join_request);

#endif
