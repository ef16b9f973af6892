// SPDX-License-Identifier: GPL-2.0
// Counts the program's allocations and frees.
//
// Each event is handled in two steps. First the context of its stack is found. Then the event is counted. If the
// thread's allowance (the amount by which its counters may change before the model must decide about a snapshot)
// suffices, the event is counted in the thread's own tally, in parallel with other threads. Otherwise it is counted in
// the model, with the gate closed, that is, while all other threads are kept from counting. A signal handler may
// interrupt either step and allocate: its events are kept in the thread's state until the interrupted event is complete.
//
// Optional features cost nothing in sessions that do not use them: functions of the hot path are compiled twice, once
// for any value of the session's active word (mf_session_active_word) and once for the usual value, as a constant.

#include "slowpath.h"

#include <errno.h>

#include "model/heap.h"
#include "model/ledger.h"
#include "model/model.h"
#include "model/stacks.h"
#include "model/tally.h"
#include "core/clock.h"
#include "core/fork_calls.h"
#include "core/gate.h"
#include "core/real.h"
#include "core/session.h"
#include "stack/context.h"
#include "core/thread.h"
#include "stack/verify.h"
#include "core/xstate.h"

#define MF_INLINE static inline __attribute__((always_inline))

static inline uint64_t address_of(const void *pointer)
{
	return (uint64_t)(uintptr_t)pointer;
}

/* Describes the block for the model, with the capacity that the allocator itself reports. */
static struct mf_block block_at(uint64_t address, size_t size, uint32_t context)
{
	return (struct mf_block){
		.address = address,
		.size = size,
		.capacity = mf_real_extent((const void *)(uintptr_t)address),
		.context = context,
	};
}

static void account_alloc(uint64_t address, size_t size, uint32_t context, int64_t now)
{
	struct mf_block block;

	if (__builtin_expect(!mf_session_store.header->real_capacities, 1)) {
		mf_heap_alloc(&mf_session_store, address, size, context, now);
		return;
	}
	block = block_at(address, size, context);
	mf_heap_alloc_block(&mf_session_store, &block, now);
}

/*
 * Counts a block that a client request has reported: unlike the size of an allocator's block, its size is not rounded
 * up.
 */
static void account_made(uint64_t address, size_t size, uint32_t context, int64_t now)
{
	const struct mf_block block = {
		.address = address, .size = size, .capacity = size, .context = context,
	};

	mf_heap_alloc_block(&mf_session_store, &block, now);
}

static void account_realloc(const struct mf_block *old, uint64_t address, size_t size,
			    uint32_t context, int64_t now)
{
	struct mf_block block;

	if (__builtin_expect(!mf_session_store.header->real_capacities, 1)) {
		mf_heap_realloc_end(&mf_session_store, old, address, size, context, now);
		return;
	}
	block = block_at(address, size, context);
	mf_heap_realloc_end_block(&mf_session_store, old, &block, now);
}

void mf_slowpath_lose(void)
{
	/*
	 * Count the loss only if the session memory is mapped and belongs to this process. If no session is active, the
	 * memory may be unmapped. A new forked child still has its parent's memory.
	 */
	if (!mf_session_is_active() || mf_fork_is_newborn)
		return;
	__atomic_add_fetch(&mf_session_store.header->events_lost, 1, __ATOMIC_RELAXED);
}

/*
 * Closes the gate, so that no other thread is in the middle of an event, and adds the counters of all tallies to the
 * totals. Counts one event. Returns the current time.
 */
static int64_t begin_alone(struct mf_thread *thread)
{
	mf_gate_close();
	mf_tally_fold(&mf_session_store);
	mf_session_store.header->events++;
	return mf_clock_now(&thread->private->clock);
}

