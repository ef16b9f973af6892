/* SPDX-License-Identifier: GPL-2.0 */
/* Stacks that a thread has had before, with their contexts: known again without being walked. */
#ifndef MASSIF_PRELOAD_MEMO_H
#define MASSIF_PRELOAD_MEMO_H

#include <stdint.h>

#include "unwind.h"

#define MF_MEMO_SETS 512u
#define MF_MEMO_WAYS 8u
#define MF_MEMO_POOL (1u << 17) /* words, a power of two */
#define MF_MEMO_WORDS 480u	/* of a walk; one that read more is not remembered */

/*
 * A thread's memo. Zero is an empty one.
 *
 * An entry holds the words that its walk read. It stands for the present stack when that begins with
 * the same registers and all these words are unchanged: the walk would go the same way. Comparing
 * less would be wrong, since a frame far out may have changed alone.
 *
 * Entries lie one behind the other in a pool that is written round and round. A place in it is
 * counted without end, so that an entry which was overwritten is known by its distance.
 */
struct mf_memo {
	/* Each set's entries, the newest first: place << 32 | tag. */
	uint64_t sets[MF_MEMO_SETS][MF_MEMO_WAYS];
	uint32_t next;	/* place of the next entry, in words; starts at MF_MEMO_POOL */
	uint32_t first; /* older places have been forgotten */
	uint32_t score; /* hits of late; without, few stacks are worth entering */
	uint32_t turned_away;
	uint32_t offsets[MF_MEMO_WORDS]; /* scratch */
	uint64_t pool[MF_MEMO_POOL];
};

/* The context of the stack that begins with @registers; 0 if it is not known. */
uint32_t mf_memo_find(struct mf_memo *memo, const struct mf_registers *registers);

/* Remembers that @walk, which begins with @registers, has @context (not 0). */
void mf_memo_enter(struct mf_memo *memo, const struct mf_registers *registers,
		   const struct mf_walk *walk, uint32_t context);

/* All of it: code has gone, or contexts have. */
void mf_memo_forget(struct mf_memo *memo);

#endif
