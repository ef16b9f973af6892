// SPDX-License-Identifier: GPL-2.0
// Counts the program's allocations and frees.
//
// Each event is handled in two steps. First the context of its stack is found. Then the event is counted. If the
// thread's allowance (the amount by which its counters may change before the model must decide about a snapshot)
// suffices, the event is counted in the thread's own tally, in parallel with other threads. Otherwise it is counted in
// the model, while all other threads are kept from counting (exclusive.h). A signal handler may interrupt either step
// and allocate: its events are kept in the thread's state until the interrupted event is complete.
//
// Optional features cost nothing in sessions that do not use them: functions of the hot path are compiled twice, once
// for any value of the session's active word (mf_session_active_word) and once for the usual value, as a constant.

#include "slowpath.h"

#include <errno.h>

#include "model/details.h"
#include "model/heap.h"
#include "model/ledger.h"
#include "model/model.h"
#include "model/tally.h"
#include "core/fork_calls.h"
#include "core/gate.h"
#include "core/session.h"
#include "stack/context.h"
#include "core/thread.h"
#include "stack/verify.h"
#include "core/xstate.h"
#include "exclusive.h"

#define MF_INLINE static inline __attribute__((always_inline))

static inline uint64_t address_of(const void *pointer)
{
	return (uint64_t)(uintptr_t)pointer;
}

void mf_slowpath_lose(void)
{
	/*
	 * Count the loss only if the session memory is mapped and belongs to this process. If no session is active, the
	 * memory may not be mapped. A newly forked child still has its parent's memory.
	 */
	if (!mf_session_is_active() || mf_fork_is_newborn)
		return;
	__atomic_add_fetch(&mf_session_store.header->events_lost, 1, __ATOMIC_RELAXED);
}

/*
 * Absorbs an event inside an operator new or delete of the C++ library: only the operator is counted. If the allocation
 * failed (@pointer is NULL), the operator's remaining events are counted as usual.
 */
static __attribute__((noinline)) void absorb(const void *pointer)
{
	mf_thread_local.is_absorbed = pointer != NULL;
	mf_thread_local.inside &= (uint8_t)~MF_INSIDE_LIBRARY;
}

static void defer(const void *pointer, struct mf_deferred event)
{
	struct mf_thread *thread = mf_thread_local.thread;
	uint32_t n = thread ? thread->n_deferred : MF_DEFERRED_MAX;

	if (mf_session_has(MF_SESSION_NO_HEAP))
		return;
	if (n == MF_DEFERRED_MAX) {
		mf_slowpath_lose();
		return;
	}
	event.address = address_of(pointer);
	thread->deferred[n] = event;
	thread->n_deferred = n + 1;
}

/*
 * Returns whether the event of @caller is nested. Allocates the thread's state first if necessary, for example in a
 * child that was forked inside an allocation function of the program.
 */
static bool is_nested(const struct mf_registers *caller)
{
	struct mf_thread *thread = mf_thread_local.thread;
	uint8_t inside = mf_thread_local.inside;

	if (!thread && !(inside & MF_INSIDE_SHIM)) {
		mf_thread_local.inside = inside | MF_INSIDE_SHIM;
		thread = mf_thread_get();
		mf_thread_local.inside = inside;
	}
	return thread && (mf_nesting_recalls(&thread->private->nesting, caller) || mf_nesting_search(thread, caller));
}

MF_ALIGNED_STACK bool mf_slowpath_is_nested(const void *frame)
{
	const struct mf_registers caller = MF_CALLER_OF(frame);

	return mf_thread_local.inside & MF_INSIDE_OWN && mf_session_is_active() && is_nested(&caller);
}

/*
 * Called if any bit of mf_thread_local.inside is set. Returns true if @event must not be counted now, for one of three
 * reasons: the thread is in the shim, so the event is deferred; the event belongs to a call of the C++ library's
 * operator new or delete; or it is nested in the event of one of the program's own allocation functions.
 */
