/* SPDX-License-Identifier: GPL-2.0 */
/* The ID of the current process, which may be a child of vfork() that shares the memory of the shim's own process. */
#ifndef MASSIF_PRELOAD_PROCESS_ID_H
#define MASSIF_PRELOAD_PROCESS_ID_H

#include <stdbool.h>
#include <sys/types.h>

/* Notes that the current process owns its memory. Call this at the start, and in a child after fork(). */
void mf_process_id_note(void);

/* Notes the current process's ID, for mf_process_id(). Call this before the process restricts its system calls. */
void mf_process_id_note_restricted(void);

/*
 * Returns the ID of the current process. If the program has restricted its system calls, the shim must not call getpid():
 * it then is the ID of the process that has done so, or 0 if that process has forked since.
 */
pid_t mf_process_id(void);

/* Returns whether the current process shares the memory of another one that has called vfork(). */
bool mf_process_id_is_guest(void);

#endif
