// SPDX-License-Identifier: GPL-2.0
// The short way of an event.
//
// Nearly all events are alike: the session is a plain one, the thread is not inside, its stack is one
// of those that it had last, and the allowance suffices. What these take is all that is here: as few
// tests as can be, and no call, so that few registers have to be saved. A stack that is not known is walked
// from here, too. Whatever is otherwise goes the complete way (track.c), which begins at the beginning.
//
// A hook (hook.c) must not change the program's vector registers, nor rely on an aligned stack. So what is here
// calls nothing outside the shim but by functions that see to both.

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

/* Between the two, a signal handler's events wait. */
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
 * The same once more, for a context that has to keep its bytes for the newest capture before they change:
 * with an exact peak that is one event in ten. They end the way of who calls them, which need not save
 * anything for that.
 */
static __attribute__((noinline)) struct mf_fastpath_result
alloc_keeping(struct mf_thread *thread, void *pointer, size_t size, uint32_t context, bool shared)
{
	bool done = mf_tally_alloc(&thread->desk, (uint64_t)(uintptr_t)pointer, size, context, true);

	if (shared)
		mf_gate_leave(thread);
	return leave(thread, pointer, done);
}

static __attribute__((noinline)) struct mf_fastpath_result
free_keeping(struct mf_thread *thread, void *pointer, bool shared)
{
	struct mf_block block;
	bool done = mf_tally_free(&thread->desk, (uint64_t)(uintptr_t)pointer, &block, true);

	if (shared)
		mf_gate_leave(thread);
	return leave(thread, pointer, done);
}

