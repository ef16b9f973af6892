/* SPDX-License-Identifier: GPL-2.0 */
/* Walks the current thread's call stack. */
#ifndef MASSIF_PRELOAD_UNWIND_H
#define MASSIF_PRELOAD_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/function.h"

/*
 * Maximum number of frames in a walk: the maximum of --depth (200) plus 50 for the allocation functions that the report
 * later removes, rounded up to a power of two.
 */
#define MF_DEPTH_MAX 256u

/* The registers of a frame that are needed for a walk. */
struct mf_registers {
	uint64_t pc, sp, fp;
	bool exact; /* true if the frame was interrupted: pc is the next instruction, not a return address */
	uint8_t function; /* enum mf_function: which allocation function was called there, if that is known */
};

/*
 * MF_FRAME is the frame address of the function in which it is used. That function must have a frame pointer
 * (-fno-omit-frame-pointer). Until it returns, MF_CALLER_OF() can derive from that address the values that the
 * registers will have in the function's caller after the return.
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
/* On processors other than x86-64, libgcc's unwinder walks stacks, and needs only the return address from MF_FRAME. */
#define MF_FRAME	    __builtin_return_address(0)
#define MF_CALLER_OF(frame) ((struct mf_registers){ .pc = (uint64_t)(uintptr_t)(frame) })
#endif

#define MF_CALLER MF_CALLER_OF(MF_FRAME)

/* The same for a call of the allocation function @function (enum mf_function). */
static inline struct mf_registers mf_caller_by(const void *frame, unsigned int function)
{
	struct mf_registers caller = MF_CALLER_OF(frame);

	caller.function = (uint8_t)function;
	return caller;
}

/*
 * A frame, and the words that were read to find its caller. Each slot is the address of one of these words, or 0 if
 * there is no such word. If the initial registers and all words are unchanged, the frames are the same, and no new walk
 * is needed.
 */
struct mf_walk_frame {
	uint64_t sp, pc, fp;
	/* address of the word that holds the return address; that word is 0 if the frame is the outermost one */
	uint64_t pc_slot;
	uint64_t fp_slot;    /* address of the caller's fp; 0 if the caller's fp is the same */
	uint64_t other_slot; /* address of another word that was read to find the caller; 0 if there is none */
	uint64_t other;	     /* value of the stack word at @other_slot */
	uint32_t node;	     /* node in the trie; valid in the outermost n_known frames; set by context.c */
	uint16_t n_words;    /* number of words that were read for this frame and all frames further out */
	uint16_t rule : 11;  /* number of the frame's rule plus one; 0 if the rule is not cached */
	bool exact : 1;
	bool consumes_fp : 1; /* the frame pointer was used to find the caller */
	/* @fp was used to find the frames further out, so they can be reused only if @fp is also unchanged */
	bool needs_fp : 1;
	bool is_guessed : 1; /* the frame was found by a guess */
	bool is_link : 1;    /* not a real frame, but a link in the chain of frame pointers that a guess has followed */
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
	bool complete;	 /* frames[0] is the end of the stack: the walk was not cut off at the requested depth */
	bool lost;	 /* the walk could not continue beyond frames[0] */
	/*
	 * true if the stack is the same whenever the initial registers and @words are unchanged; false, for example, if
	 * a step needed more registers than pc, sp and fp
	 */
	bool repeatable;
	/* number of outermost frames whose trie node (member @node) is valid; context.c increases it */
	uint32_t n_known;
	uint8_t owners[MF_WALK_WORDS];		  /* index of the frame that each word belongs to */
	struct mf_walk_frame frames[MF_DEPTH_MAX];
	struct mf_walk_frame fresh[MF_DEPTH_MAX]; /* scratch space: new frames, innermost first */
	/* The words that the walk has read, those of the outermost frame first. */
	struct mf_walk_word words[MF_WALK_WORDS];
};

/*
 * Walks the stack, starting at @caller: at least one frame and at most @depth frames (up to MF_DEPTH_MAX). Frames that
 * are the same as in the previous walk keep their trie nodes. Allocates nothing and never waits for a lock.
 *
 * Frame pointers are needed only in code without unwind tables, where the walk guesses that the saved frame pointer
 * leads to the next frame. The guess may instead lead to a link, a pair of words that is part of the chain of frame
 * pointers but belongs to no real frame. Links are included in the walk with @is_link set, and count towards @depth.
 * The innermost frame is never a link.
 */
void mf_unwind(struct mf_walk *walk, const struct mf_registers *caller, uint32_t depth);

/*
 * Appends @pc to the @n addresses in @pcs, unless @pc is already among the last @longest of them. In that case a cycle
 * of calls is complete, and the addresses after the last occurrence of @pc are removed instead. Returns the new number
 * of addresses.
 */
static inline uint32_t mf_unwind_merge_cycle(uint64_t *pcs, uint32_t n, uint64_t pc, uint32_t longest)
{
	pcs[n] = pc;
	for (uint32_t j = 1; j <= longest && j <= n; j++)
		if (pcs[n - j] == pc)
			return n + 1 - j;
	return n + 1;
}

/*
 * Stores the return addresses of the stack, innermost first, in @pcs, which has room for @depth (up to MF_DEPTH_MAX).
 * Cycles of up to @longest frames are merged as they are found: if a frame has the same address as the one j frames
 * before it, for the smallest such j, the last j frames are removed. @scratch is overwritten. Returns the number of
 * addresses.
 */
uint32_t mf_unwind_merged(uint64_t *pcs, const struct mf_registers *caller, uint32_t depth,
			  uint32_t longest, struct mf_walk *scratch);

/*
 * mf_unwind_frames() calls @visit for at most @depth frames, starting at @caller, until @visit returns false. It passes
 * each frame together with @outer, the registers of that frame's caller. Returns false if the walk was lost or cut off
 * at @depth. For frames passed to @visit, is_guessed is true if the step from the frame to its caller, or any step
 * before it, was a guess. If the step to the caller needed more registers than pc, sp and fp, the frame's pc_slot and
 * fp_slot are 0.
 */
typedef bool mf_unwind_visit(const struct mf_walk_frame *frame, const struct mf_registers *outer, void *data);

bool mf_unwind_frames(const struct mf_registers *caller, uint32_t depth, mf_unwind_visit *visit, void *data);

/*
 * Returns an upper bound on the end of the stack that @sp is on. If that stack is unknown (it belongs to a coroutine or
 * a signal handler), the bound is the furthest address at which the next frame is accepted.
 */
uint64_t mf_unwind_stack_end(uint64_t sp);

/* Drops cached data about addresses in [@start, @end], where other code may be loaded later. */
void mf_unwind_forget(uint64_t start, uint64_t end);

#endif
