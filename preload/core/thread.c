// SPDX-License-Identifier: GPL-2.0
// The shim's per-thread state, which a thread takes at its first event and gives back when it ends.

#include "thread.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "model/model.h"
#include "model/stacks.h"
#include "model/thread_table.h"
#include "model/thread_totals.h"
#include "own_memory.h"
#include "fork_calls.h"
#include "gate.h"
#include "lock.h"
#include "objects.h"
#include "seccomp.h"
#include "session.h"
#include "thread_memory.h"
#include "xstate.h"

/* Number of threads' private states in the shim's static data. If more are needed, they are mapped in chunks. */
#define PRIVATES_FIRST 256u
#define CHUNK_BYTES    65536u

__thread struct mf_thread_local mf_thread_local __attribute__((tls_model("initial-exec")));

/*
 * Protects the lists of thread states, the memory for new states, and the pthread key that notifies the shim when a
 * thread ends. This lock is taken only by threads that are inside the shim, so an event in a signal handler cannot
 * deadlock on it.
 */
static struct mf_lock list_lock;
static struct mf_thread_private *ended;
static struct mf_thread_private *all; /* list of all thread states, linked by @made_before; accessed atomically */
static pthread_key_t key;
static bool has_key;

static struct mf_thread_private first[PRIVATES_FIRST];
static struct mf_thread_private *fresh = first; /* the first of the @n_fresh states that no thread has used yet */
static uint32_t n_fresh = PRIVATES_FIRST;

/* Returns the fast path for @thread. There is none if the thread counts instructions or if calls are traced. */
static enum mf_fastpath fastpath_of(const struct mf_thread *thread)
{
	if (!thread || thread->counts || mf_session_traces)
		return MF_FASTPATH_NONE;
	return thread->shares || mf_gate_alone == &mf_gate_never_alone ? MF_FASTPATH_SHARED : MF_FASTPATH_ALONE;
}

void mf_thread_set(struct mf_thread *thread)
{
	mf_thread_local.thread = thread;
	if (mf_thread_local.shortcut != MF_FASTPATH_ENDING)
		mf_thread_local.shortcut = (uint8_t)fastpath_of(thread);
}

/*
 * Prepares the state for a new thread: sets the pointers to the tally and empties the caches. @shares: see struct
 * mf_thread.
 */
static void begin(struct mf_thread_private *private, bool shares)
{
	struct mf_thread *thread = private->thread;

	thread->private = private;
	thread->ctx = mf_tally_ctx_of(&mf_session_store, private->tally);
	thread->counts = mf_model_of(&mf_session_store)->options.time_unit == MF_TIME_INSTRUCTIONS;
	thread->shares = shares;
	thread->n_deferred = 0;
	thread->root = MF_NODE_ROOT;
	thread->entry = NULL;
	thread->memo.room = private->room;
	/*
	 * Mark the thread's caches as out of date by setting a generation other than the current one, so that they are
	 * emptied before they are first used.
	 */
	thread->generation = mf_objects_generation() - 1;
}

_Static_assert(MF_THREAD_TABLE_MAX <= UINT16_MAX, "the numbers of threads outgrew theirs");

/*
 * Gives the current thread a number in the table of threads, unless it has one. A thread that is ending takes a new state
 * for each of its last events, but keeps its number. In a sandbox, the thread's ID and name remain unknown. Context: the
 * gate is closed.
 */
static void begin_number(struct mf_thread_private *private)
{
	char name[MF_THREAD_NAME_SIZE] = "";
	int32_t tid = 0;

	if (!mf_session_store.header->counts_threads)
		return;
	if (!mf_thread_local.number) {
		if (!mf_seccomp_is_on()) {
			tid = (int32_t)syscall(SYS_gettid);
			syscall(SYS_prctl, PR_GET_NAME, name, 0, 0, 0);
		}
		mf_thread_local.number = (uint16_t)mf_thread_table_enter(&mf_session_store, tid, name);
	}
	private->self = pthread_self();
	private->number = mf_thread_local.number;
	mf_thread_totals_begin(&mf_session_store, private->tally, private->number);
}