MF_INLINE struct mf_fastpath_result alloc_at(struct mf_thread *thread, uint32_t *slot, void *pointer,
					     size_t size, uint32_t context, bool shared)
{
	if (!pointer || (shared && !mf_gate_try_shared(thread->desk.tally)))
		return leave(thread, pointer, false);
	if (__builtin_expect(!mf_tally_alloc_in(&thread->desk, slot, (uint64_t)(uintptr_t)pointer, size,
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

/* One that is not known. The block's slot comes into the cache meanwhile. */
static __attribute__((noinline)) uint32_t find_context(const struct mf_registers *caller)
{
	return (uint32_t)(mf_thread_local.in_hook ? mf_xstate_call(walk, caller, 0) : walk(caller, 0));
}

/* Several stacks begin as this one, as far as @node; or, if there is none, others. */
static __attribute__((noinline)) struct mf_fastpath_result
alloc_below(const struct mf_memo_node *node, uint32_t *slot, void *pointer, size_t size,
	    const void *frame, bool shared)
{
	const struct mf_registers caller = MF_CALLER_OF(frame);
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
						  size_t size, const void *frame, bool shared)
{
	const struct mf_registers caller = MF_CALLER_OF(frame);
	const struct mf_memo_node *node;

	if (__builtin_expect(thread->generation != mf_objects_generation(), 0))
		return leave(thread, pointer, false);
	node = mf_memo_recall_root(&thread->memo, caller.sp, caller.pc);
	if (!node || !node->context)
		return alloc_below(node, slot, pointer, size, frame, shared);
	/* The score is not worth a register meanwhile. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	mf_memo_note_hit(&thread->memo);
	return alloc_at(thread, slot, pointer, size, node->context, shared);
}

/* The same when what was put off needs more than the usual. */
static __attribute__((noinline)) struct mf_fastpath_result alloc_settling(struct mf_thread *thread,
									  void *pointer, size_t size,
									  const void *frame)
{
	uint32_t *slot = mf_blocks_usual_slot(&thread->desk.blocks, (uint64_t)(uintptr_t)pointer);

	if (!mf_tally_settle_in(&thread->desk, thread->put_off, true))
		return leave(thread, pointer, false);
	return alloc_settled(thread, slot, pointer, size, frame, false);
}

/* What the thread's last event has put off comes first; where there are others, nothing was. */
MF_INLINE struct mf_fastpath_result alloc(void *pointer, size_t size, const void *frame, bool shared)
{
	struct mf_thread *thread = mf_thread_local.thread;
	uint32_t *slot = mf_blocks_usual_slot(&thread->desk.blocks, (uint64_t)(uintptr_t)pointer);

	/* Of a heap larger than the caches it is far away. It comes while the stack is compared. */
	__builtin_prefetch(slot, 1);
	if (!shared &&
	    __builtin_expect(!mf_tally_settle_in(&thread->desk, thread->put_off, false), 0))
		return alloc_settling(thread, pointer, size, frame);
	return alloc_settled(thread, slot, pointer, size, frame, shared);
}

MF_INLINE struct mf_fastpath_result free_now(struct mf_thread *thread, void *pointer, bool shared)
{
	uint64_t address = (uint64_t)(uintptr_t)pointer;
	uint32_t *slot = mf_blocks_usual_slot(&thread->desk.blocks, address);
	struct mf_block block;

	/* No load that comes after the gate's exchange is begun before that has ended. */
	if (shared)
		__builtin_prefetch(slot, 1);
	if (shared && !mf_gate_try_shared(thread->desk.tally))
		return leave(thread, pointer, false);
	if (__builtin_expect(!mf_tally_free_in(&thread->desk, slot, address, &block, false, false), 0))
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
	/* That of the early arena is no block of the allocator's. */
	if (__builtin_expect(!slot || mf_real_is_early(pointer), 0))
		return leave(thread, pointer, false);
	if (__builtin_expect(!mf_tally_put_off(&thread->desk, (uint64_t)(uintptr_t)pointer), 0))
		return free_now_alone(thread, pointer);
	thread->put_off = slot;
	return leave(thread, pointer, true);
}

static __attribute__((noinline)) struct mf_fastpath_result free_settling(struct mf_thread *thread,
									 void *pointer)
{
	uint32_t *slot = mf_blocks_usual_slot(&thread->desk.blocks, (uint64_t)(uintptr_t)pointer);

	if (!mf_tally_settle_in(&thread->desk, thread->put_off, true))
		return leave(thread, pointer, false);
	return free_settled(thread, slot, pointer);
}

/* Of a thread that is alone: mostly it only says which block is free, and has its slot fetched. */
MF_INLINE struct mf_fastpath_result free_alone(void *pointer)
{
	struct mf_thread *thread = mf_thread_local.thread;
	uint32_t *slot = mf_blocks_usual_slot(&thread->desk.blocks, (uint64_t)(uintptr_t)pointer);

	__builtin_prefetch(slot, 1);
	if (__builtin_expect(!mf_tally_settle_in(&thread->desk, thread->put_off, false), 0))
		return free_settling(thread, pointer);
	return free_settled(thread, slot, pointer);
}

/*
 * All of this is asked once the thread is inside: a signal handler that comes before may fork, and then
 * it is another session that it returns to, or none.
 */
MF_INLINE bool is_plain(void)
{
	return __builtin_expect(*mf_session_active_word == MF_SESSION_ACTIVE, 1);
}

/* Whether that is so is told by the C library, of which the thread knows that it can. */
MF_INLINE bool is_alone(void)
{
	return mf_thread_local.shortcut == MF_SHORTCUT_ALONE && __libc_single_threaded;
}

/* A thread that was alone and is not any more learns it on the complete way. */
static bool is_shared(void)
{
	return is_plain() && mf_thread_local.shortcut == MF_SHORTCUT_SHARED;
}

static struct mf_fastpath_result give_up(void *pointer)
{
	if (mf_thread_local.thread)
		return leave(mf_thread_local.thread, pointer, false);
	mf_thread_local.inside = false;
	return result(pointer, false);
}

/* Apart, so that what the compiler does for one does not cost the other. */
static __attribute__((noinline)) struct mf_fastpath_result alloc_shared(void *pointer, size_t size,
									const void *frame)
{
	return is_shared() ? alloc(pointer, size, frame, true) : give_up(pointer);
}

static __attribute__((noinline)) struct mf_fastpath_result free_shared(void *pointer)
{
	return is_shared() ? free_now(mf_thread_local.thread, pointer, true) : give_up(pointer);
}

struct mf_fastpath_result mf_fastpath_alloc(void *pointer, size_t size, const void *frame)
{
	if (__builtin_expect(mf_thread_local.inside, 0))
		return result(pointer, false);
	enter();
	if (__builtin_expect(is_plain() && is_alone(), 1))
		return alloc(pointer, size, frame, false);
	return alloc_shared(pointer, size, frame);
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
	mf_blocks_prefetch(&mf_thread_local.thread->desk.blocks, (uint64_t)(uintptr_t)old);
	return leave(mf_thread_local.thread, NULL, true).done;
}

/* The block is out of the table for a moment: it changes its size, or its place, or both. */
MF_INLINE bool resize(const struct mf_tally_ctx *desk, const void *old, const void *pointer, size_t size,
		      uint32_t context)
{
	struct mf_block block;

	if (!mf_tally_realloc_begin(desk, (uint64_t)(uintptr_t)old, &block))
		return false;
	if (mf_tally_realloc_end(desk, &block, (uint64_t)(uintptr_t)pointer, size, context))
		return true;
	mf_blocks_put_usual(desk->store, &block);
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
	    !mf_tally_settle_in(&thread->desk, thread->put_off, true))
		return leave(thread, pointer, false);
	context = mf_memo_recall(&thread->memo, caller.sp, caller.pc);
	if (!context && mf_memo_looks(&thread->memo))
		context = mf_memo_find(&thread->memo, caller.sp, caller.pc);
	/* One that is walked may be made anew, but not before a peak that the block's end makes. */
	return leave(thread, pointer, context && resize(&thread->desk, old, pointer, size, context));
}

#endif
