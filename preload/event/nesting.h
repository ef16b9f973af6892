/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whether an event is a part of another one: whether the allocation function that causes it was called, however
 * far out, by an allocation function of the program's that is being counted as a whole (hook.h).
 *
 * The stack tells, and nothing else does. A function can be left without returning (longjmp, an
 * exception), and the next event may then be deeper on the same stack; or what it does may run on another
 * stack (-fsplit-stack, a coroutine), while this one is used by others. So the stack of such an event is
 * walked as far as the hook, and only if it comes there the event is nested. A mark for each hook that
 * may still be on a stack says when that has to be done at all.
 *
 * A signal handler's events are its own, whatever it has interrupted. Where the walk is lost (code
 * without unwind tables) the event is taken for nested if a mark lies up to 1 MiB above that frame.
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

#define MF_NESTING_MARKS 4u /* with more, the oldest is forgotten: what is nested in it counts as well */
#define MF_NESTING_MEMOS 16u
#define MF_NESTING_WORDS 8u

/* A word of the stack that led to the hook, by its distance from where the stack pointer was. */
struct mf_nesting_word {
	int64_t distance;
	uint64_t value; /* of a saved frame pointer, its distance */
	bool is_frame;
};

/*
 * A caller that was found nested: it is again if these words are what they were. Its stack may lie
 * elsewhere now, since the rules that undo frames do not depend on that.
 */
struct mf_nesting_memo {
	uint64_t pc; /* atomic; 0: not valid */
	uint64_t fp; /* its distance, if that counts */
	uint32_t generation;
	uint32_t n;
	bool needs_fp;
	struct mf_nesting_word words[MF_NESTING_WORDS];
};

/* A hook that has called the original. */
struct mf_nesting_mark {
	uint64_t place;		  /* of its frame on the stack */
	struct mf_block resizing; /* out of the table; or has no context */
};

/* A thread's. */
struct mf_nesting {
	uint32_t n;
	struct mf_nesting_mark marks[MF_NESTING_MARKS];
	struct mf_nesting_memo memos[MF_NESTING_MEMOS];
};

/* The same where there are other marks. */
void mf_nesting_enter_also(struct mf_nesting *nesting, const struct mf_nesting_mark *mark);
void mf_nesting_leave_one(struct mf_nesting *nesting, uint64_t place);

/* An exception leaves the hook whose call of the original is the innermost one on the present stack. */
void mf_nesting_unwound(void);

static inline struct mf_nesting_memo *mf_nesting_memo_of(struct mf_nesting *nesting, uint64_t pc)
{
	return &nesting->memos[(pc ^ pc >> 4) % MF_NESTING_MEMOS];
}

static inline uint64_t mf_nesting_load(uint64_t address)
{
	return *(const uint64_t *)(uintptr_t)address;
}

/* A hook is about to call the original, with @block out of the table or NULL. */
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

/* The original has returned. Returns whether that was the only mark. */
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

/* Where the originals of hooked functions return to (patch/hook.h); 0: none is hooked. Set before the first is. */
extern uint64_t mf_nesting_hook_returns MF_HIDDEN;

/* Is @caller nested as one before it was? Not: ask mf_nesting_search(). Uses general registers only. */
static inline bool mf_nesting_recalls(struct mf_nesting *nesting, const struct mf_registers *caller)
{
	const struct mf_nesting_memo *memo = mf_nesting_memo_of(nesting, caller->pc);

	/* The original has jumped to another function, as its last act. */
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

/* Is @caller nested? Marks that are found dead are removed. May call the C library. */
bool mf_nesting_search(struct mf_thread *thread, const struct mf_registers *caller);

#endif
