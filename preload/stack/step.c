// SPDX-License-Identifier: GPL-2.0
// The rare parts of a step from a frame to its caller: guesses, signal frames, and words that may be unreadable.

#include "step.h"

#include <stddef.h>

#include "core/readable.h"
#include "cfi/callsite.h"

#ifdef __x86_64__

#include <ucontext.h>

/* Maximum size of a frame, in bytes, on a stack whose bounds are unknown. */
#define FRAME_MAX (1ull << 20)

#define PAGE_BITS 12u
#define PAGE_SIZE (1ull << PAGE_BITS)

/*
 * A cache of the code addresses that were found when a frame's caller was guessed. Each entry is one word: the address,
 * plus a bit that is set if the address follows a call instruction.
 */
#define LINK_BITS 10u

static uint64_t links[1u << LINK_BITS];

void mf_step_forget(uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < 1u << LINK_BITS; i++)
		mf_rule_cache_clear(&links[i], 1, start, end);
}

uint64_t mf_unwind_stack_end(uint64_t sp)
{
	uint64_t end = mf_stack_bounds()->end;

	return sp < end && end - sp < MF_STACK_MAX ? end : sp + FRAME_MAX;
}

bool mf_step_is_there(uint64_t address, uint64_t known)
{
	return (known && address >> PAGE_BITS == known >> PAGE_BITS &&
		(address + 7) >> PAGE_BITS == known >> PAGE_BITS) ||
	       mf_stack_bounds_reaches(address) || mf_readable_word(address);
}

/* Returns whether the code before @pc ends with a call instruction. */
static bool follows_call(uint64_t pc)
{
	uint64_t page = (pc - 1) & ~(PAGE_SIZE - 1);
	size_t size = MF_CALLSITE_BYTES;
	int64_t distance;

	if (!mf_readable_word(page))
		return false;
	/* The bytes before @pc may be in another page, which may be unreadable. */
	if (pc - size < page && !mf_readable_word(page - PAGE_SIZE))
		size = pc - page;
	return mf_callsite_ends((const uint8_t *)(uintptr_t)pc, size, &distance);
}

bool mf_step_is_return_address(uint64_t pc)
{
	uint64_t *slot = &links[(pc * 0x9e3779b97f4a7c15ull) >> (64 - LINK_BITS)];
	uint64_t known = __atomic_load_n(slot, __ATOMIC_RELAXED);
	bool follows;

	if (known && known >> 1 == pc)
		return known & 1;
	follows = !(pc >> 47) && follows_call(pc);
	if (mf_rule_cache_keep_guesses && !(pc >> 47)) {
		mf_rule_cache_note_guess();
		__atomic_store_n(slot, pc << 1 | follows, __ATOMIC_RELAXED);
	}
	return follows;
}

/*
 * Guesses the caller from the frame pointer. Tests whether the memory is readable: if the frame is on a coroutine's
 * stack, there may be unmapped memory between it and the end of the thread's stack.
 */
static __attribute__((noinline)) enum mf_step step_by_frame_pointer(struct mf_registers *registers,
								 struct mf_walk_frame *frame)
{
	uint64_t fp = registers->fp;

	frame->consumes_fp = true;
	if (fp & 7 || fp < registers->sp || fp + 16 > mf_unwind_stack_end(registers->sp))
		return MF_STEP_LOST;
	if (!mf_step_is_there(fp, registers->sp - 8) || !mf_step_is_there(fp + 8, fp))
		return MF_STEP_ASTRAY;
	frame->fp_slot = fp;
	frame->pc_slot = fp + 8;
	registers->fp = mf_step_load(frame->fp_slot);
	registers->pc = mf_step_load(frame->pc_slot);
	registers->sp = fp + 16;
	registers->exact = false;
	return registers->pc ? MF_STEP_GUESSED : MF_STEP_LOST;
}

bool mf_step_is_link(enum mf_step taken, uint64_t pc)
{
	if (!mf_step_is_guessed(taken) || mf_step_is_return_address(pc))
		return false;
	return taken != MF_STEP_AWAY || mf_rule_cache_of(mf_step_rule_address(pc, false)).cfa != MF_CFA_BORDER;
}

/* Returns the address of general-purpose register @number in the signal frame that the kernel stored at @sp. */
static uint64_t saved_register(uint64_t sp, int number)
{
	return sp + offsetof(ucontext_t, uc_mcontext.gregs) + (uint64_t)number * sizeof(greg_t);
}

static __attribute__((noinline)) enum mf_step leave_signal_frame(struct mf_registers *registers, struct mf_walk_frame *frame)
{
	uint64_t sp = registers->sp;

	frame->pc_slot = saved_register(sp, REG_RIP);
	frame->fp_slot = saved_register(sp, REG_RBP);
	frame->other_slot = saved_register(sp, REG_RSP);
	frame->other = mf_step_load(frame->other_slot);
	registers->pc = mf_step_load(frame->pc_slot);
	registers->fp = mf_step_load(frame->fp_slot);
	registers->sp = frame->other;
	registers->exact = true;
	return registers->pc ? MF_STEP_DONE : MF_STEP_END;
}

