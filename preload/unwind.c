// SPDX-License-Identifier: GPL-2.0
// The present thread's call stack.
//
// Frames are undone by the rules of .eh_frame, remembered by return address; code that has none (made
// at run time, or assembly) is taken to keep a frame pointer, as most of it does. A frame that these
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
	uint32_t merge; /* frames of a cycle at most */
};

/* Returns false when there is no room for more. */
static inline bool add(struct walk *walk, uint64_t pc)
{
	if (walk->n == walk->max)
		return false;
	walk->pcs[walk->n++] = pc;
	for (uint32_t j = 1; __builtin_expect(j <= walk->merge, 0) && j < walk->n; j++) {
		if (walk->pcs[walk->n - 1 - j] == pc) {
			walk->n -= j;
			break;
		}
	}
	return true;
}

static _Unwind_Reason_Code visit(struct _Unwind_Context *context, void *data)
{
	struct walk *walk = data;
	uint64_t pc = _Unwind_GetIP(context);

	return pc && add(walk, pc) ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static void walk_completely(struct walk *walk)
{
	walk->n = 0;
	_Unwind_Backtrace(visit, walk);
}

#ifdef __x86_64__

#include <pthread.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

/* Bytes; larger distances are between different stacks. */
#define STACK_MAX (1ull << 30)

/* The program's first stack: where the kernel put argc. */
extern void *__libc_stack_end;

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
	if (rule.cfa == MF_CFA_UNKNOWN || rule.cfa == MF_CFA_NONE || pc >> 48)
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

/*
 * Where the stack that @sp lies on ends; @sp itself if that is not known (a coroutine's stack, a
 * signal's). glibc puts a thread's descriptor at the upper end of the stack that it maps.
 */
static uint64_t stack_end(uint64_t sp)
{
	static __thread uint64_t end __attribute__((tls_model("initial-exec")));

	if (!end)
		end = syscall(SYS_gettid) == getpid() ? (uint64_t)(uintptr_t)__libc_stack_end :
							(uint64_t)(uintptr_t)pthread_self();
	return sp < end && end - sp < STACK_MAX ? end : sp;
}

/* A guess, but a checked one: nothing is read that is not stack. */
static bool step_by_frame_pointer(struct registers *registers)
{
	uint64_t fp = registers->fp;

	if (fp & 7 || fp < registers->sp || fp + 16 > stack_end(registers->sp))
		return false;
	registers->fp = load(fp);
	registers->pc = load(fp + 8);
	registers->sp = fp + 16;
	registers->exact = false;
	return registers->pc != 0;
}

enum step { STEP_DONE, STEP_END, STEP_UNKNOWN };

static enum step step(struct registers *registers)
{
	struct mf_cfi_rule rule = find_rule(registers->exact ? registers->pc : registers->pc - 1);
	uint64_t cfa, fp = registers->fp;

	switch (rule.cfa) {
	case MF_CFA_END:
		return STEP_END;
	case MF_CFA_NONE:
		return step_by_frame_pointer(registers) ? STEP_DONE : STEP_END;
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

static void walk_stack(struct walk *walk)
{
	struct registers registers = { .exact = true };

	__asm__ volatile("lea 0(%%rip), %0\n\t"
			 "mov %%rsp, %1\n\t"
			 "mov %%rbp, %2"
			 : "=r"(registers.pc), "=r"(registers.sp), "=r"(registers.fp));
	while (add(walk, registers.pc)) {
		switch (step(&registers)) {
		case STEP_DONE:
			break;
		case STEP_END:
			return;
		case STEP_UNKNOWN:
			/* From the start, since libgcc's unwinder cannot be entered halfway. */
			walk_completely(walk);
			return;
		}
	}
}

#else

static void walk_stack(struct walk *walk)
{
	walk_completely(walk);
}

void mf_unwind_forget(void)
{
}

#endif

uint32_t mf_unwind_capture(uint64_t *pcs, const void *caller, uint32_t depth, uint32_t merge)
{
	struct walk walk = { .pcs = pcs, .merge = merge };
	uint32_t own = 0;

	if (depth > MF_DEPTH_MAX)
		depth = MF_DEPTH_MAX;
	walk.max = depth + OWN_FRAMES_MAX;
	walk_stack(&walk);
	while (own < walk.n && own < OWN_FRAMES_MAX && pcs[own] != (uint64_t)(uintptr_t)caller)
		own++;
	if (own == walk.n || own == OWN_FRAMES_MAX) {
		/* The caller is certain even where the unwinder is lost. */
		pcs[0] = (uint64_t)(uintptr_t)caller;
		return 1;
	}
	walk.n -= own;
	memmove(pcs, pcs + own, walk.n * sizeof(*pcs));
	return walk.n < depth ? walk.n : depth;
}
