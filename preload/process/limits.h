/* SPDX-License-Identifier: GPL-2.0 */
/* Hides the shim's share from the program's limits of address space and data (RLIMIT_AS, RLIMIT_DATA). */
#ifndef MASSIF_PRELOAD_LIMITS_H
#define MASSIF_PRELOAD_LIMITS_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Raises limits that were set before the program started, as far as the kernel allows, so that a session of any
 * size fits. Called before the session is requested and mapped.
 */
void mf_limits_raise(void);

/*
 * Sets the limits to the program's own values plus the shim's share. Called after the session was mapped, could not
 * be mapped, or was unmapped.
 */
void mf_limits_settle(void);

/*
 * @begins: this process, or a child that shares its memory, is about to execute a program, so the limits are set
 * without the shim's share. !@begins: the execution failed, so the share is added again. In between the shim can map no
 * memory.
 */
void mf_limits_executing(bool begins);

/* Sets the limits without the shim's share for process @pid, which already executes a program without a session. */
void mf_limits_spawned(pid_t pid);

#endif
