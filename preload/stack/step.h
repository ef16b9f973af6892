/* SPDX-License-Identifier: GPL-2.0 */
/* One step of a walk: from a frame to its caller, by the rule that is remembered. */
#ifndef MASSIF_PRELOAD_STEP_H
#define MASSIF_PRELOAD_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/stack_bounds.h"
#include "rule_cache.h"
#include "unwind.h"

/*
 * Bytes between a frame and the next within which both are taken to lie on one stack, which is there as long as
 * either, where nothing is known of it.
 */
#define MF_STEP_NEAR (64ull << 10)

/* The address whose rule undoes a frame. */
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
	MF_STEP_END,     /* there is no caller */
	MF_STEP_GUESSED, /* done: from here on, frames may be none */
	MF_STEP_AWAY,	 /* the same: rules have led to another stack */
	MF_STEP_LOST,    /* the caller cannot be found */
	MF_STEP_ASTRAY,  /* the same, now: there is no memory where it should be found */
	MF_STEP_UNKNOWN, /* the rule is none of those that are remembered: see complete.h */
};

static inline bool mf_step_is_end(enum mf_step taken)
{
	return taken == MF_STEP_END || taken == MF_STEP_LOST || taken == MF_STEP_ASTRAY;
}

/* Was the frame found, and may be none? */
static inline bool mf_step_is_guessed(enum mf_step taken)
{
	return taken == MF_STEP_GUESSED || taken == MF_STEP_AWAY;
}

static inline bool mf_step_is_guess(enum mf_step taken)
{
	return mf_step_is_guessed(taken) || taken == MF_STEP_LOST || taken == MF_STEP_ASTRAY;
}

/*
 * Can the word at @address be read? Without a system call where it is near to one that can, at @known; 0: none is
 * known.
 */
bool mf_step_is_there(uint64_t address, uint64_t known);

/*
 * Can somebody be going to return to @pc, to which a guess has led? What a JIT keeps beside the frame pointer
 * that it saves need not be that, and what rbp holds need not be a frame pointer.
 */
bool mf_step_is_return_address(uint64_t pc);

/*
 * Is what @taken has led to, at @pc, no frame but a link to the next one? Where rules have led to the first word of a
 * stack that makecontext() has made, @pc is where a function starts, and that is the last frame.
 */
bool mf_step_is_link(enum mf_step taken, uint64_t pc);

/*
 * Rules may be wrong, or mean another stack: they lead from a frame at @sp to words that are not known to be on
 * the thread's own stack. @fp_slot 0: there is only one.
 */
enum mf_step mf_step_check_words(uint64_t sp, bool exact, uint64_t pc_slot, uint64_t fp_slot);

/* Steps that are rare: where there is no rule, or it is a signal frame's. */
enum mf_step mf_step_rarely(struct mf_registers *registers, struct mf_walk_frame *frame, uint8_t cfa);

/*
 * From @registers to those of the caller; notes in @frame how. Inlined, and nobody else has their
 * address, so that they are the processor's, too: words that are stored one by one and loaded in pairs
 * have to wait for the stores.
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
		 * Behind no code, but where some begins: nobody called that. makecontext has put its
		 * address there, to be returned to, and there is nothing beyond.
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
	/* A stack only shrinks towards its caller. */
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

/* The same where a guess has led to @registers, so that the frame may be none. */
enum mf_step mf_step_carefully(struct mf_registers *registers, struct mf_walk_frame *frame,
			       const struct mf_stack_bounds *own);

/* Forgets what was found of the addresses in [@start, @end]. */
void mf_step_forget(uint64_t start, uint64_t end);

#endif
