/* SPDX-License-Identifier: GPL-2.0 */
/* Remembers the stacks that a thread has had, with their contexts, so that they need not be walked again. */
#ifndef MASSIF_PRELOAD_MEMO_H
#define MASSIF_PRELOAD_MEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind.h"

#define MF_MEMO_ROOTS (1u << 13) /* a power of two */
#define MF_MEMO_WORDS 480u	 /* longest walk that is remembered, in words read */
#define MF_MEMO_PATH  6u
#define MF_MEMO_LINE  64u	 /* nodes are aligned to this many bytes, so that a node's head is one cache line */

#define MF_MEMO_GROUP 4u

struct mf_memo_group {
	int32_t offsets[MF_MEMO_GROUP]; /* from the caller's stack pointer, in bytes */
	uint64_t values[MF_MEMO_GROUP];
};

/*
 * A thread's memo. The pool and the table lie behind this struct; mf_memo_size(room) is the size of all three.
 * A zeroed memo whose room is set becomes usable by mf_memo_forget().
 *
 * A stack is recognised by the words that its walk has read: if the initial registers and all these words are the
 * same, the walk would give the same frames. Comparing fewer words would be wrong, since a single frame far out may
 * have changed.
 *
 * Which word a walk reads next depends on what it has read. So stacks are kept as a tree: a node holds the words and
 * values that all stacks below it share, and the position of the next word, in which they differ. That word's value
 * leads to a child through the hash table. However many stacks begin with the same registers, each word is compared
 * once.
 *
 * Nodes are allocated one after the other in the pool. When it is full, everything is forgotten.
 *
 * Programs mostly repeat what they did last, so some guesses are tried before the hash table. The roots hold, for the
 * initial registers, the first node that was found last. If it has children, the next guess is the stack that
 * followed the previous stack the last time; if that one has another first node, each node's child that was found last
 * is tried. Only stacks with several nodes count as previous and following ones here, as the others need no guess.
 */
struct mf_memo {
	uint32_t room; /* size of the pool in words: a power of two, at least MF_MEMO_ROOM_LEAST */
	uint32_t mask; /* number of the table's slots, less one */
	uint32_t n_nodes;
	uint32_t used;	/* words of the pool in use */
	uint32_t score; /* rises with hits, falls with misses; at 0 only a part of all stacks is looked up */
	uint32_t asked;
	uint32_t pause, in_vain; /* with a score of 0: a mask for which stacks are looked up, and misses since */
	uint32_t last;			/* place of the last node of the stack found last */
	uint32_t guess;			/* place of the last node of the stack that followed it the last time; 0: unknown */
	/* Scratch space: the words of a walk. It is here because the first page is in use anyway. */
	struct mf_memo_group walked[MF_MEMO_WORDS / MF_MEMO_GROUP];
	_Alignas(MF_MEMO_LINE) uint32_t roots[MF_MEMO_ROOTS]; /* places of first nodes, by registers */
};

_Static_assert(sizeof(struct mf_memo) % MF_MEMO_LINE == 0, "the pool begins at a line");

#define MF_MEMO_ROOM_LEAST     (1u << 15)
#define MF_MEMO_CHANGE	       2048u /* words; an upper bound of what one stack adds */
#define MF_MEMO_WORDS_PER_SLOT 16u /* words of the pool for each slot of the table at its full size */

static inline uint64_t *mf_memo_pool(const struct mf_memo *memo)
{
	return (uint64_t *)(uintptr_t)(memo + 1);
}

/* The table is open-addressed. A slot is a node's place << 32 | tag. */
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
 * A node: this head, followed by its words in groups. The words are in the order in which the walk read them and are
 * compared in that order, each only if those before it match: so nothing is read that the walk would not have read.
 * The last group is padded with copies of its last word.
 */
struct mf_memo_node {
	/* Key. First node of a stack: sp and pc. Other node: MF_MEMO_CHILD_OF and its parent's number; the word's value. */
	uint64_t above, value;
	uint32_t number;  /* identifies it to its children, also after it has been split */
	uint32_t context; /* of the only stack that ends here; 0: the node has children */
	int32_t branch;	  /* offset of the word that selects the child */
	union {
		uint32_t latest; /* place of the child found last */
		uint32_t after;	 /* in a stack's last node: place of the last node of the stack that followed */
	};
	uint32_t n_bytes; /* size of its groups */
	uint16_t n_words;
	uint8_t room; /* groups that it was made with */
	/*
	 * In a stack's last node: places of all its nodes, from the first one on, then 0; all 0 if there are too many
	 * or they are unknown. May be outdated: nodes may have been split since.
	 */
	uint32_t path[MF_MEMO_PATH];
};

#define MF_MEMO_CHILD_OF (1ull << 63) /* flag in @above, together with a node's number; no stack pointer has that bit */

#define MF_MEMO_SCORE_MAX 256u
#define MF_MEMO_SCORE_HIT 2u

/*
 * While no stack is ever found, only one in this number plus one is looked up, because that loads memory that nothing
 * else needs. The longer that lasts, the fewer are looked up.
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

/* Compares two words of @group from @i on. Both offsets are read by one load, because loads dominate the cost. */
static inline __attribute__((always_inline)) bool
mf_memo_are_same(const struct mf_memo_group *group, uint32_t i, uint64_t sp)
{
	int64_t offsets;

	__builtin_memcpy(&offsets, &group->offsets[i], sizeof(offsets));
	return mf_memo_word(sp, (int32_t)offsets) == group->values[i] &&
	       mf_memo_word(sp, (int32_t)(offsets >> 32)) == group->values[i + 1];
}

/* Are the words of @node on the stack unchanged? */
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

/* Should the next stack, which the guesses did not find, be looked up? */
static inline bool mf_memo_looks(struct mf_memo *memo)
{
	return memo->score || !(++memo->asked & memo->pause);
}

/* Was the last stack, which was not found, looked up? */
static inline bool mf_memo_has_looked(const struct mf_memo *memo)
{
	return memo->score || !(memo->asked & memo->pause);
}

/*
 * A stack with several nodes was found; @node is its last one. Guesses the next stack and prefetches its last node.
 */
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
 * Returns the first node of the stack that begins with @sp and @pc (as in MF_CALLER), if it is the one in the roots
 * and its words are unchanged; else NULL. If the node has a context, that is the stack's: call mf_memo_note_hit(). If
 * not, try mf_memo_recall_below().
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

/* Continues from the first node @node. Returns the context of the stack if the guesses find it, else 0. */
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

/* Looks the stack that begins with @sp and @pc up in the table. Returns its context, or 0 if it is unknown. */
uint32_t mf_memo_find(struct mf_memo *memo, uint64_t sp, uint64_t pc);

/* Returns the context of the stack that begins with @sp and @pc if the guesses find it, else 0. */
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

/* Remembers that @walk, which begins with @registers, has @context (not 0). After mf_memo_find() has returned 0. */
void mf_memo_enter(struct mf_memo *memo, const struct mf_registers *registers,
		   const struct mf_walk *walk, uint32_t context);

/* Called instead of mf_memo_enter() if the stack is not worth remembering. */
void mf_memo_pass(struct mf_memo *memo);

/* Forgets everything, because code was unloaded or contexts became invalid. */
void mf_memo_forget(struct mf_memo *memo);

#endif
