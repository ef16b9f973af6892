// SPDX-License-Identifier: GPL-2.0
// The fast path of an event.
//
// Nearly all events are alike: no special option is on, the thread is not inside the shim, it has had the same stack
// before, and the event is within the allowance (the amount by which the counters of a tally may change before the model
// must decide whether to take a snapshot). This file handles such events with as few tests as possible and no calls, so
// that few registers have to be saved. If only the stack is new, a function of this file walks it. All other events are
// passed to the slow path (slowpath.c), which starts over.
//
// A hook (hook.c) must not change the program's vector registers and may run on an unaligned stack. So this code calls
// functions outside the shim only through wrappers that handle both.

#include "fastpath.h"

#include <errno.h>

#ifdef __x86_64__

#include "model/tally.h"
#include "core/gate.h"
#include "stack/memo.h"
#include "core/objects.h"
#include "core/real.h"
#include "stack/context.h"
#include "core/thread.h"
#include "slowpath.h"
#include "stack/unwind.h"
#include "core/xstate.h"

#define MF_INLINE static inline __attribute__((always_inline))

MF_INLINE struct mf_fastpath_result result(void *pointer, bool done)
{
	return (struct mf_fastpath_result){ pointer, done };
}

static uint64_t track_deferred(const void *data, uint64_t more)
{
	mf_slowpath_deferred(mf_thread_local.thread);
	return 0;
}

static __attribute__((noinline)) struct mf_fastpath_result
account_deferred(struct mf_thread *thread, void *pointer, bool done)
{
	if (mf_thread_local.in_hook)
		mf_xstate_call(track_deferred, NULL, 0);
	else
		mf_slowpath_deferred(thread);
	return result(pointer, done);
}

/* Between enter() and leave(), the events of signal handlers are deferred. */
MF_INLINE void enter(void)
{
	mf_thread_local.inside = true;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

MF_INLINE struct mf_fastpath_result leave(struct mf_thread *thread, void *pointer, bool done)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	mf_thread_local.inside = false;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(thread->n_deferred, 0))
		return account_deferred(thread, pointer, done);
	return result(pointer, done);
}

/*
 * alloc_keeping() and free_keeping() retry an event that could not be counted, most likely because the bytes of its
 * context must first be saved for the latest detailed snapshot; these functions save them. With --peak-inaccuracy=0,
 * one event in ten needs this. Both functions are tail-called, so the caller need not save registers.
 */
static __attribute__((noinline)) struct mf_fastpath_result
alloc_keeping(struct mf_thread *thread, void *pointer, size_t size, uint32_t context, bool shared)
{
	bool done = mf_tally_alloc(&thread->ctx, (uint64_t)(uintptr_t)pointer, size, context, true);

	if (shared)
		mf_gate_leave(thread);
	return leave(thread, pointer, done);
}

static __attribute__((noinline)) struct mf_fastpath_result
free_keeping(struct mf_thread *thread, void *pointer, bool shared)
{
	struct mf_block block;
	bool done = mf_tally_free(&thread->ctx, (uint64_t)(uintptr_t)pointer, &block, true);

	if (shared)
		mf_gate_leave(thread);
	return leave(thread, pointer, done);
}

MF_INLINE struct mf_fastpath_result alloc_at(struct mf_thread *thread, uint32_t *slot, void *pointer,
					     size_t size, uint32_t context, bool shared)
{
	if (!pointer || (shared && !mf_gate_try_shared(thread->ctx.tally)))
		return leave(thread, pointer, false);
	if (__builtin_expect(!mf_tally_alloc_in(&thread->ctx, slot, (uint64_t)(uintptr_t)pointer, size,
						context, false), 0))
		return alloc_keeping(thread, pointer, size, context, shared);
	if (shared)
		mf_gate_leave(thread);
	return leave(thread, pointer, true);
}

static MF_ALIGNED_STACK uint64_t walk(const void *data, uint64_t more)
{
	int saved = errno;
	uint32_t context = mf_stack_context(mf_thread_local.thread, data);

	errno = saved;
	return context;
}

/* Finds the context of a stack that is not in the thread's memo of known stacks. */
static __attribute__((noinline)) uint32_t find_context(const struct mf_registers *caller)
{
	return (uint32_t)(mf_thread_local.in_hook ? mf_xstate_call(walk, caller, 0) : walk(caller, 0));
}

/*
 * Counts an allocation whose context was not found by the first guess. A thread's memo (memo.h) is a tree of nodes that
 * hold its earlier stacks. A table in the memo maps the caller's registers to a node; the first guess is that the
 * current stack begins with that node. @node is that node if the guess was right but several stacks in the memo begin
 * with it, and NULL if the guess was wrong.
 */
static __attribute__((noinline)) struct mf_fastpath_result
alloc_below(const struct mf_memo_node *node, uint32_t *slot, void *pointer, size_t size,
	    const void *frame, unsigned int function, bool shared)
{
	const struct mf_registers caller = mf_caller_by(frame, function);
	struct mf_thread *thread = mf_thread_local.thread;
	uint32_t context = 0;

	if (node)
		context = mf_memo_recall_below(&thread->memo, node, caller.sp);
	if (!context && mf_memo_looks(&thread->memo))
		context = mf_memo_find(&thread->memo, caller.sp, caller.pc);
	if (!context && pointer)
		context = find_context(&caller);
	return alloc_at(thread, slot, pointer, size, context, shared);
}

