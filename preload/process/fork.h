/* SPDX-License-Identifier: GPL-2.0 */
/* A forked child goes on with a copy of the profile, from its first event on. */
#ifndef MASSIF_PRELOAD_FORK_H
#define MASSIF_PRELOAD_FORK_H

#include <stdbool.h>

#include "core/session.h"

struct mf_thread;
struct mf_thread_private;

/* Before any handler of the program's own: theirs run outside of ours, and may allocate. */
void mf_fork_start(void);

/* With the gate held, which was frozen: what there is, is about to change. */
void mf_fork_go_on(void);

/* Is this a child that has had no event, and whose session memory is its parent's? */
extern bool mf_fork_is_newborn MF_HIDDEN;

/*
 * When a thread has no state: makes the copy of a child that has none yet. Returns the thread's state
 * from before the fork, if it is the one that forked.
 */
struct mf_thread *mf_fork_begin(void);

/* The thread that has the state @private has ended. */
void mf_fork_thread_ended(const struct mf_thread_private *private);

#endif
