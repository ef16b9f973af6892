// SPDX-License-Identifier: GPL-2.0
// The present thread's call stack.
//
// Frames are undone by the rules of .eh_frame, remembered by return address. A frame that these
// cannot express, and a machine other than x86-64, is left to libgcc's unwinder, which knows all of
// DWARF and costs twenty times as much. Neither allocates, takes a lock or opens a file; Debian's
// libunwind would be linked as a shared object into the program, where its exception functions
// would stand in for libgcc's.
//
// This is the seam for faster ways of knowing the stack: all the rest of the shim needs is the list
// of return addresses.

#include "unwind.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unwind.h>

#include "cfi.h"

#define OWN_FRAMES_MAX (MF_UNWIND_ROOM - MF_DEPTH_MAX)

struct walk {
	uint64_t *pcs;
	uint32_t n, max;
};

static _Unwind_Reason_Code visit(struct _Unwind_Context *context, void *data)
{
	struct walk *walk = data;
	uint64_t pc = _Unwind_GetIP(context);

	if (!pc || walk->n == walk->max)
		return _URC_END_OF_STACK;
	walk->pcs[walk->n++] = pc;
	return _URC_NO_REASON;
}

static uint32_t walk_completely(uint64_t *pcs, uint32_t max)
{
	struct walk walk = { .pcs = pcs, .max = max };

	_Unwind_Backtrace(visit, &walk);
	return walk.n;
}

#ifdef __x86_64__

#include <ucontext.h>

/*
 * Rules by address: each word holds the address's 48 bits and the number of its rule plus one, so
 * that one load or store is consistent without a lock. There are few different rules: some hundred
 * in a large program.
 */
#define CACHE_BITS 15u
#define RULES_MAX  4096u

static uint64_t cache[1u << CACHE_BITS];
static struct mf_cfi_rule rules[RULES_MAX];
static uint32_t n_rules;
static uint32_t rules_lock;

static uint64_t *cache_slot(uint64_t pc)
{
	return &cache[(pc * 0x9e3779b97f4a7c15ull) >> (64 - CACHE_BITS)];
}

/* The number of @rule; RULES_MAX if it cannot be had now, which costs only the cache's help. */
static uint32_t intern(const struct mf_cfi_rule *rule)
{
	uint32_t i;

	if (__atomic_exchange_n(&rules_lock, 1, __ATOMIC_ACQUIRE))
		return RULES_MAX;
	for (i = 0; i < n_rules; i++)
		if (!memcmp(&rules[i], rule, sizeof(*rule)))
			break;
	if (i == n_rules && n_rules < RULES_MAX) {
		rules[i] = *rule;
		n_rules++;
	}
	__atomic_store_n(&rules_lock, 0, __ATOMIC_RELEASE);
	return i;
}

static struct mf_cfi_rule find_rule(uint64_t pc)
{
	uint64_t *slot = cache_slot(pc), known = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
	struct mf_cfi_rule rule;
	uint32_t number;

	if (__builtin_expect(known >> 16 == pc, 1))
		return rules[(known & 0xffff) - 1];
	rule = mf_cfi_find(pc);
	/* Code that is unknown now may be mapped and known the next time. */
	if (rule.cfa == MF_CFA_UNKNOWN || pc >> 48)
		return rule;
	number = intern(&rule);
	if (number < RULES_MAX)
		__atomic_store_n(slot, pc << 16 | (number + 1), __ATOMIC_RELEASE);
	return rule;
}

void mf_unwind_forget(void)
{
	for (uint32_t i = 0; i < 1u << CACHE_BITS; i++)
		__atomic_store_n(&cache[i], 0, __ATOMIC_RELAXED);
}

struct registers {
	uint64_t pc, sp, fp;
	bool exact; /* pc is an instruction's own address, not one after a call */
};

static uint64_t load(uint64_t address)
{
	return *(const uint64_t *)(uintptr_t)address;
}

static void leave_signal_frame(struct registers *registers)
{
	const ucontext_t *context = (const ucontext_t *)(uintptr_t)registers->sp;

	registers->pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
	registers->sp = (uint64_t)context->uc_mcontext.gregs[REG_RSP];
	registers->fp = (uint64_t)context->uc_mcontext.gregs[REG_RBP];
	registers->exact = true;
}

enum step { STEP_DONE, STEP_END, STEP_UNKNOWN };

static enum step step(struct registers *registers)
{
	struct mf_cfi_rule rule = find_rule(registers->exact ? registers->pc : registers->pc - 1);
	uint64_t cfa, fp = registers->fp;

	switch (rule.cfa) {
	case MF_CFA_END:
		return STEP_END;
	case MF_CFA_SIGNAL:
		leave_signal_frame(registers);
		return registers->pc ? STEP_DONE : STEP_END;
	case MF_CFA_SP:
		cfa = registers->sp + (uint64_t)(int64_t)rule.cfa_offset;
		break;
	case MF_CFA_FP:
		cfa = fp + (uint64_t)(int64_t)rule.cfa_offset;
		break;
	case MF_CFA_FP_INDIRECT:
		if (fp < registers->sp || fp & 7)
			return STEP_UNKNOWN;
		cfa = load(fp + (uint64_t)(int64_t)rule.cfa_offset);
		break;
	default:
		return STEP_UNKNOWN;
	}
	/* A stack only shrinks towards its caller. */
	if (cfa <= registers->sp || cfa & 7)
		return STEP_UNKNOWN;
	if (rule.fp == MF_FP_AT_CFA)
		registers->fp = load(cfa + (uint64_t)(int64_t)rule.fp_offset);
	else if (rule.fp == MF_FP_AT_FP)
		registers->fp = load(fp + (uint64_t)(int64_t)rule.fp_offset);
	registers->pc = load(cfa - 8);
	registers->sp = cfa;
	registers->exact = false;
	return registers->pc ? STEP_DONE : STEP_END;
}

static uint32_t walk_stack(uint64_t *pcs, uint32_t max)
{
	struct registers registers = { .exact = true };
	uint32_t n = 0;

	__asm__ volatile("lea 0(%%rip), %0\n\t"
			 "mov %%rsp, %1\n\t"
			 "mov %%rbp, %2"
			 : "=r"(registers.pc), "=r"(registers.sp), "=r"(registers.fp));
	for (;;) {
		if (n == max)
			return n;
		pcs[n++] = registers.pc;
		switch (step(&registers)) {
		case STEP_DONE:
			break;
		case STEP_END:
			return n;
		case STEP_UNKNOWN:
			/* From the start, since libgcc's unwinder cannot be entered halfway. */
			return walk_completely(pcs, max);
		}
	}
}

#else

static uint32_t walk_stack(uint64_t *pcs, uint32_t max)
{
	return walk_completely(pcs, max);
}

void mf_unwind_forget(void)
{
}

#endif

uint32_t mf_unwind_capture(uint64_t *pcs, const void *caller, uint32_t depth)
{
	uint32_t n, own = 0;

	if (depth > MF_DEPTH_MAX)
		depth = MF_DEPTH_MAX;
	n = walk_stack(pcs, depth + OWN_FRAMES_MAX);
	while (own < n && own < OWN_FRAMES_MAX && pcs[own] != (uint64_t)(uintptr_t)caller)
		own++;
	if (own == n || own == OWN_FRAMES_MAX) {
		/* The caller is certain even where the unwinder is lost. */
		pcs[0] = (uint64_t)(uintptr_t)caller;
		return 1;
	}
	n -= own;
	memmove(pcs, pcs + own, n * sizeof(*pcs));
	return n < depth ? n : depth;
}
