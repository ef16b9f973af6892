/* SPDX-License-Identifier: GPL-2.0 */
/* Stacks that a thread has had before, with their contexts: known again without being walked. */
#ifndef MASSIF_PRELOAD_MEMO_H
#define MASSIF_PRELOAD_MEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind.h"

#define MF_MEMO_ROOTS (1u << 13) /* a power of two */
#define MF_MEMO_WORDS 480u	 /* of a walk; one that read more is not remembered */
#define MF_MEMO_PATH  6u
#define MF_MEMO_LINE  64u	 /* nodes begin at multiples of these bytes: a head is a line of the cache */

#define MF_MEMO_GROUP 4u

struct mf_memo_group {
	int32_t offsets[MF_MEMO_GROUP]; /* from sp */
	uint64_t values[MF_MEMO_GROUP];
};

/*
 * A thread's memo: this, and behind it the pool and the table, for which there is memory of
 * mf_memo_size(room) bytes in all. mf_memo_forget() makes an empty memo of zeroes with a room.
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
 *
 * What a program has just done, it mostly does again, and then no hash is needed. Of the registers the
 * first node that was found last is tried first (the roots). Where several stacks begin with it, the one
 * is tried that came after the stack before, when that was here the last time; or, if that one begins
 * with others, the child that was found last from each node. The stack before and the one after it are
 * those with several nodes: who has one needs no guess.
 */
struct mf_memo {
	uint32_t room; /* words of the pool: a power of two, from MF_MEMO_ROOM_LEAST on */
	uint32_t mask; /* of the table: slots in use, less one */
	uint32_t n_nodes;
	uint32_t used;	/* words of the pool */
	uint32_t score; /* hits of late; without, few stacks are looked for */
	uint32_t asked;
	uint32_t pause, in_vain; /* then: how few, and how long it has been so */
	uint32_t last;			/* place of the last node of the stack that was found last, */
	uint32_t guess;			/* and of that which came after it; 0: not known */
	/* Scratch: the words of a walk. Beside the above, since the first page is in use anyhow. */
	struct mf_memo_group walked[MF_MEMO_WORDS / MF_MEMO_GROUP];
	_Alignas(MF_MEMO_LINE) uint32_t roots[MF_MEMO_ROOTS]; /* places of first nodes */
};

_Static_assert(sizeof(struct mf_memo) % MF_MEMO_LINE == 0, "the pool begins at a line");

#define MF_MEMO_ROOM_LEAST     (1u << 15)
#define MF_MEMO_CHANGE	       2048u /* words, more than are added for one stack */
#define MF_MEMO_WORDS_PER_SLOT 16u /* of the table, when it has become as large as it can */

static inline uint64_t *mf_memo_pool(const struct mf_memo *memo)
{
	return (uint64_t *)(uintptr_t)(memo + 1);
}

/* The table, which is open-addressed. A slot is a node's place << 32 | tag. */
static inline uint64_t *mf_memo_slots(const struct mf_memo *memo)
{
	return mf_memo_pool(memo) + memo->room;
}

static inline size_t mf_memo_size(uint32_t room)
{
	return sizeof(struct mf_memo) +
	       ((size_t)room + room / MF_MEMO_WORDS_PER_SLOT) * sizeof(uint64_t);
}

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
	union {
		uint32_t latest; /* place of the child that was found last */
		uint32_t after;	 /* a stack's last node: place of that of the stack found after it */
	};
	uint32_t n_bytes; /* of its groups */
	uint16_t n_words;
	uint8_t room; /* groups, when it was made */
	/*
	 * A stack's last node: places of all its nodes, the first one's first, then 0; none, if these are
	 * too many, or not known. Another node may have come between two of them since, or be the last one now.
	 */
	uint32_t path[MF_MEMO_PATH];
};

#define MF_MEMO_CHILD_OF (1ull << 63) /* above, and a number; no sp has that bit */

#define MF_MEMO_SCORE_MAX 256u
#define MF_MEMO_SCORE_HIT 2u

/*
 * Of so many stacks plus one, while nothing is ever found, one is looked for, which takes some loads
 * from memory that nobody else wants: fewer, the longer that lasts.
 */
#define MF_MEMO_IN_VAIN 31u

static inline struct mf_memo_node *mf_memo_at(struct mf_memo *memo, uint32_t place)
{
	return (struct mf_memo_node *)(mf_memo_pool(memo) + place);
}

static inline uint32_t *mf_memo_root(struct mf_memo *memo, uint64_t sp, uint64_t pc)
{
	return &memo->roots[(sp + pc) % MF_MEMO_ROOTS];
}

