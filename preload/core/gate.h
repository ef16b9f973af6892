/* SPDX-License-Identifier: GPL-2.0 */
/* The gate: threads change their tallies side by side, or one is alone with the model. */
#ifndef MASSIF_PRELOAD_GATE_H
#define MASSIF_PRELOAD_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/tally.h"
#include "session.h"
#include "thread.h"

extern uint32_t mf_gate_closed MF_HIDDEN;

/*
 * glibc's word on whether there is one thread; false from before another one is started. Other C
 * libraries have none.
 */
extern char __libc_single_threaded __attribute__((weak));

/*
 * Between mf_gate_enter() and mf_gate_leave(), @thread may change its tally and shard and the slots of
 * its blocks, and must call nothing that could wait. A tally that is busy is locked: other threads that
 * share it wait, and so does a thread that closes the gate. False when the gate is closed: then the thread
 * has to close it itself. Not for a thread that has entered already.
 *
 * The first is for a thread that knows of others. It is false, too, when another thread is in the tally.
 */
static inline bool mf_gate_try_shared(struct mf_tally *tally)
{
	/* Who closes the gate sees that this thread is busy, or this thread sees that it is closed. */
	uint32_t was_busy = __atomic_exchange_n(&tally->busy, 1, __ATOMIC_SEQ_CST);

	if (__builtin_expect(!(was_busy | __atomic_load_n(&mf_gate_closed, __ATOMIC_ACQUIRE)), 1))
		return true;
	if (!was_busy)
		__atomic_store_n(&tally->busy, 0, __ATOMIC_RELEASE);
	return false;
}

/* Waits until no other thread is in @tally, and makes it busy. */
void mf_gate_take_turn(struct mf_tally *tally);

static inline bool mf_gate_enter_shared(struct mf_tally *tally)
{
	if (__builtin_expect(__atomic_exchange_n(&tally->busy, 1, __ATOMIC_SEQ_CST), 0))
		mf_gate_take_turn(tally);
	if (__builtin_expect(!__atomic_load_n(&mf_gate_closed, __ATOMIC_ACQUIRE), 1))
		return true;
	__atomic_store_n(&tally->busy, 0, __ATOMIC_RELEASE);
	return false;
}

static inline bool mf_gate_enter(struct mf_thread *thread)
{
	if (!thread->shares) {
		/* Its value before any other thread came: from then on, they watch each other. */
		if (&__libc_single_threaded && __libc_single_threaded) {
			thread->desk.tally->busy = 1;
			__atomic_signal_fence(__ATOMIC_SEQ_CST);
			return true;
		}
		thread->shares = true;
		mf_thread_set(thread);
	}
	return mf_gate_enter_shared(thread->desk.tally);
}

static inline void mf_gate_leave(struct mf_thread *thread)
{
	__atomic_store_n(&thread->desk.tally->busy, 0, __ATOMIC_RELEASE);
}

/* Between the two, the calling thread is alone. Not recursive; nothing foreign is called in between. */
void mf_gate_close(void);
void mf_gate_open(void);

/*
 * To freeze what there is, for a child that may want a copy of it: mf_gate_hold() closes the gate, and
 * says false where it is frozen already; mf_gate_freeze() lets go of it closed. Whoever closes the gate
 * next has mf_fork_go_on() called, and finds everything thawed.
 */
bool mf_gate_hold(void);
void mf_gate_freeze(void);

extern bool mf_gate_is_frozen MF_HIDDEN;

/* Before a change of what the gate does not protect, with the lock held that does. */
static inline void mf_gate_thaw(void)
{
	if (__builtin_expect(!__atomic_load_n(&mf_gate_is_frozen, __ATOMIC_RELAXED), 1))
		return;
	mf_gate_close();
	mf_gate_open();
}

/* In a forked child: nobody holds it. */
void mf_gate_reset(void);

#endif
