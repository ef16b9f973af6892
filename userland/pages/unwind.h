/* SPDX-License-Identifier: GPL-2.0 */
/* From a thread's registers and a copy of its stack to its call chain, by libunwind. */
#ifndef MASSIF_PAGES_UNWIND_H
#define MASSIF_PAGES_UNWIND_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "pages/code.h"
#include "pages/files.h"
#include "pages/space.h"

#define MF_UNWIND_FRAMES_MAX 256

/* The architecture that it is built for, by ELF's number. */
#if defined(__x86_64__)
#define MF_UNWIND_ARCH EM_X86_64
#elif defined(__aarch64__)
#define MF_UNWIND_ARCH EM_AARCH64
#endif

/* What was captured of a thread. Belongs to the caller. */
struct mf_user_stack {
	const uint64_t *regs; /* by DWARF number; the instruction pointer is the last */
	uint32_t n_regs;
	uint64_t sp; /* address of the first of the bytes */
	const uint8_t *bytes;
	uint64_t n_bytes;
	bool at_limit; /* the bytes end only because no more are ever copied */
};

/* Why a walk ended. */
enum mf_unwind_end {
	MF_UNWIND_OUTERMOST, /* the rules say so: _start, a thread's first function */
	MF_UNWIND_CUT,	     /* the caller's frame is not in the copy */
	MF_UNWIND_NO_RULES,  /* code without unwind rules, and no chain of frame pointers either */
	MF_UNWIND_FULL,	     /* as many frames as asked for */
};

/* A stack as a walk found it, innermost frame first. */
struct mf_walk {
	uint32_t n;
	enum mf_unwind_end end;
	/*
	 * As struct mf_frame has them: exact for the innermost frame and for one that a signal
	 * interrupted, else the return address minus one.
	 */
	uint64_t addresses[MF_UNWIND_FRAMES_MAX];
	/*
	 * The frame was found by the frame pointer of the one before, which is code without rules.
	 * It was called, but perhaps not by that one: whoever keeps no frame pointer is missing.
	 */
	bool guessed[MF_UNWIND_FRAMES_MAX];
};

/* All that a walk read of the thread; the rest is code and rules, which do not change. */
#define MF_TRACE_REGS_MAX  20
#define MF_TRACE_SLOTS_MAX 1000

struct mf_trace {
	uint32_t n_regs, n_slots;
	uint8_t regs[MF_TRACE_REGS_MAX];    /* numbers */
	uint32_t slots[MF_TRACE_SLOTS_MAX]; /* offsets of eight bytes each from sp */
};

/* The unwinder of one address space. It remembers the rules of addresses it has seen. */
struct mf_unwinder;

/*
 * @space, @files and @code must outlive it. What it reads of mapped files is noted in @code. Returns
 * 0 or -ENOMEM.
 */
int mf_unwinder_create(const struct mf_space *space, struct mf_files *files, struct mf_code *code,
		       struct mf_unwinder **unwinder, struct mf_error *err);
void mf_unwinder_destroy(struct mf_unwinder *unwinder);

/* Forgets what it remembers. Needed when code it has unwound through goes away. */
void mf_unwinder_flush(struct mf_unwinder *unwinder);

/*
 * Walks @stack, up to @max frames (at most MF_UNWIND_FRAMES_MAX). None are found only when there
 * are no registers. Where code has no unwind rules it goes on by frame pointers, as long as what
 * they lead to looks like callers, and says so.
 */
void mf_unwinder_walk(struct mf_unwinder *unwinder, const struct mf_user_stack *stack, uint32_t max,
		      struct mf_walk *walk);

/*
 * What the last walk read; valid until the next. NULL if a stack that is equal in that may yet lead
 * to another walk: too much was read, or it ended where the copy did.
 */
const struct mf_trace *mf_unwinder_trace(const struct mf_unwinder *unwinder);

#endif