static void end_alone(int64_t now)
{
	struct mf_model *model = mf_model_of(&mf_session_store);

	if (model->options.time_unit == MF_TIME_MS)
		mf_session_store.header->snapshot_due = now >= model->next_allowed;
	mf_tally_grant(&mf_session_store);
	mf_gate_open();
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
	/* An event inside one of the program's own allocation functions is part of that function's event. */
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

/*
 * Adds a free to the ledger, which counts what each stack has allocated and freed in all. @node: trie node of the stack
 * that called free(); UINT32_MAX if the session has no ledger or the trie no room for the node.
 */
static void enter_free(uint32_t node, const struct mf_block *block)
{
	if (node != UINT32_MAX)
		mf_ledger_free(&mf_session_store, node, block);
}

/* Counts the deferred events of signal handlers that interrupted the shim. */
static __attribute__((noinline)) void account_deferred(struct mf_thread *thread)
{
	bool ledger = mf_session_has(MF_SESSION_LEDGER);
	int saved = errno;

	for (uint32_t i = 0; i < thread->n_deferred; i++) {
		const struct mf_deferred *event = &thread->deferred[i];
		uint32_t context = event->is_free ? MF_CONTEXT_NONE : mf_stack_interrupted();
		uint32_t node = ledger ? mf_stack_interrupted_node() : MF_NODE_ROOT;
		int64_t now = begin_alone(thread);
		struct mf_block block;

		if (!event->is_free) {
			/* Do not ask the allocator for the block's capacity: by now the block may have been freed. */
			if (event->is_made)
				account_made(event->address, event->size, context, now);
			else
				mf_heap_alloc(&mf_session_store, event->address, event->size,
					      context, now);
			if (ledger)
				mf_ledger_alloc(&mf_session_store, context, event->size);
		} else if (mf_heap_free_block(&mf_session_store, event->address, &block, now) &&
			   ledger) {
			enter_free(node, &block);
		}
		end_alone(now);
	}
	thread->n_deferred = 0;
	errno = saved;
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
	/* The thread may be inside one of the program's own allocation functions. */
	const uint8_t outside = thread->private->nesting.n ? MF_INSIDE_OWN : 0;

	mf_thread_local.inside = outside;
	/* Test n_deferred after clearing @inside: a signal handler may have deferred an event just before. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	while (__builtin_expect(thread->n_deferred, 0) && mf_session_is_active()) {
		mf_thread_local.inside = MF_INSIDE_SHIM;
		account_deferred(thread);
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

static __attribute__((noinline)) void alloc_alone(struct mf_thread *thread, uint64_t address,
						  size_t size, uint32_t context)
{
	int saved = errno;
	int64_t now = begin_alone(thread);

	account_alloc(address, size, context, now);
	if (mf_session_has(MF_SESSION_LEDGER))
		mf_ledger_alloc(&mf_session_store, context, size);
	end_alone(now);
	errno = saved;
}

/* Adds to the counted stack bytes by how much the depth of the stack at @caller has changed since it was last measured. */
static __attribute__((noinline)) void watch_stack(struct mf_thread *thread,
						  const struct mf_registers *caller)
{
	int64_t change = mf_depth_change(thread, caller);
	bool done = false;
	int saved = errno;
	int64_t now;

	if (!change)
		return;
	if (mf_gate_enter(thread)) {
		done = advance(thread) && mf_tally_stacks(&thread->ctx, change);
		if (done)
			thread->private->depth.bytes += (uint64_t)change;
		mf_gate_leave(thread);
	}
	if (!done) {
		now = begin_alone(thread);
		/*
		 * A change of a stack's depth is not an event, but begin_alone() has counted one, so subtract it again.
		 */
		mf_session_store.header->events--;
		mf_stacks_change(&mf_session_store, change, now);
		thread->private->depth.bytes += (uint64_t)change;
		end_alone(now);
	}
	errno = saved;
}

/*
 * With --stacks=yes, counts the change of the depth of the thread's stack, in bytes. Returns whether the session counts
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
	return session & MF_SESSION_VERIFIES ? recall_stack(thread, caller) :
					       mf_stack_known(thread, caller);
}

/* Counts an allocation and calls leave(). Context: after enter(). */
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
		mf_gate_leave(thread);
	}
	if (__builtin_expect(!done, 0))
		alloc_alone(thread, address_of(pointer), size, context);
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
		mf_gate_leave(thread);
	}
	return done;
}

void mf_slowpath_made(const void *pointer, size_t size, const struct mf_registers *caller)
{
	int session = *mf_session_active_word, saved = errno;
	struct mf_thread *thread;
	uint32_t context;
	int64_t now;

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
	if (!tally_made(thread, address_of(pointer), size, context)) {
		now = begin_alone(thread);
		account_made(address_of(pointer), size, context, now);
		if (session & MF_SESSION_LEDGER)
			mf_ledger_alloc(&mf_session_store, context, size);
		end_alone(now);
	}
out:
	leave(thread);
	errno = saved;
}

static __attribute__((noinline)) void free_alone(struct mf_thread *thread, uint64_t address,
						 uint32_t node)
{
	int saved = errno;
	int64_t now = begin_alone(thread);
	struct mf_block block;

	if (mf_heap_free_block(&mf_session_store, address, &block, now) &&
	    mf_session_has(MF_SESSION_LEDGER))
		enter_free(node, &block);
	end_alone(now);
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
 * @caller is used only if an optional feature that is on in @session needs it, or if mf_thread_local.inside is not 0
 * because the thread is already inside the shim or an allocation function.
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
			enter_free(node, &block);
		mf_gate_leave(thread);
	}
	if (__builtin_expect(!done, 0))
		free_alone(thread, address_of(pointer), node);
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

