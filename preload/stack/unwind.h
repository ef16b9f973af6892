/* SPDX-License-Identifier: GPL-2.0 */
/* Walks the current thread's call stack. */
#ifndef MASSIF_PRELOAD_UNWIND_H
#define MASSIF_PRELOAD_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

#define MF_DEPTH_MAX 256u /* most frames of a stack: the depth option (up to 200) + 50 */

/* The registers of a frame that a walk needs. */
struct mf_registers {
	uint64_t pc, sp, fp;
	bool exact; /* the frame was interrupted: pc is its next instruction, not a return address */
};

/*
 * MF_FRAME is the frame of the function in which it is used. That function must have a frame pointer
 * (-fno-omit-frame-pointer). Until the function returns, MF_CALLER_OF() derives the registers that its caller will have
 * after the return.
 */
#if defined(__x86_64__)
#define MF_FRAME __builtin_frame_address(0)
#define MF_CALLER_OF(frame)                                     \
	((struct mf_registers){                                 \
		.pc = ((const uint64_t *)(frame))[1],           \
		.sp = (uint64_t)(uintptr_t)(frame) + 16,        \
		.fp = ((const uint64_t *)(frame))[0],           \
	})
#else
/* On other processors libgcc's unwinder is used, and only the return address is needed. */
#define MF_FRAME	    __builtin_return_address(0)
#define MF_CALLER_OF(frame) ((struct mf_registers){ .pc = (uint64_t)(uintptr_t)(frame) })
#endif

#define MF_CALLER MF_CALLER_OF(MF_FRAME)

/*
 * A frame, and the words that were read to find its caller. Slots are the addresses of these words, or 0. If the
 * initial registers and all words are unchanged, the frames are the same, so the stack is known without a walk.
 */
struct mf_walk_frame {
	uint64_t sp, pc, fp;
	uint64_t pc_slot;    /* holds the caller's pc, or 0 if the frame is the outermost one */
	uint64_t fp_slot;    /* holds the caller's fp; 0 if the caller has the same fp as this frame */
	uint64_t other_slot; /* another word that was read */
	uint64_t other;	     /* its value */
	uint32_t node;	     /* node in the trie, valid in the outermost n_known frames; set by context.c */
	uint16_t n_words;    /* number of the walk's words that belong to this frame and those outside it */
	uint16_t rule : 11;  /* number of the frame's rule plus one; 0 if the rule was not cached */
	bool exact : 1;
	bool consumes_fp : 1; /* fp was used to find the caller */
	bool needs_fp : 1;   /* the walk from here on depends on fp, so fp must be unchanged as well */
	bool is_guessed : 1; /* the frame was found by a guess */
	bool is_link : 1;    /* a guess, and no real frame but a link in the chain of frame pointers */
};

/* A word that a walk has read, and its value. */
struct mf_walk_word {
	uint64_t slot, value;
};

#define MF_WALK_WORDS (3 * MF_DEPTH_MAX)

/*
 * The current stack. The next walk reuses the frames that are unchanged. frames[0] is the outermost frame. A zeroed
 * walk is empty.
 */
struct mf_walk {
	uint32_t n;
	bool complete;	 /* frames[0] is the end of the stack; the walk was not cut off at the requested depth */
	bool lost;	 /* the walk could not continue beyond frames[0] */
	bool repeatable; /* the words determine the stack and can be read again; no step has used all registers */
	uint32_t n_known; /* number of outermost frames whose node is valid; raised by context.c */
	uint8_t owners[MF_WALK_WORDS];		  /* index of the frame that each word belongs to */
	struct mf_walk_frame frames[MF_DEPTH_MAX];
	struct mf_walk_frame fresh[MF_DEPTH_MAX]; /* scratch space: new frames, innermost first */
	struct mf_walk_word words[MF_WALK_WORDS]; /* the words that were read, outermost first */
};

/*
 * Walks from @caller on, at most @depth (up to MF_DEPTH_MAX) frames, at least one. Frames that are the same as in the
 * previous walk keep their nodes. Needs no frame pointers, except in code without unwind tables. Allocates nothing and
 * takes no lock. Links that are not frames (is_link) are included and count towards @depth; the innermost frame is
 * never a link.
 */
void mf_unwind(struct mf_walk *walk, const struct mf_registers *caller, uint32_t depth);

/*
 * Stores the stack as return addresses, innermost first, in @pcs, which has room for @depth (up to MF_DEPTH_MAX).
 * Cycles of up to @longest frames are merged while they are found: if a frame has the same address as the one j frames
 * before it, with the smallest such j, the last j frames are removed. @scratch is overwritten. Returns the number of
 * addresses.
 */
uint32_t mf_unwind_merged(uint64_t *pcs, const struct mf_registers *caller, uint32_t depth,
			  uint32_t longest, struct mf_walk *scratch);

/*
 * Calls @visit for at most @depth frames from @caller on, with the registers @outer of each frame's caller, until it
 * returns false. Returns false if the walk was lost or cut off at @depth. In this function, a frame is guessed if the
 * step to its caller, or any before it, was a guess. A frame whose step needed all registers has no slots.
 */
typedef bool mf_unwind_visit(const struct mf_walk_frame *frame, const struct mf_registers *outer, void *data);

bool mf_unwind_frames(const struct mf_registers *caller, uint32_t depth, mf_unwind_visit *visit, void *data);

/*
 * Returns an upper bound of the end of the stack that @sp is on. On an unknown stack (a coroutine's, a signal's) that
 * is the greatest distance at which the next frame is accepted.
 */
uint64_t mf_unwind_stack_end(uint64_t sp);

/* Drops cached data about the addresses in [@start, @end], where other code may be loaded later. */
void mf_unwind_forget(uint64_t start, uint64_t end);

#endif
