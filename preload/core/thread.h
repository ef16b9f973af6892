/* SPDX-License-Identifier: GPL-2.0 */
/* The shim's per-thread state. */
#ifndef MASSIF_PRELOAD_THREAD_H
#define MASSIF_PRELOAD_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/tally.h"
#include "clock.h"
#include "exec_memory.h"
#include "join.h"
#include "stack/depth.h"
#include "stack/memo.h"
#include "event/nesting.h"
#include "stack/unwind.h"

#define MF_DEFERRED_MAX 32u

/*
 * An event that occurred while the thread was already inside the shim, because a signal handler interrupted it there.
 * The event is counted when the thread leaves the shim.
 */
struct mf_deferred {
	uint64_t address;
	uint64_t size;
	bool is_free;
	bool is_made; /* the block was reported by a client request; see mf_slowpath_made() */
};

/*
 * The part of a thread's state that every event needs, and the cached data about the thread's stacks. Parent and forked
 * child share the memory of this struct (thread_memory.h) until the child has a session of its own.
 */
struct mf_thread {
	/*
	 * addresses of the thread's tally and of the tally's shard (the array of bytes per context); other threads may
	 * share both
	 */
	struct mf_tally_ctx ctx;
	/* block-table slot of the block whose free is delayed (not counted yet); NULL if there is none */
	uint32_t *delayed_slot;
	uint32_t n_deferred;
	/* The value of mf_objects_generation() for which the cached data in walk, objects, merged and memo is valid. */
	uint32_t generation;
	bool counts; /* true if the session's time unit is instructions */
	bool shares; /* true if the process has or had other threads */
	uint8_t function; /* enum mf_function: the one whose stack is being walked */

	/*
	 * the trie node below which the thread's stacks are inserted: MF_NODE_ROOT, or the thread's own node if the
	 * threads are kept apart (model/thread_table.h) and the thread has had an event that was not in its memo
	 */
	uint32_t root;

	struct mf_thread_private *private;
	const char *entry; /* name of the last allocation function called, if calls are reported; see trace.h */

	/* Events to be counted when the thread leaves the shim; there are n_deferred of them. */
	struct mf_deferred deferred[MF_DEFERRED_MAX];

	/* Cached data about the thread's stacks; see stack/context.c. */
	uint32_t objects[MF_DEPTH_MAX];
	struct mf_walk walk;
	uint64_t merged[MF_DEPTH_MAX];
	/*
	 * Cache of the call stacks of the thread's events. Must be the last member, because its pool is stored directly
	 * after it.
	 */
	struct mf_memo memo;
};

/*
 * The rest of a thread's state. It is in private memory because a child needs it as it was at the time of the fork.
 * Each of these structs is permanently paired with one struct mf_thread, even while no thread uses them.
 */
struct mf_thread_private {
	struct mf_thread *thread;
	struct mf_thread_private *next; /* next element of the list of unused states, whose threads have ended */
	/*
	 * next element of the list of all states: the state that was made before this one. States are never removed
	 * from that list.
	 */
	struct mf_thread_private *made_before;

	struct mf_clock clock;
	struct mf_depth depth; /* how many bytes of its stack the thread uses; measured only with --stacks=yes */

	/*
	 * The block that the thread is resizing; until that is done, the block is not in the table of blocks. The
	 * context is MF_CONTEXT_NONE if there is no such block. Changed only between mf_gate_enter() and
	 * mf_gate_leave(), or with the gate closed.
	 */
	struct mf_block resizing;

	pthread_t self; /* the thread; valid if it has a root of its own (struct mf_thread), or a number */
	uint32_t number; /* the thread's number in the table of threads, or 0; valid if threads are counted */
	uint32_t tally; /* index of the tally (the event counters in the session memory) that this thread uses */
	uint32_t room;	/* size in words of the pool that the thread's memo of stacks uses */

	void *verifier; /* memory for checking the thread's stacks with libunwind (verify.c); NULL until allocated */

