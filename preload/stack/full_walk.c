// SPDX-License-Identifier: GPL-2.0
// A stack walk that recovers all registers. It is as slow as other full unwinders, but it reads only memory that is
// mapped.

#include "full_walk.h"

#include <string.h>

#include "cfi.h"
#include "core/readable.h"
#include "step.h"

#ifdef __x86_64__

/* Maximum number of the shim's own frames between capture() and the program's frame that called the shim. */
#define OWN_FRAMES_MAX 32u

/*
 * Stores the current instruction's address and the registers that calls preserve. Marks all other registers as unknown.
 */
static inline __attribute__((always_inline)) void capture(struct mf_full_walk *complete)
{
	uint64_t *value = complete->registers.value;

	__asm__ volatile("mov %%rbx, 24(%0)\n\t"
			 "mov %%rbp, 48(%0)\n\t"
			 "mov %%rsp, 56(%0)\n\t"
			 "mov %%r12, 96(%0)\n\t"
			 "mov %%r13, 104(%0)\n\t"
			 "mov %%r14, 112(%0)\n\t"
			 "mov %%r15, 120(%0)\n\t"
			 "lea 1f(%%rip), %%rax\n\t"
			 "mov %%rax, 128(%0)\n"
			 "1:"
			 :
			 : "r"(value)
			 : "rax", "memory");
	complete->registers.known = 1u << 3 | 1u << MF_DWARF_RBP | 1u << MF_DWARF_RSP | 0xfu << 12 | 1u << MF_DWARF_RA;
	complete->exact = true;
}

/*
 * Reads the word at @address if it is readable. @data points to the frame's stack pointer. If the system call that
 * tests whether memory is readable is forbidden, assumes that addresses close to the stack pointer are readable, as
 * mf_step_check_words() does.
 */
static bool read_word(uint64_t address, uint64_t *word, void *data)
{
	uint64_t sp = *(const uint64_t *)data, aligned = address & ~7ull;

	if (!mf_stack_bounds_holds(mf_stack_bounds(), address) || !mf_stack_bounds_holds(mf_stack_bounds(), address + 7)) {
		bool is_there = mf_step_is_there(aligned, 0) && (aligned == address || mf_step_is_there(aligned + 8, 0));

		if (!is_there && !(mf_readable_is_forbidden() && address - sp < MF_STEP_NEAR))
			return false;
	}
	memcpy(word, (const void *)(uintptr_t)address, sizeof(*word));
	return true;
}

static enum mf_frame_undone undo(struct mf_full_walk *complete)
{
	struct mf_expression_registers *registers = &complete->registers;
	uint64_t pc = mf_step_rule_address(registers->value[MF_DWARF_RA], complete->exact);
	uint64_t sp = registers->value[MF_DWARF_RSP];
	struct mf_rows_object object = mf_cfi_object(pc);

	complete->steps++;
	return mf_frame_undo(&object, pc, registers, &complete->exact, read_word, &sp);
}

static bool is_at(const struct mf_full_walk *complete, const struct mf_registers *at)
{
	return complete->registers.value[MF_DWARF_RA] == at->pc && complete->registers.value[MF_DWARF_RSP] == at->sp;
}

/*
 * Continues the walk up to the frame @at. Returns false if the walk does not reach it within @steps + OWN_FRAMES_MAX
 * frames.
 */
static bool catch_up(struct mf_full_walk *complete, uint32_t steps, const struct mf_registers *at)
{
	while (!is_at(complete, at))
		if (complete->steps >= steps + OWN_FRAMES_MAX || undo(complete) != MF_FRAME_DONE)
			return false;
	return true;
}

static void set(struct mf_expression_registers *registers, uint8_t reg, uint64_t value)
{
	registers->value[reg] = value;
	registers->known |= 1u << reg;
}

enum mf_frame_undone mf_full_walk_step(struct mf_full_walk *complete, uint32_t steps, const struct mf_registers *at,
				      struct mf_registers *outer)
{
	struct mf_expression_registers *registers = &complete->registers;
	enum mf_frame_undone undone;

	if (!complete->begun) {
		complete->begun = true;
		complete->steps = 0;
		capture(complete);
	}
	if (!catch_up(complete, steps, at)) {
		registers->known = 0;
		complete->steps = steps;
	}
	set(registers, MF_DWARF_RA, at->pc);
	set(registers, MF_DWARF_RSP, at->sp);
	set(registers, MF_DWARF_RBP, at->fp);
	complete->exact = at->exact;
	undone = undo(complete);
	*outer = (struct mf_registers){
		.pc = registers->value[MF_DWARF_RA],
		.sp = registers->value[MF_DWARF_RSP],
		.fp = registers->known >> MF_DWARF_RBP & 1 ? registers->value[MF_DWARF_RBP] : 0,
		.exact = complete->exact,
	};
	return undone;
}

#endif
