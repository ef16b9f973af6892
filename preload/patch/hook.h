/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A hook replaces one of the program's own allocation functions: it calls the original and counts its arguments
 * and results.
 *
 * A compiler that sees both the function and its caller may let the caller rely on registers that this function leaves
 * unchanged (gcc's -fipa-ra), even call-clobbered ones, vector registers included; and the caller may call the function
 * with an unaligned stack. So a hook changes no register except the one that holds the result, and calls the original
 * with the same stack alignment. (Status flags are not preserved, because no compiler relies on them across a call.)
 */
#ifndef MASSIF_PRELOAD_HOOK_H
#define MASSIF_PRELOAD_HOOK_H

#include <stdbool.h>
#include <stdint.h>

/* The arguments and the result of a hooked function. */
enum mf_hook_kind {
	MF_HOOK_SIZE,		 /* takes (size, ...) */
	MF_HOOK_SIZE_ALIGNMENT,	 /* takes (size, alignment, ...) */
	MF_HOOK_ALIGNMENT_SIZE,	 /* takes (alignment, size) */
	MF_HOOK_PAGES,		 /* takes (size); the block is aligned to a page */
	MF_HOOK_ELEMENTS,	 /* takes (n, size) */
	MF_HOOK_RESIZE,		 /* takes (block, size) */
	MF_HOOK_RESIZE_ELEMENTS, /* takes (block, n, size) */
	MF_HOOK_RESULT,		 /* takes (&result, alignment, size) */
	MF_HOOK_FREE,		 /* takes (block, ...) */
	MF_HOOK_KINDS,
};

/*
 * The call-clobbered registers, followed by the hooked function's frame, laid out as if the function kept a frame
 * pointer (see MF_CALLER_OF). The assembly relies on the order.
 */
struct mf_hook_frame {
	uint64_t r11, r10, r9, r8, rdi, rsi, rdx, rcx, rax;
	const struct mf_hook *hook;
	uint64_t rbp, pc;
};

/*
 * Handles a call to the hooked function. If the original should run as if there were no hook, returns false and leaves
 * @frame unchanged.
 */
typedef bool mf_hook_take(struct mf_hook_frame *frame);

/* A hooked function. The assembly relies on the first two members. */
struct mf_hook {
	mf_hook_take *take;
	const void *original; /* callable copy of the hooked function */
	const char *trace;    /* format for mf_trace_line(); the hook's kind determines the arguments of the format */
};

void mf_hook_init(struct mf_hook *hook, enum mf_hook_kind kind, const void *original, const char *trace);

/* Entry point of all hooks: the target of detours (code_detour.h) whose datum is a struct mf_hook. */
void mf_hook_entry(void);

/*
 * The address in mf_hook_call() to which an original function returns if a hook called it. So a return address equal to
 * this one identifies a call from a hook.
 */
void mf_hook_returns(void);

#endif
