/* SPDX-License-Identifier: GPL-2.0 */
/* The limits of address space and of data (RLIMIT_AS, RLIMIT_DATA), as the program knows them. */
#ifndef MASSIF_PRELOAD_LIMITS_H
#define MASSIF_PRELOAD_LIMITS_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Before the session is asked for and mapped: raises limits that were there before the program as far as
 * the kernel lets us, so that there is room for any session.
 */
void mf_limits_raise(void);

/*
 * After it was mapped, or was not, or has been unmapped: the limits become what the program knows them to
 * be, with the shim's share on top.
 */
void mf_limits_settle(void);

/*
 * This process, or a child that shares its memory, is about to execute a program, or failed to: that
 * finds the limits that were asked for. In between, nobody can map anything.
 */
void mf_limits_executing(bool begins);

/* The same for process @pid, which already executes a program that has no session. */
void mf_limits_spawned(pid_t pid);

#endif
