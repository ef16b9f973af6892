// SPDX-License-Identifier: GPL-2.0
// A forked child goes on with a copy of the profile.
//
// The session's memory is shared with massif-ctl, so fork copies nothing of it. Most children execute
// another program at once and need no copy; so it is made as late as can be. The thread that forks
// freezes everything, in a moment when all threads are at rest, and tells massif-ctl. Nobody changes
// anything from then on: neither the child, whose first event asks massif-ctl for the copy, nor the
// parent, whose next event asks whether one is still wanted, and waits for that. Between them massif-ctl
// copies when it must, and forgets a child that became another program.
//
// No lock is held while the process forks: the C library takes locks of its own then, whose holders may
// be allocating. What other threads do in that moment is the parent's alone.
//
// Children that were made in another way (vfork shares the memory, clone calls no handlers) are not
// profiled: see session.h.

#include "fork.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "model/heap.h"
#include "model/tally.h"
#include "core/fork_calls.h"
#include "core/gate.h"
#include "core/join.h"
#include "limits.h"
#include "core/lock.h"
#include "core/objects.h"
#include "core/seccomp.h"
#include "core/session.h"
#include "core/thread_memory.h"
#include "stack/context.h"
#include "core/thread.h"
#include "event/slowpath.h"
#include "event/trace.h"

/* Blocks that threads have taken out of the table, to resize them, are in it for a moment. */
static void put_back(bool back)
{
	for (struct mf_thread_private *private = mf_thread_all(); private; private = private->made_before) {
		struct mf_block block;

		if (private->resizing.context == MF_CONTEXT_NONE)
			continue;
		if (back)
			mf_heap_realloc_failed(&mf_session_store, &private->resizing);
		else
			mf_heap_realloc_begin(&mf_session_store, private->resizing.address, &block);
	}
}

/* Of a process that has forked, and has changed nothing since. Changes with the gate held. */
static struct {
	unsigned int children;	   /* that massif-ctl knows of */
	struct mf_thread *alone;   /* the only thread; it did not look at the gate */
} fork_state;

/* In a child. */
static struct mf_lock newborn_lock;
static struct mf_thread_private *survivor; /* the state of the only thread, which that does not know of yet */
static bool survivor_was_alone;
static pthread_t surviving_thread;

/* With the gate held: from now on every event needs it closed. */
static void freeze(struct mf_thread *thread)
{
	mf_tally_fold(&mf_session_store);
	put_back(true);
	mf_thread_frozen();
	fork_state.children = 0;
	fork_state.alone = thread->shares ? NULL : thread;
	thread->shares = true;
	mf_thread_set(thread);
}

static void thaw(void)
{
	put_back(false);
	if (fork_state.alone) {
		fork_state.alone->shares = false;
		if (fork_state.alone == mf_thread_local.thread)
			mf_thread_set(fork_state.alone);
	}
	fork_state.alone = NULL;
}

static void go_on(void)
{
	int saved = errno;

	/* A copy that somebody makes all the same would be of a profile that changes. */
	if (fork_state.children && !mf_join_go_on())
		__atomic_add_fetch(&mf_session_store.header->went_on, 1, __ATOMIC_SEQ_CST);
	fork_state.children = 0;
	thaw();
	errno = saved;
}

/* Tells massif-ctl of the child of a process that has a profile. */
static void announce(struct mf_thread *thread)
{
	mf_stack_hold();
	if (mf_gate_hold())
		freeze(thread);
	thread->private->child = mf_join_fork();
	if (thread->private->child > 0)
		fork_state.children++;
	/* Also where nobody can be told: then the next event needs no time. */
	mf_gate_freeze();
	mf_stack_release();
}

static void prepare(void)
{
	uint8_t inside = mf_thread_local.inside;
	int saved = errno;

	if (!mf_session_is_active())
		return;
	/* A signal handler that interrupted us cannot have the locks. */
	if (inside & MF_INSIDE_SHIM) {
		if (mf_thread_local.thread)
			mf_thread_memory_save(mf_thread_local.thread->private);
		errno = saved;
		return;
	}
	/* Neither process may be able to talk to massif-ctl: the child goes without. */
	if (mf_seccomp_is_on()) {
		__atomic_add_fetch(&mf_session_store.header->children_restricted, 1, __ATOMIC_RELAXED);
		return;
	}
	mf_thread_local.inside = inside | MF_INSIDE_SHIM;
	if (mf_fork_is_newborn) {
		/* Its children begin with the same. */
		if (survivor)
			survivor->child = mf_join_fork();
	} else if (mf_thread_get()) {
		announce(mf_thread_local.thread);
	}
	mf_thread_local.inside = inside;
	errno = saved;
}

