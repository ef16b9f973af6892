/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The gate between threads and the model. While the gate is open, threads update their own tallies in parallel. Once a
 * thread has closed the gate, no other thread is in the middle of an event, so the thread that closed it may change the
 * model.
 */
#ifndef MASSIF_PRELOAD_GATE_H
#define MASSIF_PRELOAD_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/tally.h"
#include "session.h"
#include "thread.h"

extern uint32_t mf_gate_closed MF_HIDDEN;

/*
 * Points to glibc's __libc_single_threaded: true while the process has one thread; glibc clears it before a second thread
 * starts. With glibc before 2.32, which lacks the variable, points to mf_gate_never_alone. The shim does not refer to the
 * variable by a symbol, because a program with an older glibc would then not start.
 */
extern const char *mf_gate_alone MF_HIDDEN;
extern const char mf_gate_never_alone MF_HIDDEN;

/*
 * Between mf_gate_enter() and mf_gate_leave(), @thread may change its tally, its shard (the array of context bytes that
 * belongs to the tally) and its blocks' slots in the table of blocks. It must not call anything that could wait. The
 * tally is locked during this time: other threads that share the tally wait, and so does a thread that closes the gate.
 * Returns false if the gate is closed; the caller must then use mf_gate_close() instead. The gate is also closed while
 * the session is frozen, even for the thread that froze it. Not recursive.
 *
 * mf_gate_try_shared() is for threads of a multithreaded process. It never waits: it also returns false if another
 * thread holds the tally.
 */
static inline bool mf_gate_try_shared(struct mf_tally *tally)
{
	/*
	 * Mark the tally as busy before testing the gate. If another thread closes the gate at the same time, either
	 * that thread sees the busy tally and waits, or this thread sees the closed gate.
	 */
	uint32_t was_busy = __atomic_exchange_n(&tally->busy, 1, __ATOMIC_SEQ_CST);

	if (__builtin_expect(!(was_busy | __atomic_load_n(&mf_gate_closed, __ATOMIC_ACQUIRE)), 1))
		return true;
	if (!was_busy)
		__atomic_store_n(&tally->busy, 0, __ATOMIC_RELEASE);
	return false;
}

/* Waits until no other thread holds @tally, and locks it. */
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
		/*
		 * Until the process starts a second thread, its single thread locks its tally with a plain store
		 * instead of an atomic exchange. After that, thread->shares is set, and it stays set even when the
		 * other threads have ended.
		 */
		if (*mf_gate_alone) {
			thread->ctx.tally->busy = 1;
			__atomic_signal_fence(__ATOMIC_SEQ_CST);
			return true;
		}
		thread->shares = true;
		mf_thread_set(thread);
	}
	return mf_gate_enter_shared(thread->ctx.tally);
}

static inline void mf_gate_leave(struct mf_thread *thread)
{
	__atomic_store_n(&thread->ctx.tally->busy, 0, __ATOMIC_RELEASE);
}

/*
 * Releases @tally if the current thread holds it. For a thread that ends in the middle of an event, for whose end other
 * threads would wait forever. Whether it holds the tally is not known; if it shares the tally, the function waits to see
 * whether another thread releases it.
 */
void mf_gate_abandon(struct mf_tally *tally);

/*
 * Between mf_gate_close() and mf_gate_open(), no other thread is in the middle of an event. Not recursive. Do not call
 * any code of the program or of other libraries in between.
 */
void mf_gate_close(void);
void mf_gate_open(void);

/*
 * These functions freeze the session memory, so that a forked child can get a copy of it. mf_gate_hold() takes the
 * gate's lock and closes the gate; it returns false if the session memory is already frozen, in which case the gate is
 * already closed. mf_gate_freeze() releases the lock but leaves the gate closed, so that every event has to call
 * mf_gate_close(). The first such call ends the freeze by calling mf_fork_go_on(), which tells massif-ctl that this
 * process is about to change the session memory.
 */
bool mf_gate_hold(void);
void mf_gate_freeze(void);

extern bool mf_gate_is_frozen MF_HIDDEN;

/*
 * After a fork, the session memory is frozen: it must not change until the child has a copy of it. This function ends
 * the freeze. Closing the gate ends it, too. Call this function before changing session memory that is protected by a
 * lock other than the gate. Context: that lock is held.
 */
static inline void mf_gate_thaw(void)
{
	if (__builtin_expect(!__atomic_load_n(&mf_gate_is_frozen, __ATOMIC_RELAXED), 1))
		return;
	mf_gate_close();
	mf_gate_open();
}

/* In a forked child: opens the gate, since the thread that held it does not exist in the child. */
void mf_gate_reset(void);

#endif
