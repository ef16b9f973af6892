// SPDX-License-Identifier: GPL-2.0
// Gives a forked child a copy of the profile.
//
// The session memory is shared with massif-ctl, so fork() does not copy it. Most children immediately execute another
// program and need no copy, so it is made as late as possible. The forking thread freezes the state when no thread is
// in the middle of an event, and notifies massif-ctl. From then on, neither process changes the session memory: the
// child's first event asks massif-ctl for the copy, and the parent's next event asks whether the copy is still needed
// and, if so, waits until it has been made. massif-ctl copies the memory only on these requests, and not for a child
// that has since executed another program.
//
// The shim holds no lock during the fork itself, because the C library takes its own locks at that time, and a thread
// that holds one of them may be in the middle of an allocation. Events of other threads during the fork are counted for
// the parent only.
//
// Children of vfork(), which share the memory, and of clone(), which calls no fork handlers, are not profiled; see
// session.h.

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
#include "core/process_id.h"
#include "core/seccomp.h"
#include "core/session.h"
#include "core/thread_memory.h"
#include "stack/context.h"
#include "core/thread.h"
#include "event/slowpath.h"
#include "event/trace.h"

/*
 * While a block is being resized, it is not in the table of blocks. If @back is true, puts all such blocks back into
 * the table; otherwise, takes them out again.
 */
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

/* State kept from a fork until the process next changes its session memory. Protected by the gate. */
static struct {
	unsigned int children;	   /* number of children announced to massif-ctl */
	/*
	 * The thread that froze the session memory, if the process has never had another thread; otherwise NULL. The
	 * only thread of a process does not test whether the gate is closed. So during the freeze, this thread's member
	 * @shares is set, as if there were other threads. @shares must be cleared when the freeze ends.
	 */
	struct mf_thread *alone;
} fork_state;

/* The following variables are used in a child after a fork. */
static struct mf_lock newborn_lock;
/* thread state of the child's only thread, the one that called fork(); NULL once that thread has taken it over */
static struct mf_thread_private *survivor;
static bool survivor_was_alone;
static pthread_t surviving_thread;

/*
 * Prepares to freeze the session memory, which must not change until a forked child has its own copy. While it is
 * frozen, any event must close the gate before it does anything else, and this ends the freeze. (The gate is the lock
 * that keeps other threads from changing their tallies.) Context: the caller holds the gate.
 */
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

	/*
	 * Notify massif-ctl that this process is about to resume changing its session memory after a fork. If
	 * massif-ctl cannot be reached, increment the went_on field in the session memory, so that massif-ctl can
	 * detect that a copy for a child would be inconsistent.
	 */
	if (fork_state.children && !mf_join_go_on())
		__atomic_add_fetch(&mf_session_store.header->went_on, 1, __ATOMIC_SEQ_CST);
	fork_state.children = 0;
	thaw();
	errno = saved;
}

/* Announces to massif-ctl that a process with a profile is about to fork. */
static void announce(struct mf_thread *thread)
{
	mf_stack_hold();
	if (mf_gate_hold())
		freeze(thread);
	if (mf_join_fork(&thread->private->child))
		fork_state.children++;
	/*
	 * Freeze the session memory even if massif-ctl could not be notified of the fork. In that case, the child is
	 * not counted in fork_state.children, so the next event does not wait for massif-ctl to make a copy.
	 */
	mf_gate_freeze();
	mf_stack_release();
}