MF_INLINE struct mf_fastpath_result alloc_settled(struct mf_thread *thread, uint32_t *slot, void *pointer,
						  size_t size, const void *frame, unsigned int function,
						  bool shared)
{
	const struct mf_registers caller = MF_CALLER_OF(frame);
	const struct mf_memo_node *node;

	if (__builtin_expect(thread->generation != mf_objects_generation(), 0))
		return leave(thread, pointer, false);
	node = mf_memo_recall_root(&thread->memo, caller.sp, caller.pc);
	if (!node || !node->context)
		return alloc_below(node, slot, pointer, size, frame, function, shared);
	/*
	 * Forces the compiler to reload memo->score for mf_memo_note_hit(). If it kept the value tested earlier, that
	 * value would occupy a register while the stack is compared with the memo's node.
	 */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	mf_memo_note_hit(&thread->memo);
	return alloc_at(thread, slot, pointer, size, node->context, shared);
}

/*
 * Like alloc(), but for a thread with a pending free that the fastest path could not count. Tries again to count that
 * free. If necessary, first saves the bytes of the freed block's context for the latest detailed snapshot, as
 * free_keeping() does. If the free still cannot be counted, leaves the event to the slow path.
 */
static __attribute__((noinline)) struct mf_fastpath_result alloc_settling(struct mf_thread *thread,
									  void *pointer, size_t size,
									  const void *frame, unsigned int function)
{
	uint32_t *slot = mf_blocks_usual_slot(&thread->ctx.blocks, (uint64_t)(uintptr_t)pointer);

	if (!mf_tally_settle_in(&thread->ctx, thread->delayed_slot, true))
		return leave(thread, pointer, false);
	return alloc_settled(thread, slot, pointer, size, frame, function, false);
}

/*
 * Completes the thread's pending free, then counts an allocation. Frees are left pending only while the process has one
 * thread.
 */
MF_INLINE struct mf_fastpath_result alloc(void *pointer, size_t size, const void *frame, unsigned int function,
					  bool shared)
{
	struct mf_thread *thread = mf_thread_local.thread;
	uint32_t *slot = mf_blocks_usual_slot(&thread->ctx.blocks, (uint64_t)(uintptr_t)pointer);

	/*
	 * If the table of blocks is larger than the processor's caches, loading a slot of the table is slow. Prefetch
	 * the slot while the stack is being compared with known stacks.
	 */
	__builtin_prefetch(slot, 1);
	if (!shared &&
	    __builtin_expect(!mf_tally_settle_in(&thread->ctx, thread->delayed_slot, false), 0))
		return alloc_settling(thread, pointer, size, frame, function);
	return alloc_settled(thread, slot, pointer, size, frame, function, shared);
}

MF_INLINE struct mf_fastpath_result free_now(struct mf_thread *thread, void *pointer, bool shared)
{
	uint64_t address = (uint64_t)(uintptr_t)pointer;
	uint32_t *slot = mf_blocks_usual_slot(&thread->ctx.blocks, address);
	struct mf_block block;

	/* The atomic exchange of the gate delays all later loads, so prefetch the block's slot before it. */
	if (shared)
		__builtin_prefetch(slot, 1);
	if (shared && !mf_gate_try_shared(thread->ctx.tally))
		return leave(thread, pointer, false);
	if (__builtin_expect(!mf_tally_free_in(&thread->ctx, slot, address, &block, false, false), 0))
		return free_keeping(thread, pointer, shared);
	if (shared)
		mf_gate_leave(thread);
	return leave(thread, pointer, true);
}

static __attribute__((noinline)) struct mf_fastpath_result free_now_alone(struct mf_thread *thread,
									  void *pointer)
{
	return free_now(thread, pointer, false);
}

MF_INLINE struct mf_fastpath_result free_settled(struct mf_thread *thread, uint32_t *slot, void *pointer)
{
	/*
	 * Leave a block from the early arena (real.c) to the slow path: the allocator does not know about the block, so
	 * it must not be asked to free it.
	 */
	if (__builtin_expect(!slot || mf_real_is_early(pointer), 0))
		return leave(thread, pointer, false);
	if (__builtin_expect(!mf_tally_delay_free(&thread->ctx, (uint64_t)(uintptr_t)pointer), 0))
		return free_now_alone(thread, pointer);
	thread->delayed_slot = slot;
	return leave(thread, pointer, true);
}

static __attribute__((noinline)) struct mf_fastpath_result free_settling(struct mf_thread *thread,
									 void *pointer)
{
	uint32_t *slot = mf_blocks_usual_slot(&thread->ctx.blocks, (uint64_t)(uintptr_t)pointer);

	if (!mf_tally_settle_in(&thread->ctx, thread->delayed_slot, true))
		return leave(thread, pointer, false);
	return free_settled(thread, slot, pointer);
}