/* Chooses the tally that is shared by the fewest threads. */
static void begin_tally(struct mf_thread_private *private)
{
	mf_gate_close();
	/*
	 * While the process has only one thread, that thread may leave a free pending, to be counted before its next
	 * event. A thread is being added now, so count any pending free.
	 */
	mf_tally_fold(&mf_session_store);
	private->tally = mf_tally_least_used(&mf_session_store);
	begin_number(private);
	mf_tally_take_over(&mf_session_store, private->tally);
	mf_tally_begin(&mf_session_store, private->tally);
	mf_tally_grant(&mf_session_store);
	mf_gate_open();
}

static void end_tally(struct mf_thread_private *private)
{
	mf_gate_close();
	mf_tally_fold(&mf_session_store);
	if (private->depth.bytes)
		mf_stacks_change(&mf_session_store, -(int64_t)private->depth.bytes,
				 mf_clock_now(&private->clock));
	private->depth.bytes = 0;
	mf_clock_end(&private->clock);
	mf_tally_end(&mf_session_store, private->tally);
	mf_thread_totals_end(&mf_session_store, private->tally);
	private->number = 0;
	mf_tally_grant(&mf_session_store);
	mf_gate_open();
}

/* Puts the current thread's state on the list of unused states. Context: the thread is inside the shim. */
static void give_back(struct mf_thread_private *private)
{
	mf_thread_set(NULL);
	private->thread->root = MF_NODE_ROOT;
	mf_fork_thread_ended(private);
	mf_exec_memory_thread_ended(&private->exec_memory);
	if (mf_session_is_active() && !mf_fork_is_newborn)
		end_tally(private);
	mf_lock_take(&list_lock);
	private->next = ended;
	ended = private;
	mf_lock_give(&list_lock);
}

/*
 * For a thread that has been cancelled in the middle of an event (PTHREAD_CANCEL_ASYNCHRONOUS), or has ended in a signal
 * handler that interrupted one. The event is incomplete, and those that were deferred until its end are lost.
 */
static void abandon_event(const struct mf_thread_private *private)
{
	if (!mf_session_is_active() || mf_fork_is_newborn)
		return;
	mf_gate_abandon(private->thread->ctx.tally);
	__atomic_add_fetch(&mf_session_store.header->events_lost, 1 + private->thread->n_deferred, __ATOMIC_RELAXED);
}

/*
 * Destructor of the pthread key, called when the thread ends. Further events are still possible, in destructors of
 * other keys and in the C library. Such an event takes a new state, but after the last round of destructors nothing
 * would release it. So from now on the thread releases its state after each event (mf_thread_release()).
 */
static void end(void *data)
{
	bool is_interrupted = mf_thread_local.inside & MF_INSIDE_SHIM;

	mf_thread_local.inside = MF_INSIDE_SHIM;
	mf_thread_local.shortcut = MF_FASTPATH_ENDING;
	if (is_interrupted)
		abandon_event(data);
	give_back(data);
	mf_xstate_thread_ended();
	mf_thread_local.inside = 0;
}

void mf_thread_release(void)
{
	struct mf_thread *thread;

	mf_thread_local.inside = MF_INSIDE_SHIM;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	/*
	 * A signal handler may have released the state already. Do not release the state while the thread is resizing a
	 * block, because the block is then recorded only in the state.
	 */
	thread = mf_thread_local.thread;
	if (thread && thread->private->resizing.context == MF_CONTEXT_NONE)
		give_back(thread->private);
	mf_thread_local.inside = 0;
}