static __attribute__((noinline)) bool defer_or_absorb(const void *pointer, struct mf_deferred event,
						      const struct mf_registers *caller)
{
	/*
	 * An event inside one of the program's own allocation functions is not counted separately, because that
	 * function's own event covers it.
	 */
	if (mf_thread_local.inside & MF_INSIDE_OWN && is_nested(caller))
		return true;
	if (mf_slowpath_is_absorbing())
		absorb(pointer);
	else if (mf_thread_local.inside & MF_INSIDE_SHIM)
		defer(pointer, event);
	else
		return false;
	return true;
}

bool mf_slowpath_absorb(void)
{
	if (!mf_session_is_active() || mf_thread_local.inside)
		return false;
	mf_thread_local.is_absorbed = false;
	mf_thread_local.inside = MF_INSIDE_LIBRARY;
	return true;
}

bool mf_slowpath_absorbed(void)
{
	bool absorbed = mf_thread_local.is_absorbed || mf_slowpath_is_absorbing();

	mf_thread_local.is_absorbed = false;
	mf_thread_local.inside &= (uint8_t)~MF_INSIDE_LIBRARY;
	return absorbed;
}

/* Counts the thread's pending free. Called before the thread's next event is counted. */
static __attribute__((noinline)) void settle(struct mf_thread *thread)
{
	int saved = errno;
	bool done = false;

	if (mf_gate_enter(thread)) {
		done = mf_tally_settle(&thread->ctx, true);
		mf_gate_leave(thread);
	}
	if (!done) {
		mf_gate_close();
		mf_tally_fold(&mf_session_store);
		mf_tally_grant(&mf_session_store);
		mf_gate_open();
	}
	errno = saved;
}

/*
 * From now until leave(), the thread's further events are deferred. Returns NULL if the thread has no state (see
 * mf_thread_take()); the event is then lost, and leave() must not be called.
 */
static inline struct mf_thread *enter(void)
{
	struct mf_thread *thread;

	mf_thread_local.inside = MF_INSIDE_SHIM;
	thread = mf_thread_get();
	if (__builtin_expect(!thread, 0)) {
		mf_thread_local.inside = 0;
		mf_slowpath_lose();
	} else if (thread->ctx.tally->delayed_free) {
		settle(thread);
	}
	return thread;
}

