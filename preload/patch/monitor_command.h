/* SPDX-License-Identifier: GPL-2.0 */
/* Monitor commands that the program itself gives. */
#ifndef MASSIF_PRELOAD_COMMAND_H
#define MASSIF_PRELOAD_COMMAND_H

#include <stdint.h>

/*
 * Has massif-ctl execute the command @text, waits until it is done, and writes the file that it leads
 * to. Returns what valgrind.h's VALGRIND_MONITOR_COMMAND does: 1 if there is no such command, else 0.
 * Keeps errno. A signal handler that interrupted the shim has no command executed.
 */
uint64_t mf_command_execute(const char *text);

/* Writes the present state with its tree to @file. Returns 0 or -errno; keeps errno. */
int mf_command_snapshot(const char *file);

#endif
