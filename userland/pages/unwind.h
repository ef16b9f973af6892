/* SPDX-License-Identifier: GPL-2.0 */
/* From a thread's registers and a copy of its stack to its call chain, by libunwind. */
#ifndef MASSIF_PAGES_UNWIND_H
#define MASSIF_PAGES_UNWIND_H

#include <elf.h>
#include <stdint.h>

#include "base/error.h"
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
};

/* Why a walk ended. */
enum mf_unwind_end {
	MF_UNWIND_OUTERMOST, /* the rules say so: _start, a thread's first function */
	MF_UNWIND_CUT,	     /* the caller's frame is not in the copy */
	MF_UNWIND_NO_RULES,  /* code without unwind rules: JIT, stripped of .eh_frame, gone file */
	MF_UNWIND_FULL,	     /* as many frames as asked for */
};

/* The unwinder of one address space. It remembers the rules of addresses it has seen. */
struct mf_unwinder;

/* @space and @files must outlive it. Returns 0 or -ENOMEM. */
int mf_unwinder_create(const struct mf_space *space, struct mf_files *files,
		       struct mf_unwinder **unwinder, struct mf_error *err);
void mf_unwinder_destroy(struct mf_unwinder *unwinder);

/* Forgets what it remembers. Needed when code it has unwound through (file->has_code) goes away. */
void mf_unwinder_flush(struct mf_unwinder *unwinder);

/*
 * Walks @stack, innermost frame first, and stores its addresses as struct mf_frame has them: exact
 * for the innermost frame and for one that a signal interrupted, else the return address minus one.
 * Returns how many, 0 only when there are no registers; at most @max.
 */
uint32_t mf_unwinder_walk(struct mf_unwinder *unwinder, const struct mf_user_stack *stack,
			  uint64_t *addresses, uint32_t max, enum mf_unwind_end *end);

#endif