static inline void leave(struct mf_thread *thread)
{
	/*
	 * If the thread may still be inside one of the program's own allocation functions, set MF_INSIDE_OWN, so that
	 * the next event is not counted if it is nested in that function's event.
	 */
	const uint8_t outside = thread->private->nesting.n ? MF_INSIDE_OWN : 0;

	mf_thread_local.inside = outside;
	/* Test n_deferred after clearing @inside: a signal handler may have deferred an event just before. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	while (__builtin_expect(thread->n_deferred, 0) && mf_session_is_active()) {
		mf_thread_local.inside = MF_INSIDE_SHIM;
		mf_exclusive_deferred(thread);
		mf_thread_local.inside = outside;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
	}
	if (__builtin_expect(mf_thread_local.shortcut == MF_FASTPATH_ENDING && !outside, 0))
		mf_thread_release();
}

/*
 * If the time unit is instructions, advances the clock by the number of instructions that the thread has executed since
 * its last event. Returns false if that exceeds the allowance of the thread's tally, that is, if the model must decide
 * whether to take a snapshot. The caller must then give the event to the model and not count it in the tally.
 * Context: between mf_gate_enter() and mf_gate_leave().
 */
static inline bool advance(struct mf_thread *thread)
{
	return __builtin_expect(!thread->counts, 1) ||
	       mf_tally_advance(thread->ctx.tally, mf_clock_advance(&thread->private->clock));
}

/*
 * Finds the context of a stack that is not in the thread's memo. This takes a while, so the block's slot in the table
 * of blocks is prefetched first.
 */
static __attribute__((noinline)) uint32_t find_context(struct mf_thread *thread,
						       const struct mf_registers *caller,
						       const void *pointer)
{
	int saved = errno;
	uint32_t context;

	mf_blocks_prefetch(&thread->ctx.blocks, address_of(pointer));
	context = mf_stack_context(thread, caller);

	errno = saved;
	return context;
}

static __attribute__((noinline)) void verify(const struct mf_registers *caller, uint32_t context)
{
	int saved = errno;

	if (context >= MF_CONTEXT_FIRST)
		mf_verify_stack(caller, context);
	errno = saved;
}

/* Measures the stack's depth at @caller, and adds its change since the last measurement to the counted stack bytes. */
static __attribute__((noinline)) void watch_stack(struct mf_thread *thread,
						  const struct mf_registers *caller)
{
	int64_t change = mf_depth_change(thread, caller);
	bool done = false;
	int saved = errno;

	if (!change)
		return;
	if (mf_gate_enter(thread)) {
		done = advance(thread) && mf_tally_stacks(&thread->ctx, change);
		if (done)
			thread->private->depth.bytes += (uint64_t)change;
		mf_gate_leave(thread);
	}
	if (!done) {
		mf_exclusive_stacks(thread, change);
		thread->private->depth.bytes += (uint64_t)change;
	}
	errno = saved;
}

/*
 * With --stacks=yes, counts the change in the depth of the thread's stack, in bytes. Returns whether the session counts
 * blocks.
 */
MF_INLINE bool watch(struct mf_thread *thread, const struct mf_registers *caller, int session)
{
	if (session & MF_SESSION_STACKS)
		watch_stack(thread, caller);
	return !(session & MF_SESSION_NO_HEAP);
}

/* Returns the context of a stack that the thread has seen before, or 0 if the stack is new. */
MF_INLINE uint32_t recall_stack(struct mf_thread *thread, const struct mf_registers *caller)
{
	uint32_t context = 0;

	if (__builtin_expect(thread->generation == mf_objects_generation(), 1))
		context = mf_memo_recall(&thread->memo, caller->sp, caller->pc);
	return context ? context : mf_stack_known(thread, caller);
}

/*
 * Returns the context of the caller's stack if the stack is known. In a session that verifies stacks, first tries the
 * stacks that the memo predicts, as recall_stack() does, so that the predictions are verified, too. Other sessions skip
 * this: without optional features (is_plain() in fastpath.c), the fast path has usually tried the predictions already.
 */
MF_INLINE uint32_t known_stack(struct mf_thread *thread, const struct mf_registers *caller, int session)
{
	return session & (MF_SESSION_VERIFIES | MF_SESSION_DETAILS) ? recall_stack(thread, caller) :
								      mf_stack_known(thread, caller);
}

static struct mf_detail_place place_of(const struct mf_thread *thread)
{
	return (struct mf_detail_place){ .shard = thread->ctx.number, .tally = thread->ctx.number };
}

/* Counts the details of an allocation that the thread's tally has counted. */
static void detail_alloc(struct mf_thread *thread, uint32_t context, uint64_t address, size_t size)
{
	thread->ctx.tally->allocations++;
	mf_details_alloc(&mf_session_store, place_of(thread), context, address, size);
}

/*
 * Counts an allocation, and then marks the thread as no longer inside the shim by calling leave().
 * Context: enter() has marked the thread as inside the shim.
 */
MF_INLINE void account(struct mf_thread *thread, const void *pointer, size_t size,
		       const struct mf_registers *caller, int session)
{
	uint32_t context = known_stack(thread, caller, session);
	bool done = false;

	if (!context)
		context = find_context(thread, caller, pointer);
	if (session & MF_SESSION_VERIFIES)
		verify(caller, context);
	if (mf_gate_enter(thread)) {
		done = advance(thread) &&
		       mf_tally_alloc(&thread->ctx, address_of(pointer), size, context, true);
		if (session & MF_SESSION_LEDGER && done)
			mf_ledger_alloc(&mf_session_store, context, size);
		if (session & MF_SESSION_DETAILS && done)
			detail_alloc(thread, context, address_of(pointer), size);
		mf_gate_leave(thread);
	}
	if (__builtin_expect(!done, 0))
		mf_exclusive_alloc(thread, address_of(pointer), size, context);
	leave(thread);
}

MF_ALIGNED_STACK void mf_slowpath_deferred(struct mf_thread *thread)
{
	leave(thread);
}

MF_INLINE void track_alloc(const void *pointer, size_t size, const struct mf_registers *caller,
			   int session)
{
	struct mf_thread *thread;

	if (__builtin_expect(mf_thread_local.inside, 0) &&
	    defer_or_absorb(pointer, (struct mf_deferred){ .size = size }, caller))
		return;
	thread = enter();
	if (!thread)
		return;
	if (!watch(thread, caller, session)) {
		leave(thread);
		return;
	}
	account(thread, pointer, size, caller, session);
}

static __attribute__((noinline)) void track_alloc_watched(const void *pointer, size_t size,
							  const struct mf_registers *caller,
							  int session)
{
	track_alloc(pointer, size, caller, session);
}

MF_ALIGNED_STACK void mf_slowpath_alloc(const void *pointer, size_t size, const struct mf_registers *caller)
{
	int session = *mf_session_active_word;

	if (!pointer) {
		if (mf_slowpath_is_absorbing())
			absorb(NULL);
		return;
	}
	if (__builtin_expect(session == MF_SESSION_ACTIVE, 1))
		track_alloc(pointer, size, caller, MF_SESSION_ACTIVE);
	else if (session && !(session & MF_SESSION_STOPPED))
		track_alloc_watched(pointer, size, caller, session);
}

static bool tally_made(struct mf_thread *thread, uint64_t address, size_t size, uint32_t context)
{
	bool done = false;

	/*
	 * The tally rounds sizes up as an allocator does, but blocks from client requests are counted with their exact
	 * size.
	 */
	if (mf_blocks_capacity(size, mf_model_of(&mf_session_store)->options.alignment) != size)
		return false;
	if (mf_gate_enter(thread)) {
		done = advance(thread) && mf_tally_alloc(&thread->ctx, address, size, context, true);
		if (done && mf_session_has(MF_SESSION_LEDGER))
			mf_ledger_alloc(&mf_session_store, context, size);
		if (done && mf_session_has(MF_SESSION_DETAILS))
			detail_alloc(thread, context, address, size);
		mf_gate_leave(thread);
	}
	return done;
}

void mf_slowpath_made(const void *pointer, size_t size, const struct mf_registers *caller)
{
	int session = *mf_session_active_word, saved = errno;
	struct mf_thread *thread;
	uint32_t context;

	/* Ignore sizes that no block can have. Massif crashes on such a size. */
	if (!pointer || size > SIZE_MAX / 2 || !session || session & MF_SESSION_STOPPED)
		return;
	if (mf_thread_local.inside &&
	    defer_or_absorb(pointer, (struct mf_deferred){ .size = size, .is_made = true }, caller))
		return;
	thread = enter();
	if (!thread)
		return;
	if (!watch(thread, caller, session))
		goto out;
	thread->entry = NULL;
	context = mf_stack_known(thread, caller);
	if (!context)
		context = mf_stack_context(thread, caller);
	if (!tally_made(thread, address_of(pointer), size, context))
		mf_exclusive_made(thread, address_of(pointer), size, context);
out:
	leave(thread);
	errno = saved;
}

static __attribute__((noinline)) uint32_t find_node(struct mf_thread *thread,
						    const struct mf_registers *caller)
{
	int saved = errno;
	uint32_t node = mf_stack_node(thread, caller);

	errno = saved;
	return node;
}

/*
 * @caller is used only if an optional feature that is enabled in @session needs it, or if mf_thread_local.inside is not
 * 0 because the thread is already inside the shim or an allocation function.
 */
MF_INLINE void track_free(const void *pointer, const struct mf_registers *caller, int session)
{
	uint32_t node = UINT32_MAX;
	struct mf_thread *thread;
	struct mf_block block;
	bool done = false;

	if (__builtin_expect(mf_thread_local.inside, 0) &&
	    defer_or_absorb(pointer, (struct mf_deferred){ .is_free = true }, caller))
		return;
	thread = enter();
	if (!thread)
		return;
	if (!watch(thread, caller, session)) {
		leave(thread);
		return;
	}
	if (session & MF_SESSION_LEDGER)
		node = find_node(thread, caller);
	if (mf_gate_enter(thread)) {
		done = advance(thread) &&
		       mf_tally_free(&thread->ctx, address_of(pointer), &block, true);
		if (session & MF_SESSION_LEDGER && done)
			mf_ledger_free(&mf_session_store, node, &block);
		if (session & MF_SESSION_DETAILS && done)
			mf_details_free(&mf_session_store, place_of(thread), &block);
		mf_gate_leave(thread);
	}
	if (__builtin_expect(!done, 0))
		mf_exclusive_free(thread, address_of(pointer), node);
	leave(thread);
}

static __attribute__((noinline)) void track_free_watched(const void *pointer,
							 const struct mf_registers *caller,
							 int session)
{
	track_free(pointer, caller, session);
}

MF_ALIGNED_STACK void mf_slowpath_free(const void *pointer, const void *frame)
{
	int session = *mf_session_active_word;

	if (!pointer)
		return;
	if (__builtin_expect(session == MF_SESSION_ACTIVE && !mf_thread_local.inside, 1))
		track_free(pointer, NULL, MF_SESSION_ACTIVE);
	else if (session)
		track_free_watched(pointer, &MF_CALLER_OF(frame), session);
}

MF_ALIGNED_STACK void mf_slowpath_free_at(const void *pointer, const struct mf_registers *caller)
{
	int session = *mf_session_active_word;

	if (pointer && session)
		track_free_watched(pointer, caller, session);
}

/* Copies member by member: reading a whole struct right after its members have been written stalls the processor. */
MF_INLINE void note_resizing(struct mf_thread *thread, const struct mf_block *block)
{
	struct mf_block *resizing = &thread->private->resizing;

	__atomic_store_n(&resizing->address, block->address, __ATOMIC_RELAXED);
	__atomic_store_n(&resizing->size, block->size, __ATOMIC_RELAXED);
	__atomic_store_n(&resizing->capacity, block->capacity, __ATOMIC_RELAXED);
	__atomic_store_n(&resizing->context, block->context, __ATOMIC_RELAXED);
}

/*
 * Notes that the block is not in the table of blocks while it is being resized. @shard: the shard in which its details
 * may be changed.
 */
MF_INLINE void begin_resizing(struct mf_thread *thread, struct mf_slowpath_realloc *state, uint32_t shard)
{
	note_resizing(thread, &state->block);
	if (mf_session_has(MF_SESSION_DETAILS))
		state->life = mf_details_end_life(&mf_session_store, shard, &state->block);
}

MF_ALIGNED_STACK void mf_slowpath_realloc_begin(struct mf_slowpath_realloc *state, const void *old,
					     const struct mf_registers *caller)
{
	struct mf_thread *thread;
	int saved = errno;

	state->known = false;
	if (!mf_session_is_active())
		return;
	if (mf_thread_local.inside && defer_or_absorb(old, (struct mf_deferred){ .is_free = true }, caller))
		return;
	thread = enter();
	if (!thread)
		return;
	if (mf_gate_enter(thread)) {
		state->known = mf_tally_realloc_begin(&thread->ctx, address_of(old),
						      &state->block);
		if (state->known)
			begin_resizing(thread, state, thread->ctx.number);
		mf_gate_leave(thread);
	}
	if (!state->known) {
		mf_gate_close();
		state->known = mf_heap_realloc_begin(&mf_session_store, address_of(old),
						     &state->block);
		if (state->known)
			begin_resizing(thread, state, 0);
		mf_gate_open();
	}
	leave(thread);
	errno = saved;
}

bool mf_slowpath_realloc_zero_keeps(void)
{
	return mf_session_is_active() && mf_session_store.header->realloc_zero_keeps;
}

MF_ALIGNED_STACK void mf_slowpath_realloc_freed(const struct mf_slowpath_realloc *state, const struct mf_registers *caller)
{
	uint32_t node = UINT32_MAX;
	struct mf_thread *thread;
	int saved = errno;

	if (!state->known)
		return;
	thread = enter();
	if (!thread)
		return;
	watch(thread, caller, *mf_session_active_word);
	if (mf_session_has(MF_SESSION_LEDGER))
		node = mf_stack_node(thread, caller);
	mf_exclusive_realloc_freed(thread, &state->block, state->life, node);
	leave(thread);
	errno = saved;
}

MF_ALIGNED_STACK void mf_slowpath_realloc_end(const struct mf_slowpath_realloc *state, const void *old, const void *pointer,
			  size_t size, const struct mf_registers *caller)
{
	struct mf_thread *thread;
	bool done = false, was_last;
	int saved = errno;
	uint32_t context;

	if (!state->known) {
		/* Count the result as a new block if the old block was not counted. */
		mf_slowpath_alloc(pointer, size, caller);
		return;
	}
	thread = enter();
	if (!thread)
		return;
	if (!pointer) {
		mf_exclusive_realloc_failed(thread, &state->block, state->life);
		leave(thread);
		errno = saved;
		return;
	}
	watch(thread, caller, *mf_session_active_word);
	context = recall_stack(thread, caller);
	/*
	 * If the block shrinks, do not create a context for its new stack yet: the current total may be a peak.
	 * mf_exclusive_realloc() records the peak first, because the new context must not appear in its tree.
	 */
	if (!context && size >= state->block.size)
		context = mf_stack_context(thread, caller);
	if (mf_session_has(MF_SESSION_VERIFIES))
		verify(caller, context);
	if (mf_gate_enter(thread)) {
		was_last = mf_session_has(MF_SESSION_DETAILS) && thread->ctx.tally->last_alloc == state->block.address;
		done = advance(thread) &&
		       mf_tally_realloc_end(&thread->ctx, &state->block, address_of(pointer), size,
					    context);
		if (done)
			thread->private->resizing.context = MF_CONTEXT_NONE;
		if (done && mf_session_has(MF_SESSION_LEDGER))
			mf_ledger_realloc(&mf_session_store, context, &state->block, size);
		if (done && mf_session_has(MF_SESSION_DETAILS)) {
			mf_details_end_age(&mf_session_store, place_of(thread), &state->block, state->life.born, was_last);
			detail_alloc(thread, context, address_of(pointer), size);
			mf_details_leave(&mf_session_store, thread->ctx.number, state->block.context);
		}
		mf_gate_leave(thread);
	}
	if (!done)
		mf_exclusive_realloc(thread, &state->block, state->life, address_of(pointer), size, context,
				     caller);
	leave(thread);
	errno = saved;
}

/*
 * Handles a request to resize a block while the counting of new blocks is turned off. A block that was counted earlier
 * remains counted, now with its new size.
 */
static void resize_while_stopped(const void *pointer, size_t size,
				 const struct mf_registers *caller)
{
	struct mf_slowpath_realloc state;

	if (!pointer || mf_thread_local.inside)
		return;
	mf_slowpath_realloc_begin(&state, pointer, caller);
	if (state.known)
		mf_slowpath_realloc_end(&state, pointer, pointer, size, caller);
}

void mf_slowpath_resized(const void *pointer, size_t size, const struct mf_registers *caller)
{
	if (*mf_session_active_word & MF_SESSION_STOPPED) {
		resize_while_stopped(pointer, size, caller);
		return;
	}
	mf_slowpath_free_at(pointer, caller);
	mf_slowpath_made(pointer, size, caller);
}

void mf_slowpath_snapshot(void)
{
	struct mf_thread *thread;
	int saved = errno;

	/*
	 * A signal handler that interrupted the shim must not wait for the gate, because the interrupted code may have
	 * closed it.
	 */
	if (!mf_session_is_active() || mf_thread_local.inside & MF_INSIDE_SHIM)
		return;
	thread = enter();
	if (!thread)
		return;
	mf_exclusive_snapshot(thread);
	leave(thread);
	errno = saved;
}
