/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Callbacks through which thread.c and gate.c call process/fork.c. These two files must not depend on fork.c directly,
 * because fork.c depends on them. So fork.c registers its functions here.
 */
#ifndef MASSIF_PRELOAD_FORK_CALLS_H
#define MASSIF_PRELOAD_FORK_CALLS_H

#include <stdbool.h>

#include "session.h"

struct mf_thread;
struct mf_thread_private;

struct mf_fork_calls {
	/*
	 * When a process forks, it stops changing its session memory, so that massif-ctl can copy that memory for the
	 * child. This function ends that pause. A thread that has closed the gate (gate.h: the lock that stops all
	 * other threads' events) calls it before changing the session memory again.
	 */
	void (*go_on)(void);

	/*
	 * Called when a thread needs a struct mf_thread and has none. In a forked child that has no session memory of
	 * its own yet, copies the parent's session memory. If the thread is the one that forked, returns the struct
	 * mf_thread that it had before the fork; otherwise NULL.
	 */
	struct mf_thread *(*begin)(void);

	/* Called after the thread that used the state @private has ended. */
	void (*thread_ended)(const struct mf_thread_private *private);
};

/*
 * The callbacks that fork.c has registered. All of them are NULL if children are not profiled. Set before any thread
 * has a struct mf_thread.
 */
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
