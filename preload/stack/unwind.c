// SPDX-License-Identifier: GPL-2.0
// Walks the current thread's call stack.
//
// Frames are unwound with the rules from .eh_frame, which are cached by address. Code without rules (assembly, or code
// generated at run time) is assumed to use a frame pointer, as most such code does. A frame whose rule has a form that
// is not cached is unwound using all registers (full_walk.h). None of this allocates memory, waits for a lock or opens
// a file.
//
// Successive stacks share most of their frames. So a walk can stop at a frame that the previous walk also reached with
// the same registers, provided that all words that were read for that frame and its outer frames are unchanged. These
// words are compared from that frame outwards, and the comparison stops at the first mismatch. As a result, nothing is
// read that a complete walk would not read, even on stacks that are freed and reused.

#include "unwind.h"

#include <string.h>

#include "full_walk.h"
#include "core/stack_bounds.h"
#include "rule_cache.h"
#include "step.h"

#ifdef __x86_64__

void mf_unwind_forget(uint64_t start, uint64_t end)
{
	mf_rule_cache_forget(start, end);
	mf_step_forget(start, end);
}

/*
 * Takes a step that mf_step() cannot take because the rule has a form that is not cached. Uses all registers
 * (full_walk.h). Replaces @registers with those of the caller. @steps: number of frames since the beginning of the
 * walk. A wrong rule may lead anywhere, so the result is checked.
 */
static __attribute__((noinline)) enum mf_step step_completely(struct mf_full_walk *complete, uint32_t steps,
							      struct mf_registers *registers)
{
	struct mf_registers inner = *registers, outer;

	switch (mf_full_walk_step(complete, steps, registers, &outer)) {
	case MF_FRAME_DONE:
		break;
	case MF_FRAME_END:
		return MF_STEP_END;
	case MF_FRAME_LOST:
		return MF_STEP_LOST;
	}
	*registers = outer;
	if (outer.exact || mf_step_check_words(inner.sp, inner.exact, outer.sp - 8, 0) == MF_STEP_DONE)
		return MF_STEP_DONE;
	return MF_STEP_AWAY;
}

/* Are all words that were read for @frame on the thread's own stack, which exists as long as the thread does? */
static bool lasts(const struct mf_walk_frame *frame)
{
	return (!frame->pc_slot || mf_stack_bounds_reaches(frame->pc_slot)) &&
	       (!frame->fp_slot || mf_stack_bounds_reaches(frame->fp_slot)) &&
	       (!frame->other_slot || mf_stack_bounds_reaches(frame->other_slot));
}

/*
 * Returns whether all words of the outermost @n frames of the previous walk are on the thread's own stack. If not, the
 * new walk must not compare these words with the current contents of memory after it has guessed a frame: the guess may
 * happen to yield the address of one of the old frames, whose stack may no longer be mapped.
 */
static __attribute__((noinline)) bool all_last(const struct mf_walk *walk, uint32_t n)
{
	while (n && lasts(&walk->frames[n - 1]))
		n--;
	return !n;
}

/*
 * Compares the outermost @n words that the walk read with what the stack contains now, working outwards from the
 * innermost of them. Returns 0 if none has changed, otherwise the position of the innermost changed word, where the
 * outermost word is number 1.
 */
static inline uint32_t find_changed(const struct mf_walk *walk, uint32_t n)
{
	const struct mf_walk_word *word = walk->words + n;

	while (word != walk->words && mf_step_load(word[-1].slot) == word[-1].value)
		word--;
	return (uint32_t)(word - walk->words);
}

/*
 * Changes the pc of frame @i to @pc; its other registers are unchanged. Returns false if the new pc needs a different
 * unwind rule.
 */
static inline bool redirect(struct mf_walk *walk, uint32_t i, uint64_t pc)
{
	struct mf_walk_frame *frame = &walk->frames[i];
	uint16_t rule = mf_rule_cache_known(mf_step_rule_address(pc, frame->exact));

	if (!rule || rule != frame->rule || (frame->is_guessed && !mf_step_is_return_address(pc)))
		return false;
	frame->pc = pc;
	if (walk->n_known > i)
		walk->n_known = i;
	return true;
}

/*
 * If the stack differs from the previous one only in some return addresses, because the same functions were called from
 * different call sites in the same callers, updates these addresses in @walk and returns true. Otherwise returns false;
 * at most the outermost *@at frames are unchanged then.
 */
static inline bool goes_again(struct mf_walk *walk, const struct mf_registers *caller, uint32_t *at)
{
	uint32_t i = walk->n - 1, n = walk->frames[i].n_words;
	const struct mf_walk_frame *frame = &walk->frames[i];

	if (frame->sp != caller->sp || frame->exact != caller->exact ||
	    (frame->needs_fp && frame->fp != caller->fp))
		return false;
	if (frame->pc != caller->pc && !redirect(walk, i, caller->pc))
		return false;
	while ((n = find_changed(walk, n))) {
		struct mf_walk_word *word = &walk->words[n - 1];
		uint64_t value = mf_step_load(word->slot);

		*at = i = walk->owners[n - 1];
		if (!i || word->slot != walk->frames[i].pc_slot || !redirect(walk, i - 1, value))
			return false;
		word->value = value;
		n--;
	}
	return true;
}

