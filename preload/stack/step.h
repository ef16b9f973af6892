/* SPDX-License-Identifier: GPL-2.0 */
/* One step of a walk, from a frame to its caller, using a cached unwind rule. */
#ifndef MASSIF_PRELOAD_STEP_H
#define MASSIF_PRELOAD_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/stack_bounds.h"
#include "rule_cache.h"
#include "unwind.h"

/*
 * On a stack whose bounds are unknown, two addresses less than this many bytes apart are assumed to be on the same
 * stack, so if one is readable, the other is, too.
 */
#define MF_STEP_NEAR (64ull << 10)

/*
 * Returns the address at which to look up the rule for the frame at @pc. @exact is true if @pc is not a return address.
 */
static inline uint64_t mf_step_rule_address(uint64_t pc, bool exact)
{
	return exact ? pc : pc - 1;
}

static inline uint64_t mf_step_load(uint64_t address)
{
	return *(const uint64_t *)(uintptr_t)address;
}

enum mf_step {
	MF_STEP_DONE,
	MF_STEP_END,     /* the stack ends here */
	MF_STEP_GUESSED, /* the caller was guessed; it and all further frames may be wrong */
	/*
	 * The rule has led to a stack other than the frame's own, so the caller and all further frames may be wrong,
	 * just as after a guess of the caller.
	 */
	MF_STEP_AWAY,
	MF_STEP_LOST,    /* the caller cannot be found */
	MF_STEP_ASTRAY,  /* the caller cannot be found, but only because memory is not readable at the moment */
	MF_STEP_UNKNOWN, /* the rule has a form that is not cached; see full_walk.h */
};

static inline bool mf_step_is_end(enum mf_step taken)
{
	return taken == MF_STEP_END || taken == MF_STEP_LOST || taken == MF_STEP_ASTRAY;
}

/* Returns whether the step found a caller that may be wrong. */
static inline bool mf_step_is_guessed(enum mf_step taken)
{
	return taken == MF_STEP_GUESSED || taken == MF_STEP_AWAY;
}

static inline bool mf_step_is_guess(enum mf_step taken)
{
	return mf_step_is_guessed(taken) || taken == MF_STEP_LOST || taken == MF_STEP_ASTRAY;
}

/*
 * Returns whether the word at @address can be read. Makes no system call if the word is in the same page as the word at
 * @known, which is known to be readable. @known is 0 if there is no such word.
 */
bool mf_step_is_there(uint64_t address, uint64_t known);

/*
 * Returns whether @pc, which was found by guessing, can be a return address. JIT-compiled code, for example, may have
 * other data next to a saved frame pointer, or use rbp for something else.
 */
bool mf_step_is_return_address(uint64_t pc);

/*
 * @taken is the result of the step of the walk that led to @pc. Returns whether that step found not a frame but only a
 * link in the chain of frame pointers. This can happen when a guess follows a saved frame pointer: a link is a pair of
 * words of which the second is not a return address. There is one exception. If an unwind rule has led to another
 * stack, @pc may be the word that makecontext() stored there as the return address of the outermost function. That word
 * is the address of the start of a function, so no call instruction precedes it, but it counts as the outermost frame,
 * not as a link.
 */
bool mf_step_is_link(enum mf_step taken, uint64_t pc);

/*
 * Checks the words at @pc_slot and @fp_slot, which hold the caller's registers according to the unwind rule of a frame
 * at @sp. This is needed when the words are not known to be on the thread's own stack: the rule may be wrong, or may
 * lead to another stack. Returns MF_STEP_ASTRAY if a word cannot be read, MF_STEP_AWAY if the words are not on the
 * frame's stack, otherwise MF_STEP_DONE. @fp_slot is 0 if there is only @pc_slot. @exact: see struct mf_registers.
 */
enum mf_step mf_step_check_words(uint64_t sp, bool exact, uint64_t pc_slot, uint64_t fp_slot);

/* Takes a rare kind of step: from code without a rule, or out of a signal frame. */
enum mf_step mf_step_rarely(struct mf_registers *registers, struct mf_walk_frame *frame, uint8_t cfa);

/*
 * Changes @registers to those of the caller, and records in @frame which words were read. This function is always
 * inlined and never passes on the pointer to @registers, so their values stay in processor registers. If they were in
 * memory, they would be stored one by one but loaded in pairs, and such a load would have to wait until the stores have
 * completed.
 */
