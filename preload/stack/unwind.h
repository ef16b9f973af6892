/* SPDX-License-Identifier: GPL-2.0 */
/* The present thread's call stack. */
#ifndef MASSIF_PRELOAD_UNWIND_H
#define MASSIF_PRELOAD_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

#define MF_DEPTH_MAX 256u /* frames of a stack at most: depth (up to 200) + 50 */

/* A frame's registers, as far as walking needs them. */
struct mf_registers {
	uint64_t pc, sp, fp;
	bool exact; /* pc is the instruction's own address, not a return address */
};

/*
 * MF_FRAME stands for the frame of the function that it stands in, which must keep a frame pointer
 * (-fno-omit-frame-pointer); MF_CALLER_OF() makes of it, as long as that function has not returned,
 * the registers of its caller just after the return to it.
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
/* Without rules of our own only the return address is looked at: libgcc's unwinder does the rest. */
#define MF_FRAME	    __builtin_return_address(0)
#define MF_CALLER_OF(frame) ((struct mf_registers){ .pc = (uint64_t)(uintptr_t)(frame) })
#endif

#define MF_CALLER MF_CALLER_OF(MF_FRAME)

/*
 * A frame, and what was read to find its caller. Slots are addresses of words; 0: no such word. Going
 * the same way from the same registers over the same words gives the same frames, so whoever finds
 * these words unchanged knows the stack without walking it.
 */
struct mf_walk_frame {
	uint64_t sp, pc, fp;
	uint64_t pc_slot;    /* holds the caller's pc; in the outermost frame, 0 */
	uint64_t fp_slot;    /* holds the caller's fp; none: it has this frame's */
	uint64_t other_slot; /* another word that the way went over */
	uint64_t other;	     /* what it held */
	uint32_t node;	     /* of the trie: the owner's, where n_known says that there is one */
	uint16_t n_words;    /* of the walk's: those of this frame and of all outside it */
	uint16_t rule : 11;  /* which one undoes it; 0: it is not remembered */
	bool exact : 1;
	bool consumes_fp : 1; /* finding the caller took fp */
	bool needs_fp : 1;   /* finding this or an outer frame's caller took it: it must be the same */
	bool is_guessed : 1; /* the way to it was a guess */
	bool is_link : 1;    /* and it is no frame, only a link of the chain that leads to the next one */
};

/* A word that the way went over, and what it held. */
struct mf_walk_word {
	uint64_t slot, value;
};

#define MF_WALK_WORDS (3 * MF_DEPTH_MAX)

/*
 * A stack, and the one before it: frames[0] is the outermost one. Zero is an empty one, which is how
 * it begins and what makes it forget.
 */
struct mf_walk {
	uint32_t n;
	bool complete;	 /* frames[0] is the stack's end, not just as deep as was asked for */
	bool lost;	 /* nor is there a way on from it */
	bool repeatable; /* the words tell all, and can be read again: no step took all registers */
	uint32_t n_known; /* outermost frames that have their nodes; the owner's to raise */
	uint8_t owners[MF_WALK_WORDS];		  /* whose the words are */
	struct mf_walk_frame frames[MF_DEPTH_MAX];
	struct mf_walk_frame fresh[MF_DEPTH_MAX]; /* scratch: innermost first */
	struct mf_walk_word words[MF_WALK_WORDS]; /* those that count, outermost first */
};

/*
 * Walks from @caller on, at most @depth (up to MF_DEPTH_MAX) frames, at least one. Frames that are as
 * they were in the walk before are taken over with their nodes, if they had any. Needs
 * no frame pointers (but goes by them in code without unwind tables), allocates nothing and takes no
 * lock. A link that is no frame is among the frames, and counts; but the innermost one never is that.
 */
void mf_unwind(struct mf_walk *walk, const struct mf_registers *caller, uint32_t depth);

/*
 * The same stack as return addresses, innermost first, in @pcs, of room for @depth (up to
 * MF_DEPTH_MAX). Cycles of up to @longest frames are merged as they appear: a frame with the address
 * of the one j frames before it, j as small as possible, takes the last j frames away. @scratch is
 * left empty. Returns their number.
 */
uint32_t mf_unwind_merged(uint64_t *pcs, const struct mf_registers *caller, uint32_t depth,
			  uint32_t longest, struct mf_walk *scratch);

/*
 * Visits the frames from @caller on, at most @depth of them, with the registers @outer of each frame's
 * caller, until @visit returns false. Returns false if the walk was lost or cut off. A
 * frame is guessed here if the way to its caller, or any before it, was a guess. A frame
 * whose rule took all registers has no slots.
 */
typedef bool mf_unwind_visit(const struct mf_walk_frame *frame, const struct mf_registers *outer, void *data);

bool mf_unwind_frames(const struct mf_registers *caller, uint32_t depth, mf_unwind_visit *visit, void *data);

/*
 * Where the stack that @sp lies on ends, at the latest; if nothing is known of it (a coroutine's stack, a
 * signal's), how far from there the next frame may be.
 */
uint64_t mf_unwind_stack_end(uint64_t sp);

/* Forgets what was remembered of the addresses in [@start, @end]: other code may come to lie there. */
void mf_unwind_forget(uint64_t start, uint64_t end);

#endif
