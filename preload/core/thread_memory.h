/* SPDX-License-Identifier: GPL-2.0 */
/* Memory for the threads' states (struct mf_thread). */
#ifndef MASSIF_PRELOAD_THREAD_MEMORY_H
#define MASSIF_PRELOAD_THREAD_MEMORY_H

#include <stddef.h>
#include <stdint.h>

struct mf_thread;
struct mf_thread_private;

/*
 * Allocates another thread state. Sets *@room to the size, in words, of the state's memo of stacks. States are reused
 * and never freed. The memory is zero-filled, unless this process has taken over its session from another process.
 * Context: the lock of the list of states is held.
 * Return: NULL if there is no memory.
 */
struct mf_thread *mf_thread_memory_take(uint32_t *room);

/* In a forked child that now has its own session memory: clears the thread states that were copied from the parent. */
void mf_thread_memory_clear(void);

/*
 * For a signal handler that forks after interrupting an event of the thread that owns @private. Both processes will
 * finish that event, but the state is in memory that they share. So mf_thread_memory_save() copies the state before the
 * fork; mf_thread_memory_restore() installs the copy in the child, and mf_thread_memory_drop() frees it in the parent.
 */
void mf_thread_memory_save(struct mf_thread_private *private);
void mf_thread_memory_restore(struct mf_thread_private *private);
void mf_thread_memory_drop(struct mf_thread_private *private);

#endif