/* Copies by member: reading a whole struct right after its members were written stalls the processor. */
MF_INLINE void note_resizing(struct mf_thread *thread, const struct mf_block *block)
{
	struct mf_block *resizing = &thread->private->resizing;

	__atomic_store_n(&resizing->address, block->address, __ATOMIC_RELAXED);
	__atomic_store_n(&resizing->size, block->size, __ATOMIC_RELAXED);
	__atomic_store_n(&resizing->capacity, block->capacity, __ATOMIC_RELAXED);
	__atomic_store_n(&resizing->context, block->context, __ATOMIC_RELAXED);
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
			note_resizing(thread, &state->block);
		mf_gate_leave(thread);
	}
	if (!state->known) {
		mf_gate_close();
		state->known = mf_heap_realloc_begin(&mf_session_store, address_of(old),
						     &state->block);
		if (state->known)
			note_resizing(thread, &state->block);
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
	int64_t now;

	if (!state->known)
		return;
	thread = enter();
	if (!thread)
		return;
	watch(thread, caller, *mf_session_active_word);
	if (mf_session_has(MF_SESSION_LEDGER))
		node = mf_stack_node(thread, caller);
	now = begin_alone(thread);
	/*
	 * The real function has freed the block that was to be resized. Put the block back into the table of blocks and
	 * then count its free. If another block has since been given the same address, that block's entry is removed.
	 */
	mf_heap_realloc_failed(&mf_session_store, &state->block);
	mf_heap_free(&mf_session_store, state->block.address, now);
	thread->private->resizing.context = MF_CONTEXT_NONE;
	if (mf_session_has(MF_SESSION_LEDGER))
		enter_free(node, &state->block);
	end_alone(now);
	leave(thread);
	errno = saved;
}

void mf_slowpath_realloc_left(struct mf_thread *thread, const struct mf_block *block)
{
	int64_t now = begin_alone(thread);
	struct mf_block other;
	bool is_taken = mf_blocks_find(&mf_session_store, block->address, &other);

	/* begin_alone() has counted an event. A realloc that never returned is not an event, so subtract it again. */
	mf_session_store.header->events--;
	mf_heap_realloc_failed(&mf_session_store, block);
	if (is_taken)
		mf_heap_free(&mf_session_store, block->address, now);
	if (thread->private->resizing.address == block->address)
		thread->private->resizing.context = MF_CONTEXT_NONE;
	end_alone(now);
}

static void realloc_failed(struct mf_thread *thread, const struct mf_block *block)
{
	int64_t now = begin_alone(thread);

	mf_heap_realloc_failed(&mf_session_store, block);
	thread->private->resizing.context = MF_CONTEXT_NONE;
	end_alone(now);
}

static void realloc_alone(struct mf_thread *thread, const struct mf_block *old, uint64_t address,
			  size_t size, uint32_t context, const struct mf_registers *caller)
{
	int64_t now = begin_alone(thread);

	/*
	 * If freeing the old block makes a peak, record the peak before a new context is created, because that context
	 * must not appear in the peak's tree.
	 */
	mf_heap_realloc_shrinks(&mf_session_store, old, size, now);
	if (!context) {
		end_alone(now);
		context = mf_stack_context(thread, caller);
		now = begin_alone(thread);
		/* begin_alone() was called twice for this realloc and counted an event each time. Count only one. */
		mf_session_store.header->events--;
	}
	account_realloc(old, address, size, context, now);
	if (mf_session_has(MF_SESSION_LEDGER))
		mf_ledger_realloc(&mf_session_store, context, old, size);
	thread->private->resizing.context = MF_CONTEXT_NONE;
	end_alone(now);
}

MF_ALIGNED_STACK void mf_slowpath_realloc_end(const struct mf_slowpath_realloc *state, const void *old, const void *pointer,
			  size_t size, const struct mf_registers *caller)
{
	struct mf_thread *thread;
	int saved = errno;
	bool done = false;
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
		realloc_failed(thread, &state->block);
		leave(thread);
		errno = saved;
		return;
	}
	watch(thread, caller, *mf_session_active_word);
	context = recall_stack(thread, caller);
	/*
	 * Just before a block shrinks, the total may be at a peak, which must be recorded before the new context is
	 * created.
	 */
	if (!context && size >= state->block.size)
		context = mf_stack_context(thread, caller);
	if (mf_session_has(MF_SESSION_VERIFIES))
		verify(caller, context);
	if (mf_gate_enter(thread)) {
		done = advance(thread) &&
		       mf_tally_realloc_end(&thread->ctx, &state->block, address_of(pointer), size,
					    context);
		if (done)
			thread->private->resizing.context = MF_CONTEXT_NONE;
		if (done && mf_session_has(MF_SESSION_LEDGER))
			mf_ledger_realloc(&mf_session_store, context, &state->block, size);
		mf_gate_leave(thread);
	}
	if (!done)
		realloc_alone(thread, &state->block, address_of(pointer), size, context, caller);
	leave(thread);
	errno = saved;
}

/*
 * Handles a request to resize a block at a time when new blocks are not counted. Blocks that were counted earlier remain
 * counted.
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
	int64_t now;

	/*
	 * A signal handler that interrupted the shim must not wait for the gate, because the interrupted code may have
	 * closed it.
	 */
	if (!mf_session_is_active() || mf_thread_local.inside & MF_INSIDE_SHIM)
		return;
	thread = enter();
	if (!thread)
		return;
	now = begin_alone(thread);
	/* begin_alone() has counted an event, but a request for a snapshot is not one, so undo that count. */
	mf_session_store.header->events--;
	mf_model_take(&mf_session_store, now);
	end_alone(now);
	leave(thread);
	errno = saved;
}
