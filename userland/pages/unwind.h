/* SPDX-License-Identifier: GPL-2.0 */
/* Unwinds a copied stack with libunwind: from a thread's registers and stack bytes to its call chain. */
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

/* ELF machine number of the architecture that we are built for. */
#if defined(__x86_64__)
#define MF_UNWIND_ARCH EM_X86_64
#elif defined(__aarch64__)
#define MF_UNWIND_ARCH EM_AARCH64
#endif

/* The registers and stack of a thread at one point in time. The memory belongs to the caller. */
struct mf_user_stack {
	const uint64_t *regs; /* indexed by DWARF number; the last register is the instruction pointer */
	uint32_t n_regs;
	uint64_t sp; /* stack pointer: address of the first byte in @bytes */
	const uint8_t *bytes;
	uint64_t n_bytes;
	bool at_limit; /* the copy was truncated at the size limit and does not reach the end of the stack */
};

/* Why a walk ended. */
enum mf_unwind_end {
	MF_UNWIND_OUTERMOST, /* _start or a thread's first function was reached, according to the unwind rules */
	MF_UNWIND_CUT,	     /* the caller's frame is not in the stack copy */
	MF_UNWIND_NO_RULES,  /* the code has no unwind rules, and its frame pointers do not lead to a plausible
			      * caller */
	MF_UNWIND_FULL,	     /* the requested number of frames was found */
};

/* A call chain; the innermost frame comes first. */
struct mf_walk {
	uint32_t n;
	enum mf_unwind_end end;
	/*
	 * Code addresses, as in struct mf_frame: exact for the innermost frame and for frames that a signal
	 * interrupted; otherwise the return address minus one.
	 */
	uint64_t addresses[MF_UNWIND_FRAMES_MAX];
	/*
	 * Whether this frame was found by following the frame pointer of the previous frame because that frame's code
	 * has no unwind rules. The frame may not be the previous frame's direct caller: functions that do not set up a
	 * frame pointer are missed.
	 */
	bool guessed[MF_UNWIND_FRAMES_MAX];
};

/* Everything that a walk read from the thread. The walk also depends on code and unwind rules, which do not change. */
#define MF_TRACE_REGS_MAX  20
#define MF_TRACE_SLOTS_MAX 1000

struct mf_trace {
	uint32_t n_regs, n_slots;
	uint8_t regs[MF_TRACE_REGS_MAX];    /* DWARF numbers of the registers whose initial values the walk read */
	/* stack words of eight bytes that the walk read, as offsets from sp in bytes */
	uint32_t slots[MF_TRACE_SLOTS_MAX];
};

/* The unwinder of one address space. It caches unwind rules by address. */
struct mf_unwinder;

/*
 * Creates an unwinder. @space, @files and @code must outlive it; the mapped files that it reads are recorded in @code.
 * Returns 0 or -ENOMEM.
 */
int mf_unwinder_create(const struct mf_space *space, struct mf_files *files, struct mf_code *code,
		       struct mf_unwinder **unwinder, struct mf_error *err);
void mf_unwinder_destroy(struct mf_unwinder *unwinder);

/* Drops everything that is cached about code. Call this when code that appears in unwound stacks has been unmapped. */
void mf_unwinder_flush(struct mf_unwinder *unwinder);

/*
 * Walks @stack and finds up to @max frames (at most MF_UNWIND_FRAMES_MAX), and at least one if @stack includes
 * registers. In code without unwind rules, follows frame pointers as long as they lead to plausible callers, and marks
 * the frames found in this way as guessed.
 */
void mf_unwinder_walk(struct mf_unwinder *unwinder, const struct mf_user_stack *stack, uint32_t max,
		      struct mf_walk *walk);

/*
 * Returns the registers and stack words that the last walk read; the result is valid until the next walk. Returns NULL
 * if another stack with the same values could be walked differently, either because the walk read more values than fit
 * into the result, or because it depended on the end of the stack copy or on an unmapped address.
 */
const struct mf_trace *mf_unwinder_trace(const struct mf_unwinder *unwinder);

#endif
