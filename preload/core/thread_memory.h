/* SPDX-License-Identifier: GPL-2.0 */
/* The memory in which the threads' states lie (struct mf_thread). */
#ifndef MASSIF_PRELOAD_SLOTS_H
#define MASSIF_PRELOAD_SLOTS_H

#include <stddef.h>
#include <stdint.h>

struct mf_thread;
struct mf_thread_private;

/*
 * Takes memory for one more state; *@room is that of its memo. It is never given back, since states are
 * used again by other threads. Zero, unless this process took up a session that another one had left.
 * Context: with the lock of the list of states. Return: NULL if there is none.
 */
struct mf_thread *mf_thread_memory_take(uint32_t *room);

/* In a forked child, whose session memory is its own now: the states of its parent are emptied. */
void mf_thread_memory_clear(void);

/*
 * A signal handler is about to fork, which interrupted an event of the thread with @private. Both processes
 * will go on with that event, in memory that they share: so the child's copy of the state is made before.
 * mf_thread_memory_restore() takes it in the child, mf_thread_memory_drop() throws it away in the parent.
 */
void mf_thread_memory_save(struct mf_thread_private *private);
void mf_thread_memory_restore(struct mf_thread_private *private);
void mf_thread_memory_drop(struct mf_thread_private *private);

#endif