	/* while the thread is forking: what the child needs to get a session from massif-ctl */
	struct mf_join_child child;

	struct mf_exec_memory exec_memory;
	/* Copy of the state, kept while a signal handler that interrupted an event is forking; see thread_memory.h. */
	void *saved;
	size_t saved_bytes;

	struct mf_nesting nesting; /* used to detect nested calls to the program's own allocation functions */
};

/*
 * The shim's thread-local variables. They are in the static TLS block, so that accessing them does not allocate. The
 * struct is kept small, because the static TLS block takes up part of each thread's stack, which may itself be small.
 */
struct mf_thread_local {
	volatile uint8_t inside; /* MF_INSIDE_... bits; 0 if the next event is to be counted immediately */
	uint8_t shortcut;     /* which fast path the thread's events may try: one of enum mf_fastpath */
	bool binds_deep;      /* the thread is inside dlopen() with RTLD_DEEPBIND; see deepbind.c */
	/*
	 * The malloc() call made by the C++ library's operator new has returned a block, and that block has not been
	 * counted yet; see mf_slowpath_absorb().
	 */
	bool is_absorbed;
	bool in_hook;	      /* the current call into the shim must keep the program's vector registers; see hook.c */
	uint16_t number;      /* the thread's number in the table of threads, if threads are counted; 0: it has none yet */
	struct mf_thread *thread;
};

/* Reasons not to count a thread's next event immediately. */
enum mf_inside {
	MF_INSIDE_SHIM = 1,    /* the thread is in the shim: its events are deferred */
	/* the C++ library's operator new or delete is running: the first event in it is not counted */
	MF_INSIDE_LIBRARY = 2,
	/* set while the thread may be in one of the program's own allocation functions; see nesting.h */
	MF_INSIDE_OWN = 4,
};

/* The fast path, if any, that a thread's events try before the slow path; see fastpath.h. */
enum mf_fastpath {
	MF_FASTPATH_NONE,
	MF_FASTPATH_ALONE,  /* the fast path for a thread that, as far as it knows, is the only thread in the process */
	MF_FASTPATH_SHARED,
	MF_FASTPATH_ENDING, /* no fast path, because the thread is ending and releases its state after each event */
};

extern __thread struct mf_thread_local mf_thread_local
	__attribute__((tls_model("initial-exec")));

/*
 * Sets the current thread's state to @thread, which may be NULL. Also call this after changing *@thread, to update the
 * thread's fast path.
 */
void mf_thread_set(struct mf_thread *thread);

/* Allocates a state for the current thread. Returns NULL if out of memory, or if the session is not active. */
struct mf_thread *mf_thread_take(void);

/*
 * Returns the newest state, the head of the list linked by made_before. The list includes states of threads that have
 * ended.
 */
struct mf_thread_private *mf_thread_all(void);

/*
 * Releases the current thread's state. Called after each event of a thread that is ending, because nothing else would
 * release the state.
 */
void mf_thread_release(void);

/*
 * Saves the threads' stack depths as counted in the frozen session, which a forked child will copy. Called when the
 * session is frozen. Context: the gate is held.
 */
void mf_thread_frozen(void);

/* Makes ending threads forget their states, because the shim starts over; see process/late.c. */
void mf_thread_forget(void);

/*
 * In a forked child: releases the lock that protects the thread states, because its holder does not exist in the child.
 */
void mf_thread_reset(void);

/*
 * In a forked child that now has its own session: discards the states of all other threads. @own, which may be NULL, is
 * the state of the remaining thread. @alone is true if the parent was also single-threaded.
 */
void mf_thread_survive(struct mf_thread_private *own, bool alone);

/*
 * Returns the current thread's state, allocating it if the thread has none yet. Returns NULL if it cannot get one (see
 * mf_thread_take()).
 */
static inline struct mf_thread *mf_thread_get(void)
{
	struct mf_thread *thread = mf_thread_local.thread;

	return __builtin_expect(thread != NULL, 1) ? thread : mf_thread_take();
}

#endif
