/* SPDX-License-Identifier: GPL-2.0 */
/* What threads and the gate ask of process/fork.c, which lies above them and registers itself. */
#ifndef MASSIF_PRELOAD_FORK_CALLS_H
#define MASSIF_PRELOAD_FORK_CALLS_H

#include <stdbool.h>

#include "session.h"

struct mf_thread;
struct mf_thread_private;

struct mf_fork_calls {
	/* With the gate held, which was frozen: what there is, is about to change. */
	void (*go_on)(void);

	/*
	 * When a thread has no state: makes the copy of a child that has none yet. Returns the thread's state
	 * from before the fork, if it is the one that forked; else NULL.
	 */
	struct mf_thread *(*begin)(void);

	/* The thread that has the state @private has ended. */
	void (*thread_ended)(const struct mf_thread_private *private);
};

/* All NULL where children are not profiled: then there is nothing to do. Set before the first thread has a state. */
extern struct mf_fork_calls mf_fork_calls MF_HIDDEN;

/* Is this a child that has had no event, and whose session memory is its parent's? */
extern bool mf_fork_is_newborn MF_HIDDEN;

static inline void mf_fork_go_on(void)
{
	if (mf_fork_calls.go_on)
		mf_fork_calls.go_on();
}

static inline struct mf_thread *mf_fork_begin(void)
{
	return mf_fork_calls.begin ? mf_fork_calls.begin() : NULL;
}

static inline void mf_fork_thread_ended(const struct mf_thread_private *private)
{
	if (mf_fork_calls.thread_ended)
		mf_fork_calls.thread_ended(private);
}

#endif
