/* SPDX-License-Identifier: GPL-2.0 */
/* What a process that has just executed a program was told to execute. */
#ifndef MASSIF_CTL_EXECUTED_H
#define MASSIF_CTL_EXECUTED_H

#include <sys/types.h>

#include "ctl/heap/join_server.h"

/* The command of process @pid, as a profile shows it; to be freed. NULL if there is no memory. */
char *mf_proc_cmdline(pid_t pid, const struct mf_request *wish);

#endif
