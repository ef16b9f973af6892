/* SPDX-License-Identifier: GPL-2.0 */
/* The shim's state of each thread. */
#ifndef MASSIF_PRELOAD_THREAD_H
#define MASSIF_PRELOAD_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/tally.h"
#include "clock.h"
#include "stack/depth.h"
#include "stack/memo.h"
#include "event/nesting.h"
#include "stack/unwind.h"

#define MF_DEFERRED_MAX 32u

/*
 * An event that came while the same thread was already inside the shim, because a signal handler interrupted it
 * there. It is counted when the thread leaves the shim.
 */
struct mf_deferred {
	uint64_t address;
	uint64_t size;
	bool is_free;
	bool is_made; /* reported by a client request; see mf_slowpath_made() */
};

/*
 * The part of a thread's state that every event needs, and what is cached about its stacks. Lies in memory that a
 * forked child shares with its parent (thread_memory.h) until the child has a session of its own.
 */
struct mf_thread {
	struct mf_tally_ctx ctx; /* pointers to the thread's tally and shard, which other threads may share */
	uint32_t *put_off;   /* slot of the block whose free is still pending in the tally, if any */
	uint32_t n_deferred;
	uint32_t generation; /* of mf_objects_generation() for which walk, objects, merged and memo are valid */
	bool counts; /* the session's time unit is instructions */
	bool shares; /* the process has or had other threads */

	struct mf_thread_private *private;
	const char *entry; /* name of the function that the program called last, if calls are reported; see trace.h */

	struct mf_deferred deferred[MF_DEFERRED_MAX]; /* the first n_deferred are in use */

	/* Cached knowledge of its stacks; see stack/context.c. */
	uint32_t objects[MF_DEPTH_MAX];
	struct mf_walk walk;
	uint64_t merged[MF_DEPTH_MAX];
	struct mf_memo memo; /* the last member: its pool follows */
};

/*
 * The rest of a thread's state, in private memory: a child needs it as it was when its process forked. Belongs to
 * the same struct mf_thread for good, also while no thread uses the pair.
 */
struct mf_thread_private {
	struct mf_thread *thread;
	struct mf_thread_private *next; /* in the list of states whose threads have ended */
	struct mf_thread_private *made_before; /* in the list of all states, which only grows */

	struct mf_clock clock;
	struct mf_depth depth; /* of its stack, if stacks are counted */

	/*
	 * The block that is being resized and is not in the table meanwhile; context MF_CONTEXT_NONE: none. Changes only
	 * while the gate is entered or closed.
	 */
	struct mf_block resizing;

	uint32_t tally; /* number of its tally, while a thread uses this state */
	uint32_t room;	/* words in the memo's pool */

	void *verifier; /* memory for checking its stacks; NULL: not allocated yet */

	/* While it forks: the child's connection to massif-ctl; 0: none. */
	int child;

	/* Copy of the state while a signal handler that interrupted an event forks; see thread_memory.h. */
	void *saved;
	size_t saved_bytes;

	struct mf_nesting nesting; /* calls of the program's own allocation functions */
};

/*
 * In the static TLS block, since access must not allocate. Small, since that block is part of every thread's stack,
 * and stacks can be small.
 */
struct mf_thread_local {
	volatile uint8_t inside; /* MF_INSIDE_... bits; 0: the next event is counted */
	uint8_t shortcut;     /* enum mf_fastpath */
	bool binds_deep;      /* its current dlopen() loads with RTLD_DEEPBIND; see deepbind.c */
	bool is_absorbed;     /* the C++ library's operator new has allocated; see mf_slowpath_absorb() */
	bool in_hook;	      /* the current call into the shim must keep the program's vector registers; see hook.c */
	struct mf_thread *thread;
};

/* Why a thread's events are not counted as they come. */
enum mf_inside {
	MF_INSIDE_SHIM = 1,    /* it is in the shim: its events are deferred */
	MF_INSIDE_LIBRARY = 2, /* it is in the C++ library's operator new or delete: the first event belongs to the operator */
	MF_INSIDE_OWN = 4,     /* it may be in the program's own allocation function; see nesting.h */
};

/* Which fast path a thread's events may try; see fastpath.h. */
enum mf_fastpath {
	MF_FASTPATH_NONE,
	MF_FASTPATH_ALONE,  /* as far as this thread knows, there are no others */
	MF_FASTPATH_SHARED,
	MF_FASTPATH_ENDING, /* none: the thread is ending and releases its state after each event */
};

extern __thread struct mf_thread_local mf_thread_local
	__attribute__((tls_model("initial-exec")));

/* Sets the current thread's state, which may be NULL, or updates its fast path after @thread has changed. */
void mf_thread_set(struct mf_thread *thread);

/*
 * Gets a state for the current thread. NULL if there is no memory for it, or the session is not active.
 */
struct mf_thread *mf_thread_take(void);

/* Returns the newest state. The list (made_before) includes states of threads that have ended. */
struct mf_thread_private *mf_thread_all(void);

/* Called after an event of a thread that is ending: releases the state, which nothing else would do. */
void mf_thread_release(void);

/* Notes the stack depths that a child's copy of the session contains. Context: with the gate held, on a freeze. */
void mf_thread_frozen(void);

/* In a forked child: releases the locks, whose holders do not exist here. */
void mf_thread_reset(void);

/*
 * In a forked child that now has its own session: discards the states of all other threads. @own, which may be NULL, is
 * the state of the thread that is left. @alone: the parent had no other thread, either.
 */
void mf_thread_survive(struct mf_thread_private *own, bool alone);

/* Returns the current thread's state, made at the first call; NULL if there is no memory for it. */
static inline struct mf_thread *mf_thread_get(void)
{
	struct mf_thread *thread = mf_thread_local.thread;

	return __builtin_expect(thread != NULL, 1) ? thread : mf_thread_take();
}

#endif