/*
 * Looks for the frame described by @registers among the outermost *@at frames of the previous walk. If it is there, and
 * all frames outside it are unchanged, returns true and sets *@at to the number of frames to keep. Otherwise returns
 * false and sets *@at to the number of outermost frames to search next time.
 */
static bool meets(const struct mf_walk *walk, const struct mf_registers *registers, bool is_guessed,
		  uint32_t *at)
{
	uint32_t i = *at;
	const struct mf_walk_frame *frame;
	uint32_t changed;

	while (i && walk->frames[i - 1].sp < registers->sp)
		i--;
	*at = i;
	if (!i)
		return false;
	frame = &walk->frames[i - 1];
	if (frame->sp != registers->sp || frame->pc != registers->pc ||
	    frame->exact != registers->exact || frame->is_guessed != is_guessed ||
	    (frame->needs_fp && frame->fp != registers->fp))
		return false;
	changed = find_changed(walk, frame->n_words);
	if (!changed) {
		*at = i;
		return true;
	}
	/*
	 * The frame to which the changed word belongs has a different caller now. So neither that frame nor any frame
	 * inside it can be reused.
	 */
	*at = walk->owners[changed - 1];
	return false;
}

/*
 * Appends the stack words of frame @i to the list walk->words, after those of the frames further out. So the word that
 * the walk read first comes last.
 */
static inline void add_words(struct mf_walk *walk, uint32_t i)
{
	struct mf_walk_frame *frame = &walk->frames[i];
	uint32_t n = i ? frame[-1].n_words : 0;

	if (frame->fp_slot && i && frame[-1].needs_fp) {
		walk->owners[n] = (uint8_t)i;
		walk->words[n++] = (struct mf_walk_word){ frame->fp_slot, frame[-1].fp };
	}
	if (frame->pc_slot) {
		/* In the outermost frame, the word that should hold the return address was 0, which ended the walk. */
		walk->owners[n] = (uint8_t)i;
		walk->words[n++] = (struct mf_walk_word){ frame->pc_slot, i ? frame[-1].pc : 0 };
	}
	if (frame->other_slot) {
		walk->owners[n] = (uint8_t)i;
		walk->words[n++] = (struct mf_walk_word){ frame->other_slot, frame->other };
	}
	frame->n_words = (uint16_t)n;
}

/* Replaces all but the outermost @kept frames of the walk with the @n new frames in walk->fresh. */
static void put(struct mf_walk *walk, uint32_t kept, uint32_t n)
{
	bool needs_fp = kept && walk->frames[kept - 1].needs_fp;

	for (uint32_t i = 0; i < n; i++) {
		struct mf_walk_frame *frame = &walk->frames[kept + i];

		*frame = walk->fresh[n - 1 - i];
		needs_fp = frame->consumes_fp || (!frame->fp_slot && needs_fp);
		frame->needs_fp = needs_fp;
		add_words(walk, kept + i);
	}
	walk->n = kept + n;
	if (walk->n_known > kept)
		walk->n_known = kept;
}

/*
 * Keeps the outermost @met frames, which are unchanged, and adds @n new frames as the innermost ones. Drops the
 * outermost frames if there would be more than @depth in total.
 */
static void take_over(struct mf_walk *walk, uint32_t met, uint32_t n, uint32_t depth)
{
	uint32_t kept = met < depth - n ? met : depth - n;

	if (kept < met) {
		memmove(walk->frames, walk->frames + (met - kept), kept * sizeof(*walk->frames));
		/*
		 * Frames were dropped, so the walk now begins with a different outermost frame. A trie node stands for
		 * a frame together with all its outer frames, so every frame needs a different node. The stack words
		 * that were read to find the caller of the new outermost frame are no longer needed, because that
		 * caller was dropped.
		 */
		walk->n_known = 0;
		walk->frames[0].pc_slot = walk->frames[0].fp_slot = 0;
		walk->frames[0].other_slot = 0;
		walk->complete = walk->lost = false;
		for (uint32_t i = 0; i < kept; i++)
			add_words(walk, i);
	}
	put(walk, kept, n);
}

