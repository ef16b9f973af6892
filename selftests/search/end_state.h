/* SPDX-License-Identifier: GPL-2.0 */
/* What /proc shows of a process that is about to end. */
#ifndef MASSIF_SELFTESTS_END_STATE_H
#define MASSIF_SELFTESTS_END_STATE_H

#include <stdio.h>
#include <sys/types.h>

/*
 * Prints the state of @pid, which is stopped in exit: command line, environment, limits, signals, timers,
 * descriptors, mapped files. Nothing is printed of a thread that is not its process's first one, nor of
 * massif-ctl, and what massif itself puts into a process is left out: its shared object and its session.
 */
void end_state_print(pid_t pid, FILE *to);

#endif