static void prepare(void)
{
	uint8_t inside = mf_thread_local.inside;
	int saved = errno;

	if (!mf_session_is_active())
		return;
	/* If this is a signal handler that interrupted the shim, this thread may already hold the locks. */
	if (inside & MF_INSIDE_SHIM) {
		if (mf_thread_local.thread)
			mf_thread_memory_save(mf_thread_local.thread->private);
		errno = saved;
		return;
	}
	/*
	 * Do not profile the child, because the system calls needed to reach massif-ctl might be forbidden in the
	 * parent and the child.
	 */
	if (mf_seccomp_is_on()) {
		__atomic_add_fetch(&mf_session_store.header->children_restricted, 1, __ATOMIC_RELAXED);
		return;
	}
	mf_thread_local.inside = inside | MF_INSIDE_SHIM;
	if (mf_fork_is_newborn) {
		/*
		 * This process is itself a forked child that has had no event yet, so its own child starts with the
		 * same thread state, @survivor.
		 */
		if (survivor)
			mf_join_fork(&survivor->child);
	} else if (mf_thread_get()) {
		announce(mf_thread_local.thread);
	}
	mf_thread_local.inside = inside;
	errno = saved;
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
		mf_join_forget(&own->child);
		mf_thread_memory_drop(own);
	}
	errno = saved;
}

/*
 * Called in the child if a signal handler interrupted an event and forked. The child is not profiled, but once the
 * handler returns, it will finish the interrupted event, which would change the parent's session memory. So the child
 * maps that memory privately.
 */
static void go_on_unseen(void)
{
	int memory = mf_join_borrow(mf_session_store.header->pid), cancel;

	if (memory < 0)
		return; /* massif-ctl has exited, so nobody will read the session memory */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	mf_store_keep_changes(&mf_session_store, memory);
	pthread_setcancelstate(cancel, NULL);
	syscall(SYS_close, memory);
}

/*
 * Ends the session in a child that is not profiled. If a sandbox may forbid munmap(), the memory stays mapped, and counts
 * as before against the limits.
 */
static void drop_session(void)
{
	mf_thread_set(NULL);
	if (mf_seccomp_is_on()) {
		mf_session_store.header = NULL;
		return;
	}
	mf_store_detach(&mf_session_store);
	mf_limits_settle();
}

static void child(void)
{
	struct mf_thread_private *own = own_state();
	bool was_newborn = mf_fork_is_newborn;
	int saved = errno;

	/*
	 * Release the locks that the parent's other threads may have held, because these threads do not exist in the
	 * child. This is needed in every child, profiled or not.
	 */
	mf_stack_reset();
	mf_gate_reset();
	mf_thread_reset();
	mf_objects_reset();
	mf_join_leave();
	mf_process_id_note();
	mf_lock_reset(&newborn_lock);
	mf_fork_is_newborn = false;
	survivor = NULL;
	if (own && own->child.connection > 0 && !(mf_thread_local.inside & MF_INSIDE_SHIM) &&
	    mf_join_born(&own->child)) {
		/*
		 * Detach the thread from its state, because the session memory that contains the state still belongs to
		 * the parent. At the thread's next event, begin() maps a copy of that memory and reattaches the state.
		 */
		survivor = own;
		if (!was_newborn)
			survivor_was_alone = fork_state.alone == own->thread;
		surviving_thread = pthread_self();
		mf_thread_set(NULL);
		mf_fork_is_newborn = true;
		mf_session_resume();
	} else if (!(mf_thread_local.inside & MF_INSIDE_SHIM)) {
		drop_session();
	} else if (mf_session_store.header) {
		go_on_unseen();
		if (own)
			mf_thread_memory_restore(own);
	}
	memset(&fork_state, 0, sizeof(fork_state));
	/*
	 * Other threads of the parent may also have been in the middle of forking. So for each of the parent's threads,
	 * close the descriptors that a child of that thread would have needed to get a session, and free the saved copy
	 * of the thread's state.
	 */
	for (struct mf_thread_private *private = mf_thread_all(); private; private = private->made_before) {
		mf_join_forget(&private->child);
		mf_thread_memory_drop(private);
	}
	errno = saved;
}

/* Maps the child's copy of the session memory. Returns false if the child is not to be profiled. */
static bool copy(void)
{
	int memory = mf_join_copy(), cancel;
	bool continued;

	/* Disable cancellation, because mapping the session memory uses functions that are cancellation points. */
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
			/*
			 * The mapped session memory is still the parent's, so from now on no thread may allocate its
			 * per-thread state there.
			 */
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