/* Makes sure that there is an unused state, mapping another chunk if necessary. Returns false if out of memory. */
static bool find_fresh(void)
{
	void *chunk;

	if (n_fresh)
		return true;
	chunk = mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (chunk == MAP_FAILED)
		return false;
	mf_own_memory_add(CHUNK_BYTES);
	mf_own_memory_note(chunk, CHUNK_BYTES);
	/*
	 * Unlock the memory, because after mlockall(MCL_FUTURE) it would count against the program's RLIMIT_MEMLOCK.
	 * Skip this in a sandbox, which may forbid munlock() because malloc never calls it.
	 */
	if (!mf_seccomp_is_on())
		syscall(SYS_munlock, chunk, CHUNK_BYTES);
	fresh = chunk;
	n_fresh = CHUNK_BYTES / sizeof(*fresh);
	return true;
}

/* Makes a new state for a thread. Returns NULL if there is not enough memory. Context: list_lock is held. */
static struct mf_thread_private *make(void)
{
	struct mf_thread_private *private;

	if (!find_fresh())
		return NULL;
	private = fresh;
	private->thread = mf_thread_memory_take(&private->room);
	if (!private->thread)
		return NULL;
	fresh++;
	n_fresh--;
	private->made_before = all;
	__atomic_store_n(&all, private, __ATOMIC_RELEASE);
	return private;
}

static struct mf_thread_private *take_ended(void)
{
	struct mf_thread_private *private = ended;

	if (private)
		ended = private->next;
	return private;
}

/* Takes an unused thread state or makes a new one. Returns NULL if there is no memory for another state. */
static struct mf_thread_private *take(void)
{
	struct mf_thread_private *private;

	mf_lock_take(&list_lock);
	if (!has_key)
		has_key = !pthread_key_create(&key, end);
	private = take_ended();
	if (!private)
		private = make();
	mf_lock_give(&list_lock);
	return private;
}

struct mf_thread_private *mf_thread_all(void)
{
	return __atomic_load_n(&all, __ATOMIC_ACQUIRE);
}

void mf_thread_frozen(void)
{
	for (struct mf_thread_private *private = mf_thread_all(); private; private = private->made_before)
		private->depth.frozen = private->depth.bytes;
}

void mf_thread_forget(void)
{
	if (has_key)
		pthread_key_delete(key);
	has_key = false;
}

void mf_thread_reset(void)
{
	mf_lock_reset(&list_lock);
}

void mf_thread_survive(struct mf_thread_private *own, bool alone)
{
	ended = NULL;
	mf_thread_memory_clear();
	mf_tally_end_all(&mf_session_store);
	mf_thread_local.number = 0;
	for (struct mf_thread_private *private = mf_thread_all(); private; private = private->made_before) {
		/* The instruction counters belong to the parent's threads. The child's thread will open its own. */
		mf_clock_forget(&private->clock);
		if (private == own)
			continue;
		private->resizing.context = MF_CONTEXT_NONE;
		private->number = 0;
		mf_stacks_drop(&mf_session_store, private->depth.frozen);
		private->depth = (struct mf_depth){ 0 };
		private->next = ended;
		ended = private;
	}
	if (!own)
		return;
	begin_number(own);
	mf_tally_begin(&mf_session_store, own->tally);
	begin(own, !alone);
}

static struct mf_thread *take_state(void)
{
	struct mf_thread *thread = mf_fork_begin();
	struct mf_thread_private *private;

	if (thread || !mf_session_is_active()) {
		mf_thread_set(thread);
		return thread;
	}
	private = take();
	if (!private)
		return NULL;
	begin_tally(private);
	private->depth = (struct mf_depth){ .frozen = private->depth.frozen };
	private->nesting.n = 0;
	begin(private, false);
	mf_thread_set(private->thread);
	if (has_key && mf_thread_local.shortcut != MF_FASTPATH_ENDING)
		pthread_setspecific(key, private);
	return private->thread;
}

struct mf_thread *mf_thread_take(void)
{
	int saved = errno;
	struct mf_thread *thread = take_state();

	errno = saved;
	return thread;
}
