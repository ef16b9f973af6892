// SPDX-License-Identifier: GPL-2.0
// A forked child goes on with a copy of the profile.
//
// The session's memory is shared with massif-ctl, so fork copies nothing of it; and whatever copies it
// must find the parent's threads at rest. So the thread that forks has massif-ctl make the copy before,
// alone, and the child finds a descriptor of it. Nothing of ours is held while the process forks: the C
// library takes locks of its own then, whose holders may be allocating. What other threads do in that
// moment is the parent's alone.
//
// Children that were made in another way (vfork shares the memory, clone calls no handlers) are not
// profiled: see session.h.

#include "fork.h"

#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "model/heap.h"
#include "model/tally.h"
#include "gate.h"
#include "join.h"
#include "objects.h"
#include "session.h"
#include "stack.h"
#include "thread.h"
#include "track.h"

/* Blocks that threads have taken out of the table, to resize them, are in it for a moment. */
static void put_back(bool back)
{
	for (struct mf_thread *thread = mf_thread_all(); thread; thread = thread->made_before) {
		const struct mf_track_realloc *state = thread->resizing;
		struct mf_block block;

		if (!state)
			continue;
		if (back)
			mf_heap_realloc_failed(&mf_session_store, &state->block);
		else
			mf_heap_realloc_begin(&mf_session_store, state->block.address, &block);
	}
}

static void prepare(void)
{
	struct mf_thread *thread;
	int saved = errno;

	/* A signal handler that interrupted us cannot have the locks. */
	if (!mf_session_is_active() || mf_thread_local.inside)
		return;
	mf_thread_local.inside = true;
	thread = mf_thread_get();
	if (thread) {
		mf_stack_hold();
		mf_gate_close();
		mf_tally_fold(&mf_session_store);
		put_back(true);
		thread->child = mf_join_copy(&thread->child_memory);
		put_back(false);
		mf_tally_grant(&mf_session_store);
		mf_gate_open();
		mf_stack_release();
	}
	mf_thread_local.inside = false;
	errno = saved;
}

static void forget(struct mf_thread *thread)
{
	if (thread->child > 0) {
		syscall(SYS_close, thread->child);
		syscall(SYS_close, thread->child_memory);
	}
	thread->child = thread->child_memory = 0;
}

static void parent(void)
{
	int saved = errno;

	if (mf_thread_local.thread)
		forget(mf_thread_local.thread);
	errno = saved;
}

static void child(void)
{
	struct mf_thread *own = mf_thread_local.thread;
	int saved = errno;

	/* Whether or not it is profiled: the other threads are gone, and what they held. */
	mf_stack_reset();
	mf_gate_reset();
	mf_objects_reset();
	mf_join_leave();
	if (own && own->child > 0 && !mf_thread_local.inside) {
		int connection = own->child, memory = own->child_memory;

		own->child = own->child_memory = 0;
		mf_thread_local.inside = true;
		if (mf_session_continue(memory) && mf_join_born(connection)) {
			mf_thread_survive(own);
			mf_tally_grant(&mf_session_store);
			mf_session_activate();
		} else {
			syscall(SYS_close, connection);
		}
		syscall(SYS_close, memory);
		mf_thread_local.inside = false;
	}
	/* Of threads that were about to fork, too. */
	for (struct mf_thread *thread = mf_thread_all(); thread; thread = thread->made_before)
		forget(thread);
	errno = saved;
}

void mf_fork_start(void)
{
	pthread_atfork(prepare, parent, child);
}