static inline __attribute__((always_inline)) enum mf_step mf_step(struct mf_registers *registers, struct mf_walk_frame *frame,
							    const struct mf_stack_bounds *own)
{
	uint64_t cfa, fp = registers->fp, address = mf_step_rule_address(registers->pc, registers->exact);
	uint64_t fp_slot = 0;
	enum mf_step taken = MF_STEP_DONE;
	uint16_t known = mf_rule_cache_known(address);
	struct mf_cfi_rule rule;

	if (__builtin_expect(known, 1))
		rule = mf_rule_cache_table[known - 1];
	else
		rule = mf_rule_cache_find(address);
	frame->rule = known;

	switch (rule.cfa) {
	case MF_CFA_SP:
		cfa = registers->sp + (uint64_t)(int64_t)rule.cfa_offset;
		break;
	case MF_CFA_FP:
		frame->consumes_fp = true;
		cfa = fp + (uint64_t)(int64_t)rule.cfa_offset;
		break;
	case MF_CFA_FP_INDIRECT:
		cfa = fp + (uint64_t)(int64_t)rule.cfa_offset;
		if (!mf_stack_bounds_holds(own, cfa))
			taken = mf_step_check_words(registers->sp, registers->exact, cfa, 0);
		if (taken == MF_STEP_ASTRAY)
			return taken;
		frame->consumes_fp = true;
		frame->other_slot = cfa;
		cfa = frame->other = mf_step_load(frame->other_slot);
		break;
	case MF_CFA_FP_LINK:
		if (!mf_stack_bounds_holds(own, fp))
			taken = mf_step_check_words(registers->sp, registers->exact, fp, 0);
		if (taken == MF_STEP_ASTRAY)
			return taken;
		frame->consumes_fp = true;
		frame->other_slot = fp;
		frame->other = mf_step_load(fp);
		cfa = frame->other + (uint64_t)(int64_t)rule.cfa_offset;
		break;
	case MF_CFA_END:
		return MF_STEP_END;
	case MF_CFA_BORDER:
		/*
		 * The pc is the address of the first instruction of a function, and no function ends just before it.
		 * So, as a return address, it cannot have been pushed by a call: makecontext() has put it on the stack,
		 * and the stack ends there.
		 */
		if (!registers->exact)
			return MF_STEP_END;
		return mf_step_rarely(registers, frame, rule.cfa);
	case MF_CFA_NONE:
	case MF_CFA_SIGNAL:
		return mf_step_rarely(registers, frame, rule.cfa);
	default:
		return MF_STEP_UNKNOWN;
	}
	if (rule.fp == MF_FP_AT_CFA) {
		fp_slot = cfa + (uint64_t)(int64_t)rule.fp_offset;
	} else if (rule.fp == MF_FP_AT_FP) {
		frame->consumes_fp = true;
		fp_slot = fp + (uint64_t)(int64_t)rule.fp_offset;
	}
	/* A caller's frame is always at a higher address. */
	if (__builtin_expect(cfa <= registers->sp || !mf_stack_bounds_holds(own, cfa - 8) ||
			     (fp_slot && !mf_stack_bounds_holds(own, fp_slot)), 0)) {
		enum mf_step checked = mf_step_check_words(registers->sp, registers->exact, cfa - 8, fp_slot);

		if (checked != MF_STEP_DONE)
			taken = checked;
		if (taken == MF_STEP_ASTRAY)
			return taken;
	}
	if (fp_slot) {
		frame->fp_slot = fp_slot;
		registers->fp = mf_step_load(fp_slot);
	}
	frame->pc_slot = cfa - 8;
	registers->pc = mf_step_load(frame->pc_slot);
	registers->sp = cfa;
	registers->exact = false;
	return registers->pc ? taken : MF_STEP_END;
}

/* Like mf_step(), but for @registers that come from a guess and may be wrong. */
enum mf_step mf_step_carefully(struct mf_registers *registers, struct mf_walk_frame *frame,
			       const struct mf_stack_bounds *own);

/* Drops cached data about addresses in [@start, @end]. */
void mf_step_forget(uint64_t start, uint64_t end);

#endif
