/* SPDX-License-Identifier: GPL-2.0 */
/* What the shim keeps for each thread. */
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
 * An event that came while the same thread was already inside the shim: a signal handler interrupted
 * it there. It is accounted when the shim is left.
 */
struct mf_deferred {
	uint64_t address;
	uint64_t size;
	bool is_free;
	bool is_made; /* by the program, see mf_slowpath_made() */
};

/*
 * What each event needs, and what is known of the thread's stacks. In memory that a forked child shares with
 * its parent (slots.h), until the child has a session of its own.
 */
struct mf_thread {
	struct mf_tally_ctx desk; /* the thread's tally and shard, which it may share with others */
	uint32_t *put_off;   /* the slot of the block whose free its tally has put off, if any */
	uint32_t n_deferred;
	uint32_t generation; /* of mf_objects_generation that walk, objects, merged and memo go by */
	bool counts; /* time is the instructions that it executes */
	bool shares; /* there are, or have been, other threads */

	struct mf_thread_private *private;
	const char *entry; /* what the program called last, if that is told; see trace.h */

	struct mf_deferred deferred[MF_DEFERRED_MAX]; /* n_deferred of them */

	/* What is known of its stacks; see stack.c. */
	uint32_t objects[MF_DEPTH_MAX];
	struct mf_walk walk;
	uint64_t merged[MF_DEPTH_MAX];
	struct mf_memo memo; /* the last member: its pool follows */
};

/*
 * The rest of a thread's state, which a child needs as it was when its process forked: private memory. Stays
 * with one struct mf_thread, also while no thread has the two.
 */
struct mf_thread_private {
	struct mf_thread *thread;
	struct mf_thread_private *next; /* in the list of those whose threads have ended */
	struct mf_thread_private *made_before; /* in the list of all, which only grows */

	struct mf_clock clock;
	struct mf_depth depth; /* of its stack, if that counts */

	/* The block that is out of the table; none has no context. Changes where the gate has been entered or closed. */
	struct mf_block resizing;

	uint32_t tally; /* its number, while a thread has this state */
	uint32_t room;	/* of the memo */

	void *verifier; /* memory in which its stacks are verified; NULL: none yet */

	/* While it forks: the connection for its child; 0: none. */
	int child;

	/* While a signal handler forks that has interrupted an event; see slots.h. */
	void *saved;
	size_t saved_bytes;

	struct mf_nesting nesting; /* in allocation functions of the program's */
};

/*
 * In the static TLS block, since reaching it must not allocate; and small, since that block is a
 * part of every thread's stack, and stacks can be small.
 */
struct mf_thread_local {
	volatile uint8_t inside; /* MF_INSIDE_...; 0: its next event counts */
	uint8_t shortcut;     /* enum mf_fastpath: what its events may try */
	bool binds_deep;      /* what its dlopen brings is loaded with RTLD_DEEPBIND; see deepbind.c */
	bool is_absorbed;     /* the library's operator new has allocated; see mf_slowpath_absorb() */
	bool in_hook;	      /* what the shim does now keeps the program's vector registers; see hook.c */
	struct mf_thread *thread;
};

/* Why a thread's events are not accounted as they come. */
enum mf_inside {
	MF_INSIDE_SHIM = 1,    /* it is in the shim: they wait */
	MF_INSIDE_LIBRARY = 2, /* it is in a C++ library's operator: the first event is the operator's own */
	MF_INSIDE_OWN = 4,     /* it may be in an allocation function of the program's; see nesting.h */
};

/* See shortcut.h. */
enum mf_fastpath {
	MF_SHORTCUT_NONE,
	MF_SHORTCUT_ALONE,  /* there are no other threads, as far as this one knows */
	MF_SHORTCUT_SHARED,
	MF_SHORTCUT_ENDING, /* none: the thread gives its state back after each event */
};

extern __thread struct mf_thread_local mf_thread_local
	__attribute__((tls_model("initial-exec")));

/* @thread, or NULL, is this thread's from now on; or what it may try has changed. */
void mf_thread_set(struct mf_thread *thread);

/* Makes the state of this thread; NULL if there is no memory for it. While the session is active. */
struct mf_thread *mf_thread_take(void);

/* The newest of all states that were made, also of threads that have ended. */
struct mf_thread_private *mf_thread_all(void);

/* After an event of a thread that is ending: gives its state back, which nothing else would. */
void mf_thread_release(void);

/* With the gate held: what a child may have a copy of is what there is now. */
void mf_thread_frozen(void);

/* In a forked child: nobody holds the locks. */
void mf_thread_reset(void);

/*
 * In a forked child that has its own session: @own, which may be NULL, is the state of its only thread, the
 * others have ended. @alone: there was no other thread before, either.
 */
void mf_thread_survive(struct mf_thread_private *own, bool alone);

/* The state of this thread, made at its first call; NULL if there is no memory for it. */
static inline struct mf_thread *mf_thread_get(void)
{
	struct mf_thread *thread = mf_thread_local.thread;

	return __builtin_expect(thread != NULL, 1) ? thread : mf_thread_take();
}

#endif