/* Walks the stack. Only the outermost @at frames of the previous walk can be reused. */
static __attribute__((noinline)) void walk_anew(struct mf_walk *walk, const struct mf_registers *caller,
						uint32_t depth, uint32_t at)
{
	struct mf_registers registers = {
		.pc = caller->pc, .sp = caller->sp, .fp = caller->fp, .exact = caller->exact,
	};
	const struct mf_stack_bounds *own = mf_stack_bounds_at(registers.sp);
	struct mf_full_walk complete;
	bool guessed = false, repeatable = true;
	enum mf_step taken = MF_STEP_DONE;
	uint32_t n = 0;

	complete.begun = false;

	while (!mf_step_is_end(taken) && n < depth) {
		struct mf_walk_frame *frame = &walk->fresh[n];

		if (at && meets(walk, &registers, mf_step_is_guessed(taken), &at)) {
			if (walk->complete || walk->lost || n + at >= depth) {
				take_over(walk, at, n, depth);
				walk->repeatable = repeatable;
				return;
			}
			at = 0; /* the previous walk was cut off at its maximum depth, but this walk must go further */
		}
		*frame = (struct mf_walk_frame){
			.sp = registers.sp,
			.pc = registers.pc,
			.fp = registers.fp,
			.exact = registers.exact,
			.is_guessed = mf_step_is_guessed(taken),
			.is_link = taken != MF_STEP_DONE && mf_step_is_link(taken, registers.pc),
		};
		if (++n == depth)
			break;
		taken = __builtin_expect(guessed, 0) ? mf_step_carefully(&registers, frame, own) :
						       mf_step(&registers, frame, own);
		if (__builtin_expect(taken == MF_STEP_UNKNOWN, 0)) {
			taken = step_completely(&complete, n - 1, &registers);
			repeatable = false;
		}
		if (__builtin_expect(mf_step_is_guess(taken), 0)) {
			if (!guessed && !all_last(walk, at))
				at = 0;
			guessed = true;
			/*
			 * This step was a guess. Reuse the walk only if the guess is cached, because only cached
			 * guesses are dropped when their code is unmapped. What is cached depends on the step: for a
			 * frame, the rule for its code; for a link (an element of the chain of frame pointers that
			 * belongs to no frame), the finding that its address is not a return address.
			 */
			repeatable &= (frame->is_link ? mf_rule_cache_keep_guesses : frame->rule != 0) &&
				      taken != MF_STEP_ASTRAY;
		}
		if (__builtin_expect(guessed, 0))
			repeatable &= lasts(frame);
	}
	put(walk, 0, n);
	walk->complete = taken == MF_STEP_END;
	walk->lost = taken == MF_STEP_LOST;
	walk->repeatable = repeatable;
}

void mf_unwind(struct mf_walk *walk, const struct mf_registers *caller, uint32_t depth)
{
	uint32_t at = walk->repeatable ? walk->n : 0;

	if (depth > MF_DEPTH_MAX)
		depth = MF_DEPTH_MAX;
	if (!at || at > depth || (!walk->complete && !walk->lost && at < depth) ||
	    !goes_again(walk, caller, &at))
		walk_anew(walk, caller, depth, at);
}

uint32_t mf_unwind_merged(uint64_t *pcs, const struct mf_registers *caller, uint32_t depth,
			  uint32_t longest, struct mf_walk *scratch)
{
	struct mf_registers registers = *caller;
	const struct mf_stack_bounds *own = mf_stack_bounds_at(registers.sp);
	struct mf_walk_frame *frame = &scratch->fresh[0];
	struct mf_full_walk complete = { .begun = false };
	enum mf_step taken = MF_STEP_DONE;
	bool guessed = false;
	uint32_t n = 0;

	for (uint32_t steps = 0; n < depth && !mf_step_is_end(taken); steps++) {
		frame->is_link = taken != MF_STEP_DONE && mf_step_is_link(taken, registers.pc);
		if (!frame->is_link)
			n = mf_unwind_merge_cycle(pcs, n, registers.pc, longest);
		taken = guessed ? mf_step_carefully(&registers, frame, own) : mf_step(&registers, frame, own);
		if (taken == MF_STEP_UNKNOWN)
			taken = step_completely(&complete, steps, &registers);
		guessed |= mf_step_is_guessed(taken);
	}
	return n;
}

bool mf_unwind_frames(const struct mf_registers *caller, uint32_t depth, mf_unwind_visit *visit_frame, void *data)
{
	struct mf_registers registers = *caller;
	const struct mf_stack_bounds *own = mf_stack_bounds_at(registers.sp);
	struct mf_full_walk complete = { .begun = false };
	enum mf_step taken = MF_STEP_DONE;
	bool guessed = false;

	for (uint32_t steps = 0; steps < depth; steps++) {
		struct mf_walk_frame frame = {
			.sp = registers.sp,
			.pc = registers.pc,
			.fp = registers.fp,
			.exact = registers.exact,
			.is_guessed = mf_step_is_guessed(taken),
			.is_link = taken != MF_STEP_DONE && mf_step_is_link(taken, registers.pc),
		};

		taken = guessed ? mf_step_carefully(&registers, &frame, own) : mf_step(&registers, &frame, own);
		if (taken == MF_STEP_UNKNOWN)
			taken = step_completely(&complete, steps, &registers);
		if (mf_step_is_end(taken))
			return taken == MF_STEP_END;
		guessed |= mf_step_is_guessed(taken);
		frame.is_guessed = guessed;
		if (!visit_frame(&frame, &registers, data))
			return true;
	}
	return false;
}

#endif