static void forget(struct mf_thread_private *private)
{
	if (private->child > 0)
		syscall(SYS_close, private->child);
	private->child = 0;
}

static struct mf_thread_private *own_state(void)
{
	if (mf_fork_is_newborn)
		return survivor;
	return mf_thread_local.thread ? mf_thread_local.thread->private : NULL;
}

static void parent(void)
{
	struct mf_thread_private *own = own_state();
	int saved = errno;

	if (own) {
		forget(own);
		mf_thread_memory_drop(own);
	}
	errno = saved;
}

/*
 * The handler of a signal has forked, which interrupted us in the middle of an event, and will return
 * there: in the child, too, which is not profiled. It needs what it was about to change; but that is its
 * parent's, so it has what it changes for itself.
 */
static void go_on_unseen(void)
{
	int memory = mf_join_borrow(mf_session_store.header->pid), cancel;

	if (memory < 0)
		return; /* with nobody there to read it */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	mf_store_keep_changes(&mf_session_store, memory);
	pthread_setcancelstate(cancel, NULL);
	syscall(SYS_close, memory);
}

static void child(void)
{
	struct mf_thread_private *own = own_state();
	bool was_newborn = mf_fork_is_newborn;
	int saved = errno;

	/* Whether or not it is profiled: the other threads are gone, and what they held. */
	mf_stack_reset();
	mf_gate_reset();
	mf_thread_reset();
	mf_objects_reset();
	mf_join_leave();
	newborn_lock = (struct mf_lock){ 0 };
	mf_fork_is_newborn = false;
	survivor = NULL;
	if (own && own->child > 0 && !(mf_thread_local.inside & MF_INSIDE_SHIM) && mf_join_born(own->child)) {
		own->child = 0;
		/* Its first event finds no state: what there is of it is its parent's. */
		survivor = own;
		if (!was_newborn)
			survivor_was_alone = fork_state.alone == own->thread;
		surviving_thread = pthread_self();
		mf_thread_set(NULL);
		mf_fork_is_newborn = true;
		mf_session_resume();
	} else if (!(mf_thread_local.inside & MF_INSIDE_SHIM)) {
		mf_thread_set(NULL);
		mf_store_detach(&mf_session_store);
		mf_limits_settle();
	} else if (mf_session_store.header) {
		go_on_unseen();
		if (own)
			mf_thread_memory_restore(own);
	}
	memset(&fork_state, 0, sizeof(fork_state));
	/* Of threads that were about to fork, too. */
	for (struct mf_thread_private *private = mf_thread_all(); private; private = private->made_before) {
		forget(private);
		mf_thread_memory_drop(private);
	}
	errno = saved;
}

/* Returns false when there is no profile. */
static bool copy(void)
{
	int memory = mf_join_copy(), cancel;
	bool continued;

	/* The store is mapped by functions in which threads are cancelled. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	continued = memory >= 0 && mf_session_continue(memory);
	pthread_setcancelstate(cancel, NULL);
	if (memory >= 0)
		syscall(SYS_close, memory);
	if (continued) {
		mf_thread_survive(survivor, survivor_was_alone);
		put_back(false);
		mf_tally_grant(&mf_session_store);
		mf_session_activate();
		mf_trace_start();
	}
	return continued;
}

static struct mf_thread *begin(void)
{
	int saved = errno;

	if (mf_fork_is_newborn) {
		mf_lock_take(&newborn_lock);
		if (mf_fork_is_newborn && !copy()) {
			/* What is mapped is its parent's: no thread may have a state from here on. */
			mf_session_deactivate();
			survivor = NULL;
			mf_join_without();
		}
		__atomic_store_n(&mf_fork_is_newborn, false, __ATOMIC_RELEASE);
		mf_lock_give(&newborn_lock);
	}
	errno = saved;
	if (!survivor || !pthread_equal(surviving_thread, pthread_self()))
		return NULL;
	return mf_take(survivor, NULL)->thread;
}

static void thread_ended(const struct mf_thread_private *private)
{
	if (survivor == private)
		survivor = NULL;
}

void mf_fork_start(void)
{
	mf_fork_calls = (struct mf_fork_calls){ .go_on = go_on, .begin = begin, .thread_ended = thread_ended };
	pthread_atfork(prepare, parent, child);
}