/*
 * Returns whether all words that leave_signal_frame() loads are readable. @known: an address known to be readable, or
 * 0; see mf_step_is_there().
 */
static bool is_signal_frame(uint64_t sp, uint64_t known)
{
	return mf_step_is_there(saved_register(sp, REG_RBP), known) && mf_step_is_there(saved_register(sp, REG_RSP), known) &&
	       mf_step_is_there(saved_register(sp, REG_RIP), known);
}

/*
 * Asks the kernel whether the words that hold the caller's registers are readable. If the system call for this is
 * forbidden, assumes that words near @sp are readable, so that stacks are not cut off there.
 */
enum mf_step mf_step_check_words(uint64_t sp, bool exact, uint64_t pc_slot, uint64_t fp_slot)
{
	const struct mf_stack_bounds *own = mf_stack_bounds();
	bool is_near = pc_slot >= sp && pc_slot - sp < MF_STEP_NEAR;

	if (!mf_step_is_there(pc_slot, exact ? 0 : sp - 8) || (fp_slot && !mf_step_is_there(fp_slot, pc_slot)))
		return is_near && mf_readable_is_forbidden() ? MF_STEP_DONE : MF_STEP_ASTRAY;
	if (mf_stack_bounds_holds(own, pc_slot) && (!fp_slot || mf_stack_bounds_holds(own, fp_slot)) && pc_slot >= sp)
		return MF_STEP_DONE;
	return is_near && !mf_stack_bounds_holds(own, sp) ? MF_STEP_DONE : MF_STEP_AWAY;
}

/* Works on a copy of the registers, so that the caller can keep their values in processor registers; see mf_step(). */
enum mf_step mf_step_rarely(struct mf_registers *registers, struct mf_walk_frame *frame, uint8_t cfa)
{
	struct mf_registers copy = *registers;
	enum mf_step taken;

	if (cfa != MF_CFA_SIGNAL)
		taken = step_by_frame_pointer(&copy, frame);
	else if (is_signal_frame(copy.sp, copy.exact ? 0 : copy.sp - 8) || mf_readable_is_forbidden())
		taken = leave_signal_frame(&copy, frame);
	else
		taken = MF_STEP_ASTRAY;
	*registers = copy;
	return taken;
}

/*
 * Returns whether all memory that mf_step() would access can be read. Used after a guess, because @registers may then
 * be wrong.
 */
static bool is_frame(const struct mf_registers *registers)
{
	struct mf_cfi_rule rule = mf_rule_cache_of(mf_step_rule_address(registers->pc, registers->exact));
	uint64_t fp = registers->fp, cfa = fp + (uint64_t)(int64_t)rule.cfa_offset;
	/* The walk has read the return address from the word just below sp, so that word is readable. */
	uint64_t known = registers->exact ? 0 : registers->sp - 8;

	switch (rule.cfa) {
	case MF_CFA_SP:
		cfa = registers->sp + (uint64_t)(int64_t)rule.cfa_offset;
		break;
	case MF_CFA_FP:
		break;
	case MF_CFA_FP_INDIRECT:
		if (!mf_step_is_there(cfa, known))
			return false;
		cfa = mf_step_load(cfa);
		break;
	case MF_CFA_FP_LINK:
		if (!mf_step_is_there(fp, known))
			return false;
		cfa = mf_step_load(fp) + (uint64_t)(int64_t)rule.cfa_offset;
		break;
	case MF_CFA_SIGNAL:
		return mf_readable_word(saved_register(registers->sp, REG_RBP)) &&
		       mf_readable_word(saved_register(registers->sp, REG_RSP)) &&
		       mf_readable_word(saved_register(registers->sp, REG_RIP));
	default:
		/*
		 * In the outermost frame (MF_CFA_END) and for rules that do not fit into a row (MF_CFA_UNKNOWN),
		 * mf_step() reads no memory. In code without unwind rules, it reads only memory that
		 * step_by_frame_pointer() checks.
		 */
		return true;
	}
	if (rule.fp == MF_FP_AT_CFA)
		fp = cfa + (uint64_t)(int64_t)rule.fp_offset;
	else if (rule.fp == MF_FP_AT_FP)
		fp += (uint64_t)(int64_t)rule.fp_offset;
	else
		fp = cfa - 8;
	return mf_step_is_there(cfa - 8, known) && mf_step_is_there(fp, cfa - 8);
}

enum mf_step mf_step_carefully(struct mf_registers *registers,
							  struct mf_walk_frame *frame,
							  const struct mf_stack_bounds *own)
{
	struct mf_registers copy = *registers;
	enum mf_step taken = frame->is_link ? step_by_frame_pointer(&copy, frame) :
			  is_frame(&copy) ? mf_step(&copy, frame, own) : MF_STEP_ASTRAY;

	*registers = copy;
	return taken;
}

#endif
