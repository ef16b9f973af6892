/* SPDX-License-Identifier: GPL-2.0 */
/* Monitor commands that the program itself gives. */
#ifndef MASSIF_PRELOAD_MONITOR_COMMAND_H
#define MASSIF_PRELOAD_MONITOR_COMMAND_H

#include <stdint.h>

/*
 * Lets massif-ctl execute the monitor command @text, waits for it, and writes the file that it makes, if any. Returns
 * what valgrind.h's VALGRIND_MONITOR_COMMAND returns: 1 if there is no such command, else 0. Keeps errno. Does nothing
 * in a signal handler that interrupted the shim.
 */
uint64_t mf_command_execute(const char *text);

/* Writes the current state as a detailed snapshot to @file. Returns 0 or -errno; keeps errno. */
int mf_command_snapshot(const char *file);

#endif
