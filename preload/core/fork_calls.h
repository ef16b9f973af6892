/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Callbacks through which thread.c and gate.c call process/fork.c. Since fork.c uses these two files, they must not
 * depend on it directly; so fork.c registers its functions here.
 */
#ifndef MASSIF_PRELOAD_FORK_CALLS_H
#define MASSIF_PRELOAD_FORK_CALLS_H

#include <stdbool.h>

#include "session.h"

struct mf_thread;
struct mf_thread_private;

struct mf_fork_calls {
	/* Called, with the gate held, when the gate was frozen for a fork and data that it protects is about to change. */
	void (*go_on)(void);

	/*
	 * Called for a thread without a state. In a forked child that has no session memory of its own yet, copies the
	 * parent's session memory. Returns the state that the thread had before the fork if it is the thread that
	 * forked; otherwise NULL.
	 */
	struct mf_thread *(*begin)(void);

	/* Called when the thread that had the state @private has ended. */
	void (*thread_ended)(const struct mf_thread_private *private);
};

/* All NULL if children are not profiled; nothing is called then. Set before any thread has a state. */
extern struct mf_fork_calls mf_fork_calls MF_HIDDEN;

/* Is this a forked child that has had no event yet, and so still uses its parent's session memory? */
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