/* Counts a free in a single-threaded process: usually just records the block as pending and prefetches its slot. */
MF_INLINE struct mf_fastpath_result free_alone(void *pointer)
{
	struct mf_thread *thread = mf_thread_local.thread;
	uint32_t *slot = mf_blocks_usual_slot(&thread->ctx.blocks, (uint64_t)(uintptr_t)pointer);

	__builtin_prefetch(slot, 1);
	if (__builtin_expect(!mf_tally_settle_in(&thread->ctx, thread->delayed_slot, false), 0))
		return free_settling(thread, pointer);
	return free_settled(thread, slot, pointer);
}

/*
 * Returns whether MF_SESSION_ACTIVE is the only bit set in the session's active word, so that no optional feature is
 * on. Check this only after enter(). Before that, a signal handler may fork, and the child would return to this
 * thread's code with a different session, or none.
 */
MF_INLINE bool is_plain(void)
{
	return __builtin_expect(*mf_session_active_word == MF_SESSION_ACTIVE, 1);
}

MF_INLINE bool is_alone(void)
{
	return mf_thread_local.shortcut == MF_FASTPATH_ALONE && *mf_gate_alone;
}

/* A thread whose fast path is still MF_FASTPATH_ALONE takes the slow path, which sets it to MF_FASTPATH_SHARED. */
static bool is_shared(void)
{
	return is_plain() && mf_thread_local.shortcut == MF_FASTPATH_SHARED;
}

static struct mf_fastpath_result give_up(void *pointer)
{
	if (mf_thread_local.thread)
		return leave(mf_thread_local.thread, pointer, false);
	mf_thread_local.inside = false;
	return result(pointer, false);
}

/*
 * Counts an allocation in a process with several threads. A separate function, so that it does not slow down the path
 * for a single thread.
 */
static __attribute__((noinline)) struct mf_fastpath_result alloc_shared(void *pointer, size_t size,
									const void *frame, unsigned int function)
{
	return is_shared() ? alloc(pointer, size, frame, function, true) : give_up(pointer);
}

static __attribute__((noinline)) struct mf_fastpath_result free_shared(void *pointer)
{
	return is_shared() ? free_now(mf_thread_local.thread, pointer, true) : give_up(pointer);
}

struct mf_fastpath_result mf_fastpath_alloc(void *pointer, size_t size, const void *frame, unsigned int function)
{
	if (__builtin_expect(mf_thread_local.inside, 0))
		return result(pointer, false);
	enter();
	if (__builtin_expect(is_plain() && is_alone(), 1))
		return alloc(pointer, size, frame, function, false);
	return alloc_shared(pointer, size, frame, function);
}

struct mf_fastpath_result mf_fastpath_free(void *pointer)
{
	if (__builtin_expect(mf_thread_local.inside, 0))
		return result(pointer, false);
	enter();
	if (__builtin_expect(is_plain() && is_alone(), 1))
		return free_alone(pointer);
	return free_shared(pointer);
}

bool mf_fastpath_may_realloc(const void *old)
{
	if (__builtin_expect(mf_thread_local.inside, 0))
		return false;
	enter();
	if (!is_plain() || !is_alone())
		return give_up(NULL).done;
	mf_blocks_prefetch(&mf_thread_local.thread->ctx.blocks, (uint64_t)(uintptr_t)old);
	return leave(mf_thread_local.thread, NULL, true).done;
}

/* Removes the block from the table of blocks and inserts it again with its new size and address. */
MF_INLINE bool resize(const struct mf_tally_ctx *ctx, const void *old, const void *pointer, size_t size,
		      uint32_t context)
{
	struct mf_block block;

	if (!mf_tally_realloc_begin(ctx, (uint64_t)(uintptr_t)old, &block))
		return false;
	if (mf_tally_realloc_end(ctx, &block, (uint64_t)(uintptr_t)pointer, size, context))
		return true;
	mf_blocks_put_usual(ctx->store, &block);
	return false;
}

struct mf_fastpath_result mf_fastpath_realloc(const void *old, void *pointer, size_t size,
					      const void *frame)
{
	const struct mf_registers caller = MF_CALLER_OF(frame);
	struct mf_thread *thread;
	uint32_t context = 0;

	if (__builtin_expect(mf_thread_local.inside, 0))
		return result(pointer, false);
	enter();
	if (!is_plain() || !is_alone())
		return give_up(pointer);
	thread = mf_thread_local.thread;
	if (!pointer || thread->generation != mf_objects_generation() ||
	    !mf_tally_settle_in(&thread->ctx, thread->delayed_slot, true))
		return leave(thread, pointer, false);
	context = mf_memo_recall(&thread->memo, caller.sp, caller.pc);
	if (!context && mf_memo_looks(&thread->memo))
		context = mf_memo_find(&thread->memo, caller.sp, caller.pc);
	/*
	 * If the memo does not know the stack, leave the event to the slow path. Do not walk the stack here, because
	 * that may create a context. If the total is at a peak just before the old block is freed, the peak must be
	 * recorded first, since its tree must not contain the new context.
	 */
	return leave(thread, pointer, context && resize(&thread->ctx, old, pointer, size, context));
}

#endif
