/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What stands in the place of an allocation function of the program's: it calls the original and counts what
 * goes in and comes out.
 *
 * A compiler that sees both the function and its caller lets the caller rely on what this very function
 * leaves alone (gcc's -fipa-ra): registers that any call may change otherwise, vectors included, and it
 * may call it with a stack that is not aligned. So a hook changes no register but that of the result, and
 * passes the stack on as it is. (Status flags are not kept: no compiler lets them live
 * across a call.)
 */
#ifndef MASSIF_PRELOAD_HOOK_H
#define MASSIF_PRELOAD_HOOK_H

#include <stdbool.h>
#include <stdint.h>

/* What a function's arguments and result are. */
enum mf_hook_kind {
	MF_HOOK_SIZE,		 /* (size, ...) */
	MF_HOOK_SIZE_ALIGNMENT,	 /* (size, alignment, ...) */
	MF_HOOK_ALIGNMENT_SIZE,	 /* (alignment, size) */
	MF_HOOK_PAGES,		 /* (size), aligned to pages */
	MF_HOOK_ELEMENTS,	 /* (n, size) */
	MF_HOOK_RESIZE,		 /* (block, size) */
	MF_HOOK_RESIZE_ELEMENTS, /* (block, n, size) */
	MF_HOOK_RESULT,		 /* (&result, alignment, size) */
	MF_HOOK_FREE,		 /* (block, ...) */
	MF_HOOK_KINDS,
};

/*
 * The registers that a call may change, and behind them the frame of the function that is hooked, as if it
 * kept a frame pointer (see MF_CALLER_OF). Assembly knows the order.
 */
struct mf_hook_frame {
	uint64_t r11, r10, r9, r8, rdi, rsi, rdx, rcx, rax;
	const struct mf_hook *hook;
	uint64_t rbp, pc;
};

/* False, and the frame unchanged: the original takes the hook's place, as if there were none. */
typedef bool mf_hook_take(struct mf_hook_frame *frame);

/* One for each function. Assembly knows the first two. */
struct mf_hook {
	mf_hook_take *take;
	const void *original; /* does what the function did */
	const char *trace;    /* for mf_trace_line(); its arguments are the kind's */
};

void mf_hook_init(struct mf_hook *hook, enum mf_hook_kind kind, const void *original, const char *trace);

/* Where functions are led to (detour.h), with their hook. */
void mf_hook_entry(void);

/* Where originals return to: a frame with this return address is a hook's. */
void mf_hook_returns(void);

#endif
