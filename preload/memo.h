/* SPDX-License-Identifier: GPL-2.0 */
/* Stacks that a thread has had before, with their contexts: known again without being walked. */
#ifndef MASSIF_PRELOAD_MEMO_H
#define MASSIF_PRELOAD_MEMO_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind.h"

#define MF_MEMO_ROOTS (1u << 11) /* a power of two */
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
 * Nodes lie one behind the other in a pool. When that is full, everything is forgotten. The node that
 * was found last is tried first, from the registers on (the roots) and from each node: what a program
 * has just done, it mostly does again, and then no hash is needed.
 */
struct mf_memo {
	uint32_t mask; /* of the table: slots in use, less one */
	uint32_t n_nodes;
	uint32_t used;	/* words of the pool */
	uint32_t score; /* hits of late; without, few stacks are looked for */
	uint32_t asked;
	uint32_t pause, in_vain; /* then: how few, and how long it has been so */
	uint32_t roots[MF_MEMO_ROOTS];	/* places of first nodes */
	uint64_t values[MF_MEMO_WORDS]; /* scratch: those of a walk */
	int32_t offsets[MF_MEMO_WORDS];
	uint64_t slots[MF_MEMO_SLOTS]; /* open-addressed: a node's place << 32 | tag */
	uint64_t pool[MF_MEMO_POOL];
};

/*
 * A node: this head, then its words in groups. They are in the order in which the walk took them, and
 * are compared in that order, each only after those before it: so nothing is read that the walk would
 * not have read. The last group is filled up with its last word.
 */
struct mf_memo_node {
	/* The first node of a stack: its sp and pc. Another one: whose child, for which value. */
	uint64_t above, value;
	uint32_t number;  /* children know it by this, also when it has been split */
	uint32_t context; /* of the only stack that leads here; 0: there are children */
	int32_t branch;	  /* offset of the word that tells which */
	uint32_t latest;  /* place of the child that was found last */
	uint32_t n_bytes; /* of its groups */
	uint16_t n_words;
	uint8_t room; /* groups, when it was made */
};

#define MF_MEMO_GROUP 4u

struct mf_memo_group {
	int32_t offsets[MF_MEMO_GROUP]; /* from sp */
	uint64_t values[MF_MEMO_GROUP];
};

#define MF_MEMO_SCORE_MAX 256u
#define MF_MEMO_SCORE_HIT 2u

/*
 * Of so many stacks plus one, while nothing is ever found, one is looked for, which takes some loads
 * from memory that nobody else wants: fewer, the longer that lasts.
 */
#define MF_MEMO_IN_VAIN 31u

static inline struct mf_memo_node *mf_memo_at(struct mf_memo *memo, uint32_t place)
{
	return (struct mf_memo_node *)&memo->pool[place];
}

static inline uint32_t *mf_memo_root(struct mf_memo *memo, uint64_t sp, uint64_t pc)
{
	return &memo->roots[(sp + pc) % MF_MEMO_ROOTS];
}

static inline uint64_t mf_memo_word(uint64_t sp, int32_t offset)
{
	return *(const uint64_t *)(uintptr_t)(sp + (uint64_t)(int64_t)offset);
}

static inline __attribute__((always_inline)) bool
mf_memo_is_same(const struct mf_memo_group *group, uint32_t i, uint64_t sp)
{
	return mf_memo_word(sp, group->offsets[i]) == group->values[i];
}

/* Are the words of @node what they were? */
static inline __attribute__((always_inline)) bool
mf_memo_is_unchanged(const struct mf_memo_node *node, uint64_t sp)
{
	const struct mf_memo_group *group = (const struct mf_memo_group *)(uintptr_t)(node + 1);
	const struct mf_memo_group *end =
		(const struct mf_memo_group *)((uintptr_t)group + node->n_bytes);

	for (; group != end; group++)
		if (!mf_memo_is_same(group, 0, sp) || !mf_memo_is_same(group, 1, sp) ||
		    !mf_memo_is_same(group, 2, sp) || !mf_memo_is_same(group, 3, sp))
			return false;
	return true;
}

static inline void mf_memo_note_hit(struct mf_memo *memo)
{
	if (__builtin_expect(memo->score >= MF_MEMO_SCORE_MAX, 1))
		return;
	memo->score += MF_MEMO_SCORE_HIT;
	memo->pause = MF_MEMO_IN_VAIN;
	memo->in_vain = 0;
}

/*
 * The context of the stack that begins with @sp and @pc (MF_CALLER's), if it is one of those found last;
 * else 0, and mf_memo_find() may find it.
 */
static inline __attribute__((always_inline)) uint32_t mf_memo_recall(struct mf_memo *memo, uint64_t sp,
								     uint64_t pc)
{
	const struct mf_memo_node *node;

	if (__builtin_expect(!memo->score, 0))
		return 0;
	node = mf_memo_at(memo, *mf_memo_root(memo, sp, pc));
	if (node->above != sp || node->value != pc)
		return 0;
	while (mf_memo_is_unchanged(node, sp)) {
		uint64_t word;

		if (node->context) {
			/* The score is not worth a register meanwhile. */
			__atomic_signal_fence(__ATOMIC_SEQ_CST);
			mf_memo_note_hit(memo);
			return node->context;
		}
		word = mf_memo_word(sp, node->branch);
		node = mf_memo_at(memo, node->latest);
		if (node->value != word)
			return 0;
	}
	return 0;
}

/* Whether the next stack, which was not found last, is one that is looked for. */
static inline bool mf_memo_looks(struct mf_memo *memo)
{
	return memo->score || !(++memo->asked & memo->pause);
}

/* Whether the last stack, which was not found, was looked for. */
static inline bool mf_memo_has_looked(const struct mf_memo *memo)
{
	return memo->score || !(memo->asked & memo->pause);
}

/* The context of the stack that begins with @registers (MF_CALLER's), which is looked for; 0 if it is not known. */
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
