/* SPDX-License-Identifier: GPL-2.0 */
/* Stacks that a thread has had before, with their contexts: known again without being walked. */
#ifndef MASSIF_PRELOAD_MEMO_H
#define MASSIF_PRELOAD_MEMO_H

#include <stdint.h>

#include "unwind.h"

#define MF_MEMO_SLOTS (1u << 16) /* of the table, at most; a power of two */
#define MF_MEMO_POOL  (1u << 19) /* words */
#define MF_MEMO_WORDS 480u	 /* of a walk; one that read more is not remembered */

/*
 * A thread's memo. Zero is an empty one.
 *
 * A stack is known again by the words that its walk read: where the registers that it began with and
 * all these words are the same, the walk would go the same way. Comparing less would be wrong, since
 * a frame far out may have changed alone.
 *
 * What a walk reads next follows from what it has read. So stacks are kept as a tree: a node holds
 * words, with their values, that all stacks below it have in common, and the place of the word in
 * which they differ; its value leads to the next node, by a table. However many stacks begin with
 * the same registers, each word is compared once.
 *
 * Nodes lie one behind the other in a pool. When that is full, everything is forgotten.
 */
struct mf_memo {
	uint32_t mask; /* of the table: slots in use, less one */
	uint32_t n_nodes;
	uint32_t used;	/* words of the pool */
	uint32_t score; /* hits of late; without, few stacks are looked for */
	uint32_t asked;
	uint32_t pause, in_vain; /* then: how few, and how long it has been so */
	uint64_t values[MF_MEMO_WORDS]; /* scratch: those of a walk */
	int32_t offsets[MF_MEMO_WORDS];
	uint64_t slots[MF_MEMO_SLOTS]; /* open-addressed: a node's place << 32 | tag */
	uint64_t pool[MF_MEMO_POOL];
};

/* The context of the stack that begins with @registers (MF_CALLER's); 0 if it is not known. */
uint32_t mf_memo_find(struct mf_memo *memo, const struct mf_registers *registers);

/*
 * Remembers that @walk, which begins with @registers, has @context (not 0). After it was looked for
 * in vain.
 */
void mf_memo_enter(struct mf_memo *memo, const struct mf_registers *registers,
		   const struct mf_walk *walk, uint32_t context);

/* All of it: code has gone, or contexts have. */
void mf_memo_forget(struct mf_memo *memo);

#endif
