/* SPDX-License-Identifier: GPL-2.0 */
/* Remembers the earlier stacks of a thread, and their contexts, so that these stacks need not be walked again. */
#ifndef MASSIF_PRELOAD_MEMO_H
#define MASSIF_PRELOAD_MEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind.h"

/* number of entries in the table of roots, which is used to guess the first node of a stack; a power of two */
#define MF_MEMO_ROOTS (1u << 13)
/* maximum number of words that a walk may have read if its stack is to be kept in the memo */
#define MF_MEMO_WORDS 480u
#define MF_MEMO_PATH  6u
/*
 * Nodes are aligned to this many bytes, so that the head of a node (struct mf_memo_node, without the stack words that
 * follow it) is exactly one cache line.
 */
#define MF_MEMO_LINE  64u

#define MF_MEMO_GROUP 4u

struct mf_memo_group {
	/* Addresses of the stack words in this group, as distances in bytes from the caller's stack pointer. */
	int32_t offsets[MF_MEMO_GROUP];
	uint64_t values[MF_MEMO_GROUP];
};

/*
 * A thread's memo. The pool and the table follow this struct; mf_memo_size(room) is the size of all three. To
 * initialise a memo, zero it, set its room and call mf_memo_forget().
 *
 * A stack is recognised by the words that its walk has read: if the initial registers and all these words are the same,
 * a walk would find the same frames. Comparing fewer words would be wrong, since a single outer frame may have changed.
 *
 * The word that a walk reads next depends on what it has read so far. So stacks are kept as a tree: a node holds the
 * addresses and values of the words that all stacks below it share, and the address of the next word, in which these
 * stacks differ. That word's value leads to a child through the hash table. However many stacks begin with the same
 * registers, each word is compared only once.
 *
 * Nodes are allocated sequentially in the pool. When the pool is full, the memo is emptied.
 *
 * Programs mostly repeat what they did last, so some guesses are tried before the hash table. The first node of a stack
 * is guessed from the table of roots, which is indexed by a hash of the initial registers and holds the most recently
 * found first node for each hash. If that node has children, the rest of the stack is guessed from the order of earlier
 * stacks: whichever stack followed the preceding stack last time is expected to follow it again. If the expected stack
 * begins with a different node, the most recently found child of each node is tried instead. Stacks with only one node
 * need no such guess, so they are left out when the order of stacks is recorded.
 */
struct mf_memo {
	uint32_t room; /* size in words of the pool for nodes: a power of two, at least MF_MEMO_ROOM_LEAST */
	uint32_t mask; /* number of slots in the hash table, minus one */
	uint32_t n_nodes;
	uint32_t used;	/* number of words in use in the pool for nodes */
	/*
	 * Measures how useful the memo is: rises when a stack is found in the memo, falls when it is not found. While
	 * the score is 0, only some stacks are looked up.
	 */
	uint32_t score;
	uint32_t asked;
	/*
	 * While @score is 0, the memo looks up only one of every @pause + 1 stacks. @pause + 1 is a power of two.
	 * @asked counts the stacks; a stack is looked up if @asked & @pause is 0. @in_vain: number of stacks that have
	 * been looked up but not found since @score fell to 0.
	 */
	uint32_t pause, in_vain;
	uint32_t last;			/* pool index of the last node of the most recently found stack */
	/*
	 * Pool index of the last node of the stack that is expected next: the one that followed the previous occurrence
	 * of the most recently found stack. 0 if unknown.
	 */
	uint32_t guess;
	/*
	 * Scratch space for the stack words that a walk has read. It is in this struct so that it takes no memory page
	 * of its own.
	 */
	struct mf_memo_group walked[MF_MEMO_WORDS / MF_MEMO_GROUP];
	/*
	 * The table of roots, indexed by a hash of the caller's stack pointer and code address. Each entry is the pool
	 * index of a stack's first node, the one found most recently for that hash.
	 */
	_Alignas(MF_MEMO_LINE) uint32_t roots[MF_MEMO_ROOTS];
};

_Static_assert(sizeof(struct mf_memo) % MF_MEMO_LINE == 0, "the pool begins at a line");

#define MF_MEMO_ROOM_LEAST     (1u << 15)
#define MF_MEMO_CHANGE	       2048u /* maximum number of pool words needed to add one stack to the memo */
#define MF_MEMO_WORDS_PER_SLOT 16u /* minimum number of words in the pool for each slot of the hash table */

static inline uint64_t *mf_memo_pool(const struct mf_memo *memo)
{
	return (uint64_t *)(uintptr_t)(memo + 1);
}

/*
 * Returns the memo's hash table, which uses open addressing. Each slot holds a node's pool index in its upper 32 bits
 * and a tag in its lower 32 bits.
 */
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
 * A node of the memo: this head, followed by stack words in groups. The words are stored and compared in the order in
 * which the walk read them, and each is compared only if all words before it match. So the comparison reads no memory
 * that a walk would not read. The last group is padded with copies of its last word.
 */
