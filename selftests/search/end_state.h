/* SPDX-License-Identifier: GPL-2.0 */
/* Prints what /proc shows about a process that is about to end. */
#ifndef MASSIF_SELFTESTS_END_STATE_H
#define MASSIF_SELFTESTS_END_STATE_H

#include <stdio.h>
#include <sys/types.h>

/*
 * Prints the state of @pid, which is stopped in exit: command line, environment, limits, signals, timers, descriptors,
 * mapped files. Prints nothing for massif-ctl, and nothing for threads other than the main thread of a process. Omits
 * the shim and the session, which massif adds to a process.
 */
void end_state_print(pid_t pid, FILE *to);

#endif
