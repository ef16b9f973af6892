/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Detects nested events: an allocation function of the program calls another one, directly or indirectly, and
 * only the outer call is counted (hook.h).
 *
 * Only the stack shows whether an event is nested. A function may be left without returning (longjmp, an exception),
 * and the next event may then occur even deeper on the same stack without being nested. Or the function may do its work
 * on another stack (-fsplit-stack, a coroutine) while this one is used for something else. So the stack is walked
 * outwards from the event, and the event is nested only if the walk reaches the frame of a hook. There is one mark for
 * each hook whose frame may still be on a stack; if there are no marks, no walk is needed.
 *
 * Events in a signal handler are never nested, whatever the handler interrupted. If the walk cannot continue (code
 * without unwind tables), the event counts as nested if a mark lies at most 1 MiB above the last frame found.
 */
#ifndef MASSIF_PRELOAD_NESTING_H
#define MASSIF_PRELOAD_NESTING_H

#include <stdbool.h>
#include <stdint.h>

#include "model/blocks.h"
#include "model/trie.h"
#include "core/objects.h"
#include "stack/unwind.h"

struct mf_thread;

/*
 * Maximum number of marks per thread; each stands for one hook that has not returned. If a thread already has this
 * many, a new mark replaces the oldest, and events nested in the hook that lost its mark are then counted.
 */
#define MF_NESTING_MARKS 4u
#define MF_NESTING_MEMOS 16u
#define MF_NESTING_WORDS 8u

/* A stack word between the caller and the hook. @distance is the word's address minus the caller's stack pointer. */
struct mf_nesting_word {
	int64_t distance;
	/*
	 * value of the stack word; for a saved frame pointer (@is_frame), the difference between its value and the
	 * caller's stack pointer
	 */
	uint64_t value;
	bool is_frame;
};

/*
 * Records that an event was nested in a call of a hooked function, along with the stack words that prove this. A later
 * event with the same caller is nested as well if all these words are unchanged at the same distances from the caller's
 * stack pointer. The stack pointer itself may differ, because unwind rules do not depend on the addresses of the stack.
 */
struct mf_nesting_memo {
	uint64_t pc; /* the caller's code address; 0 if this memo is not valid; accessed atomically */
	uint64_t fp; /* the caller's frame pointer minus its stack pointer, if needs_fp is set */
	uint32_t generation;
	uint32_t n;
	bool needs_fp;
	struct mf_nesting_word words[MF_NESTING_WORDS];
};

/* A mark records that a hook has called the original function, and that this call has not returned yet. */
struct mf_nesting_mark {
	uint64_t place;		  /* address of the hook's frame */
	/*
	 * the block that the hook is resizing, which is not in the table of blocks during the resize; its context is
	 * MF_CONTEXT_NONE if there is no such block
	 */
	struct mf_block resizing;
};

/* The per-thread state for detecting nested calls. */
struct mf_nesting {
	uint32_t n;
	struct mf_nesting_mark marks[MF_NESTING_MARKS];
	struct mf_nesting_memo memos[MF_NESTING_MEMOS];
};

/*
 * Slow paths for marks. A mark records the stack address of the frame of a hook that has not returned yet.
 * mf_nesting_enter() calls mf_nesting_enter_also() to add a mark if the thread already has one or if the hook is
 * resizing a block. mf_nesting_leave() calls mf_nesting_leave_one() to remove the mark of the hook whose frame is at
 * @place, unless that is the thread's only mark.
 */
void mf_nesting_enter_also(struct mf_nesting *nesting, const struct mf_nesting_mark *mark);
void mf_nesting_leave_one(struct mf_nesting *nesting, uint64_t place);

/*
 * Called when an exception is propagating through the innermost hook on the current stack. Removes that hook's mark
 * (the address of its frame).
 */
void mf_nesting_unwound(void);

static inline struct mf_nesting_memo *mf_nesting_memo_of(struct mf_nesting *nesting, uint64_t pc)
{
	return &nesting->memos[(pc ^ pc >> 4) % MF_NESTING_MEMOS];
}

static inline uint64_t mf_nesting_load(uint64_t address)
{
	return *(const uint64_t *)(uintptr_t)address;
}

/*
 * Adds a mark to @nesting. A mark is the address of the frame of a hook that has not yet returned. The hook whose frame
 * is @frame is about to call the original function. If that hook is resizing a block, @block is the block, which is not
 * in the table of blocks during the resize; otherwise, @block is NULL.
 */
static inline void mf_nesting_enter(struct mf_nesting *nesting, const void *frame, const struct mf_block *block)
{
	if (__builtin_expect(nesting->n || block, 0)) {
		struct mf_nesting_mark mark = { .place = (uint64_t)(uintptr_t)frame };

		mark.resizing.context = MF_CONTEXT_NONE;
		if (block)
			mark.resizing = *block;
		mf_nesting_enter_also(nesting, &mark);
		return;
	}
	nesting->marks[0].place = (uint64_t)(uintptr_t)frame;
	nesting->marks[0].resizing.context = MF_CONTEXT_NONE;
	nesting->n = 1;
}

/*
 * Removes a hook's mark (the address of its frame) after the original function has returned. Returns true if the thread
 * has no mark left.
 */
static inline bool mf_nesting_leave(struct mf_nesting *nesting, const void *frame)
{
	uint64_t place = (uint64_t)(uintptr_t)frame;

	if (__builtin_expect(nesting->n != 1 || nesting->marks[0].place != place, 0)) {
		mf_nesting_leave_one(nesting, place);
		return !nesting->n;
	}
	nesting->n = 0;
	return true;
}

/*
 * The address in the hook to which original functions return (patch/hook.h), or 0 if no function is hooked. It is set
 * before the first function is hooked.
 */
extern uint64_t mf_nesting_hook_returns MF_HIDDEN;

/*
 * True if the event of @caller is known to be nested, that is, part of the event of a hook that has not returned yet.
 * This is known in two cases: @caller is a hook itself, or an earlier event of the same caller was found to be nested
 * and the stack words that prove it are unchanged (struct mf_nesting_memo). If this function returns false,
 * mf_nesting_search() must decide. Uses only general-purpose registers.
 */
static inline bool mf_nesting_recalls(struct mf_nesting *nesting, const struct mf_registers *caller)
{
	const struct mf_nesting_memo *memo = mf_nesting_memo_of(nesting, caller->pc);

	/*
	 * The call is nested if its caller is a hook: the hook's original function has tail-called this allocation
	 * function.
	 */
	if (caller->pc == mf_nesting_hook_returns)
		return true;
	if (!nesting->n || memo->pc != caller->pc || caller->exact ||
	    memo->generation != mf_objects_generation() ||
	    (memo->needs_fp && memo->fp != caller->fp - caller->sp))
		return false;
	for (uint32_t i = 0; i < memo->n; i++) {
		const struct mf_nesting_word *word = &memo->words[i];
		uint64_t value = mf_nesting_load(caller->sp + (uint64_t)word->distance);

		if (value - (word->is_frame ? caller->sp : 0) != word->value)
			return false;
	}
	return true;
}

/*
 * Walks the stack to find whether the event of @caller is nested, that is, part of the event of a hook that has not
 * returned. Removes the marks (frame addresses) of hooks that were left without returning, by longjmp() or an
 * exception. May call the C library.
 */
bool mf_nesting_search(struct mf_thread *thread, const struct mf_registers *caller);

#endif
