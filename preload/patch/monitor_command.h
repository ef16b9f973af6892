/* SPDX-License-Identifier: GPL-2.0 */
/* Executes the monitor commands that the program itself issues. */
#ifndef MASSIF_PRELOAD_MONITOR_COMMAND_H
#define MASSIF_PRELOAD_MONITOR_COMMAND_H

#include <stdint.h>

/*
 * Makes massif-ctl execute the monitor command @text, waits for the result, and writes the file that it generates, if
 * any. Returns what valgrind.h's VALGRIND_MONITOR_COMMAND returns: 1 if there is no such command, else 0. Preserves
 * errno. Does nothing in a signal handler that interrupted the shim.
 */
uint64_t mf_command_execute(const char *text);

/* Writes the current state as a detailed snapshot to @file. Returns 0 or -errno; preserves errno. */
int mf_command_snapshot(const char *file);

#endif