static inline uint64_t mf_memo_word(uint64_t sp, int32_t offset)
{
	return *(const uint64_t *)(uintptr_t)(sp + (uint64_t)(int64_t)offset);
}

/* Two words of @group, from @i on. Their offsets are loaded at once: it is loads that take the time. */
static inline __attribute__((always_inline)) bool
mf_memo_are_same(const struct mf_memo_group *group, uint32_t i, uint64_t sp)
{
	int64_t offsets;

	__builtin_memcpy(&offsets, &group->offsets[i], sizeof(offsets));
	return mf_memo_word(sp, (int32_t)offsets) == group->values[i] &&
	       mf_memo_word(sp, (int32_t)(offsets >> 32)) == group->values[i + 1];
}

/* Are the words of @node what they were? */
static inline __attribute__((always_inline)) bool
mf_memo_is_unchanged(const struct mf_memo_node *node, uint64_t sp)
{
	const struct mf_memo_group *group = (const struct mf_memo_group *)(uintptr_t)(node + 1);
	const struct mf_memo_group *end =
		(const struct mf_memo_group *)((uintptr_t)group + node->n_bytes);

	for (; group != end; group++)
		if (!mf_memo_are_same(group, 0, sp) || !mf_memo_are_same(group, 2, sp))
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

static inline uint32_t mf_memo_place(const struct mf_memo *memo, const struct mf_memo_node *node)
{
	return (uint32_t)((const uint64_t *)node - mf_memo_pool(memo));
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

/* The stack was found whose last node, of several, is @node. The one that came after it may be needed soon. */
static inline void mf_memo_follow(struct mf_memo *memo, const struct mf_memo_node *node)
{
	uint32_t place = mf_memo_place(memo, node), guess = node->after;

	mf_memo_at(memo, memo->last)->after = place;
	memo->last = place;
	memo->guess = guess;
	__builtin_prefetch(mf_memo_at(memo, guess));
	__builtin_prefetch(mf_memo_at(memo, guess) + 1);
}

/*
 * The first node, with its words unchanged, of the stack that begins with @sp and @pc (MF_CALLER's), if it is
 * the one that is tried first; else NULL. If the node has a context that is the stack's, and
 * mf_memo_note_hit() is to be told; if not, mf_memo_recall_below() may know more.
 */
static inline __attribute__((always_inline)) const struct mf_memo_node *
mf_memo_recall_root(struct mf_memo *memo, uint64_t sp, uint64_t pc)
{
	const struct mf_memo_node *node = mf_memo_at(memo, *mf_memo_root(memo, sp, pc));

	if (__builtin_expect(!memo->score, 0) || node->above != sp || node->value != pc ||
	    !mf_memo_is_unchanged(node, sp))
		return NULL;
	return node;
}

/* From there: the context of the stack, if it is one of those that are tried first; else 0. */
static inline __attribute__((always_inline)) uint32_t
mf_memo_recall_below(struct mf_memo *memo, const struct mf_memo_node *node, uint64_t sp)
{
	const uint32_t *path = mf_memo_at(memo, memo->guess)->path;
	bool is_guess = *path == mf_memo_place(memo, node);

	do {
		uint64_t word = mf_memo_word(sp, node->branch);
		uint64_t above = MF_MEMO_CHILD_OF | node->number;

		node = mf_memo_at(memo, is_guess ? *++path : node->latest);
		if (node->value != word || node->above != above || !mf_memo_is_unchanged(node, sp))
			return 0;
	} while (!node->context);
	mf_memo_follow(memo, node);
	mf_memo_note_hit(memo);
	return node->context;
}

/* The context of the stack that begins with @sp and @pc, which is looked for; 0 if it is not known. */
uint32_t mf_memo_find(struct mf_memo *memo, uint64_t sp, uint64_t pc);

/* The context of the stack that begins with @sp and @pc, if it is one of those that are tried first; else 0. */
static inline uint32_t mf_memo_recall(struct mf_memo *memo, uint64_t sp, uint64_t pc)
{
	const struct mf_memo_node *node = mf_memo_recall_root(memo, sp, pc);

	if (!node)
		return 0;
	if (!node->context)
		return mf_memo_recall_below(memo, node, sp);
	mf_memo_note_hit(memo);
	return node->context;
}

/*
 * Remembers that @walk, which begins with @registers, has @context (not 0). After it was looked for
 * in vain.
 */
void mf_memo_enter(struct mf_memo *memo, const struct mf_registers *registers,
		   const struct mf_walk *walk, uint32_t context);

/* The stack that was looked for in vain is not worth remembering. */
void mf_memo_pass(struct mf_memo *memo);

/* All of it: code has gone, or contexts have. */
void mf_memo_forget(struct mf_memo *memo);

#endif
