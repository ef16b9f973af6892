// SPDX-License-Identifier: GPL-2.0
// What the shim keeps for each thread: taken at its first event, given back when it ends.

#include "thread.h"

#include <pthread.h>
#include <sys/mman.h>

#include "model/model.h"
#include "model/stacks.h"
#include "fork.h"
#include "gate.h"
#include "session.h"
#include "stack.h"
#include "trace.h"

__thread struct mf_thread_local mf_thread_local __attribute__((tls_model("initial-exec")));

/* Protects the list and the key. Only ever tried: a signal handler may come in while it is held. */
static uint32_t list_lock;
static struct mf_thread *ended;
static struct mf_thread *all; /* atomic */
static pthread_key_t key;
static bool has_key;

/* What is different for some threads or sessions, the complete way sees to. */
static enum mf_shortcut shortcut_of(const struct mf_thread *thread)
{
	if (!thread || !thread->has_tally || thread->counts || mf_trace_wanted)
		return MF_SHORTCUT_NONE;
	return thread->shares || !&__libc_single_threaded ? MF_SHORTCUT_SHARED : MF_SHORTCUT_ALONE;
}

void mf_thread_set(struct mf_thread *thread)
{
	mf_thread_local.thread = thread;
	mf_thread_local.shortcut = (uint8_t)shortcut_of(thread);
}

static bool try_lock(void)
{
	return !__atomic_exchange_n(&list_lock, 1, __ATOMIC_ACQUIRE);
}

static void unlock(void)
{
	__atomic_store_n(&list_lock, 0, __ATOMIC_RELEASE);
}

/* At the thread's end. What it allocates after that takes a state again, which comes back here. */
static void give_back(void *data)
{
	struct mf_thread *thread = data;

	mf_thread_set(NULL);
	mf_fork_thread_ended(thread);
	if (mf_session_is_active() && !mf_fork_is_newborn) {
		mf_thread_local.inside = true;
		mf_gate_close();
		mf_tally_fold(&mf_session_store);
		if (thread->depth.bytes)
			mf_stacks_change(&mf_session_store, -(int64_t)thread->depth.bytes,
					 mf_clock_now(&thread->clock));
		thread->depth.bytes = 0;
		mf_clock_end(&thread->clock);
		if (thread->has_tally)
			mf_tally_end(&mf_session_store, thread->number);
		mf_tally_grant(&mf_session_store);
		mf_gate_open();
		mf_thread_local.inside = false;
	}
	if (!try_lock())
		return; /* some KiB are lost to the next thread that looks for one */
	thread->next = ended;
	ended = thread;
	unlock();
}

static struct mf_thread *take_ended(void)
{
	struct mf_thread *thread = NULL;

	if (!try_lock())
		return NULL;
	if (!has_key)
		has_key = !pthread_key_create(&key, give_back);
	if (ended) {
		thread = ended;
		ended = thread->next;
	}
	unlock();
	return thread;
}

static struct mf_thread *make(void)
{
	static uint32_t made;
	struct mf_thread *thread = mmap(NULL, sizeof(*thread), PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (thread == MAP_FAILED)
		return NULL;
	thread->number = __atomic_fetch_add(&made, 1, __ATOMIC_RELAXED);
	thread->has_tally = thread->number < MF_SHARDS_MAX;
	if (thread->has_tally)
		thread->tally = mf_tally_of(&mf_session_store, thread->number);
	thread->made_before = __atomic_load_n(&all, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&all, &thread->made_before, thread, false,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
	return thread;
}

struct mf_thread *mf_thread_all(void)
{
	return __atomic_load_n(&all, __ATOMIC_ACQUIRE);
}

void mf_thread_frozen(void)
{
	for (struct mf_thread *thread = mf_thread_all(); thread; thread = thread->made_before)
		thread->depth.frozen = thread->depth.bytes;
}

void mf_thread_survive(struct mf_thread *own)
{
	list_lock = 0;
	ended = NULL;
	for (struct mf_thread *thread = mf_thread_all(); thread; thread = thread->made_before) {
		/* Its pages and descriptors are the parent's; this one's counter begins anew. */
		mf_clock_forget(&thread->clock);
		if (thread == own)
			continue;
		if (thread->has_tally)
			mf_tally_end(&mf_session_store, thread->number);
		thread->resizing.context = MF_CONTEXT_NONE;
		mf_stacks_drop(&mf_session_store, thread->depth.frozen);
		thread->depth = (struct mf_depth){ 0 };
		thread->next = ended;
		ended = thread;
	}
}

struct mf_thread *mf_thread_take(void)
{
	struct mf_thread *thread = mf_fork_begin();

	if (thread || !mf_session_is_active()) {
		mf_thread_set(thread);
		return thread;
	}
	thread = take_ended();
	if (!thread)
		thread = make();
	if (!thread)
		return NULL;
	if (thread->has_tally) {
		mf_gate_close();
		/* A thread that was alone may have put something off. */
		mf_tally_fold(&mf_session_store);
		mf_tally_begin(&mf_session_store, thread->number);
		thread->desk = mf_desk_of(&mf_session_store, thread->number);
		mf_tally_grant(&mf_session_store);
		mf_gate_open();
	}
	thread->counts = mf_model_of(&mf_session_store)->options.time_unit == MF_TIME_INSTRUCTIONS;
	thread->n_deferred = 0;
	thread->depth = (struct mf_depth){ .frozen = thread->depth.frozen };
	mf_stack_forget(thread);
	thread->entry = NULL;
	mf_thread_set(thread);
	if (has_key)
		pthread_setspecific(key, thread);
	return thread;
}
