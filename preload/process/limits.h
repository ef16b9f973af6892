/* SPDX-License-Identifier: GPL-2.0 */
/* Keeps the shim's own address space and data from counting against the program's limits (RLIMIT_AS, RLIMIT_DATA). */
#ifndef MASSIF_PRELOAD_LIMITS_H
#define MASSIF_PRELOAD_LIMITS_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Raises limits that were set before the program started, as far as the kernel allows, so that a session of any size
 * fits. Call this before the session is requested and mapped.
 */
void mf_limits_raise(void);

/*
 * Sets the limits to the program's own values plus the shim's share. Call this after the session has been mapped or
 * unmapped, or after mapping it has failed.
 */
void mf_limits_settle(void);

/*
 * RLIMIT_AS and RLIMIT_DATA are normally raised by the shim's share: the amount of address space and data that the shim
 * itself uses. mf_limits_executing(true) subtracts this share from the limits when this process, or a child that shares
 * its memory, is about to execute a program, unless it has other threads, which could then not map memory.
 * mf_limits_executing(false) adds it back when the exec has failed. In between, the shim cannot map memory.
 */
void mf_limits_executing(bool begins);

/*
 * Process @pid is a child that is already executing a program and has no session. Sets its limits to the values that
 * the program sees, that is, without the shim's share.
 */
void mf_limits_spawned(pid_t pid);

#endif