struct mf_memo_node {
	/*
	 * The pair (@above, @value) is the node's key in the hash table. For the first node of a stack, these are the
	 * caller's sp and pc. For any other node, @above is MF_MEMO_CHILD_OF | the parent's number, and @value is the
	 * value of the stack word at the parent's @branch.
	 */
	uint64_t above, value;
	/*
	 * Number of the node, which is part of the keys (@above) of its children. If the node is split, the new child
	 * inherits both the children and this number, so their keys remain valid.
	 */
	uint32_t number;
	/* if this is the last node of a stack: the context of that stack; 0 if the node has children */
	uint32_t context;
	int32_t branch;	  /* distance from the caller's stack pointer to the stack word whose value selects the child */
	union {
		uint32_t latest; /* in a node with children: pool index of the child that was found most recently */
		/*
		 * In the last node of a stack: the predicted next stack, which is the one that came next the last time
		 * this stack was found. It is stored as the pool index of the predicted stack's last node. Stacks with
		 * only one node are never predicted.
		 */
		uint32_t after;
	};
	/* total size in bytes of the groups of stack words (struct mf_memo_group) that the node holds */
	uint32_t n_bytes;
	uint16_t n_words;
	uint8_t room; /* maximum number of groups of stack words (struct mf_memo_group) that the node can hold */
	/*
	 * In the last node of a stack: the pool indices of all the stack's nodes, first node first, terminated by 0.
	 * All entries are 0 if there are too many nodes or if the nodes are unknown. May be outdated, because nodes may
	 * have been split since.
	 */
	uint32_t path[MF_MEMO_PATH];
};

/* flag in mf_memo_node.above: the value is a node's number, not a stack pointer, which never has this bit set */
#define MF_MEMO_CHILD_OF (1ull << 63)

#define MF_MEMO_SCORE_MAX 256u
#define MF_MEMO_SCORE_HIT 2u

/*
 * Looking up a stack in the memo pollutes the processor's cache with memory that nothing else needs. So once failed
 * look-ups have reduced the score to 0, only one in MF_MEMO_IN_VAIN + 1 stacks is looked up. If those look-ups keep
 * failing as well, even fewer stacks are looked up.
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

/*
 * Returns whether two words on the stack still have the values that are stored as words @i and @i + 1 of @group. @sp:
 * the caller's stack pointer. The offsets of both words from @sp are read with a single load, because loads dominate
 * the cost.
 */
static inline __attribute__((always_inline)) bool
mf_memo_are_same(const struct mf_memo_group *group, uint32_t i, uint64_t sp)
{
	int64_t offsets;

	__builtin_memcpy(&offsets, &group->offsets[i], sizeof(offsets));
	return mf_memo_word(sp, (int32_t)offsets) == group->values[i] &&
	       mf_memo_word(sp, (int32_t)(offsets >> 32)) == group->values[i + 1];
}

/* Returns whether the stack words that are recorded in @node still have the recorded values. */
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

/*
 * Called if the current stack is not one of those that the memo predicted from the previous stacks. Returns whether the
 * stack should be looked up in the memo's hash table.
 */
static inline bool mf_memo_looks(struct mf_memo *memo)
{
	return memo->score || !(++memo->asked & memo->pause);
}

/*
 * Called if the current stack is not one of those that the memo predicted from the previous stacks. Returns whether the
 * memo's hash table was searched for the stack, even if the stack was not found.
 */
static inline bool mf_memo_has_looked(const struct mf_memo *memo)
{
	return memo->score || !(memo->asked & memo->pause);
}

/*
 * Called when the memo has found a stack that consists of several nodes; @node is the last of them. Records that this
 * stack followed the previous one, predicts the next stack, and prefetches the last node of the predicted stack.
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
 * Looks up the stack that begins with @sp and @pc (as in MF_CALLER) in the table of roots. Returns the stack's first
 * node if it is in the table and its words are unchanged on the stack; otherwise NULL. If the returned node has a
 * context, that is the context of the stack, and the caller must call mf_memo_note_hit(). If the returned node has
 * none, call mf_memo_recall_below().
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

/*
 * Looks up a stack whose first node, @node, is known. Guesses each subsequent node and checks the guess. If the
 * predicted next stack begins with @node, its nodes are the guesses. Otherwise, the guess is each node's most recently
 * found child. Returns the context of the stack if all guesses are right, otherwise 0.
 */
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

/* Looks up the stack that begins with @sp and @pc in the table. Returns its context, or 0 if the stack is unknown. */
uint32_t mf_memo_find(struct mf_memo *memo, uint64_t sp, uint64_t pc);

/*
 * Looks up the stack that begins with @sp and @pc: guesses each of its nodes and checks the guess. Returns the context
 * of the stack if all guesses are right, otherwise 0.
 */
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
 * Adds the stack of @walk, which started at @registers, together with its @context (not 0). Call this only after
 * mf_memo_find() has returned 0 for the stack.
 */
void mf_memo_enter(struct mf_memo *memo, const struct mf_registers *registers,
		   const struct mf_walk *walk, uint32_t context);

/*
 * Records that a look-up of a stack has failed. Call this instead of mf_memo_enter() if the stack should not be added.
 */
void mf_memo_pass(struct mf_memo *memo);

/* Empties the memo, because code was unloaded or contexts became invalid. */
void mf_memo_forget(struct mf_memo *memo);

#endif
