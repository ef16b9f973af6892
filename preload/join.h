/* SPDX-License-Identifier: GPL-2.0 */
/* Asks massif-ctl for a session of this process's own; the protocol is base/join.h's. */
#ifndef MASSIF_PRELOAD_JOIN_H
#define MASSIF_PRELOAD_JOIN_H

#include <stdbool.h>

/*
 * Takes in the value of MASSIF_SESSION. Returns the descriptor that it names, or -1. *@rest is where
 * the part begins that is true for other programs, too; NULL: there is none.
 */
int mf_join_read(char *value, char **rest);

/*
 * A process that was executed asks for its session. @argc and @argv are those of the initial stack.
 * Returns the descriptor of its memory, or -errno; *@trace is another one, or -1.
 */
int mf_join_executed(long argc, char *const *argv, int *trace);

#endif
