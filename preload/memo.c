// SPDX-License-Identifier: GPL-2.0
// Stacks that a thread has had before, with their contexts.

#include "memo.h"

#include <stdbool.h>
#include <string.h>

/*
 * A node: this head, then the values of its words, then their offsets from sp, two in a word. The
 * words are in the order in which the walk took them, and are compared in that order: so nothing is
 * read that the walk would not have read. Groups of GROUP words that share a page are read together;
 * bit 0 of the first one's offset marks those that do not.
 */
struct node {
	/* The first node of a stack: its sp and pc. Another one: whose child, for which value. */
	uint64_t above, value;
	uint32_t number;  /* children know it by this, also when it has been split */
	uint32_t context; /* of the only stack that leads here; 0: there are children */
	int32_t branch;	  /* offset of the word that tells which */
	uint16_t n_words;
	uint16_t room; /* what n_words was when it was made */
};

#define HEAD_WORDS   (sizeof(struct node) / sizeof(uint64_t))
#define SLOTS_FIRST  512u
#define CHILD_OF     (1ull << 63) /* no sp has that bit */
#define GROUP	     4u
#define SPREAD	     1 /* the words of the group do not all lie in one page */
#define WORDS_MAX    MF_MEMO_WORDS
#define PAGE_BITS    12
#define FP_OFFSET    (-16) /* where the caller's fp is: at the frame address, two words below sp */

#define SCORE_MAX 256u
#define SCORE_HIT 2u
#define IN_VAIN	  31u /* of so many plus one, while nothing is ever found, one is looked for */

_Static_assert(2 * (HEAD_WORDS + WORDS_MAX + WORDS_MAX / 2 + 1) < MF_MEMO_POOL / 8,
	       "nodes are small");

static inline uint64_t hash_of(uint64_t above, uint64_t value)
{
	uint64_t hash = (value ^ above << 13) * 0x9e3779b97f4a7c15ull;

	return hash ^ hash >> 32;
}

static inline uint32_t tag_of(uint64_t hash)
{
	return (uint32_t)(hash >> 32) | 1; /* an empty slot has 0 */
}

static inline uint32_t slots_mask(const struct mf_memo *memo)
{
	return (SLOTS_FIRST << memo->doubled) - 1;
}

static inline uint64_t *values_of(struct node *node)
{
	return (uint64_t *)(node + 1);
}

static inline int32_t *offsets_of(struct node *node)
{
	return (int32_t *)(values_of(node) + node->room);
}

static inline uint64_t word_at(uint64_t sp, int32_t offset)
{
	return *(const uint64_t *)(uintptr_t)(sp + (uint64_t)(int64_t)offset);
}

/* Are the words of @node what they were? */
static inline bool is_unchanged(struct node *node, uint64_t sp)
{
	const uint64_t *values = values_of(node);
	const int32_t *offsets = offsets_of(node);
	uint32_t n = node->n_words, i = 0;

	for (; i + GROUP <= n; i += GROUP) {
		if (__builtin_expect(offsets[i] & SPREAD, 0)) {
			if (word_at(sp, offsets[i] & ~SPREAD) != values[i] ||
			    word_at(sp, offsets[i + 1]) != values[i + 1] ||
			    word_at(sp, offsets[i + 2]) != values[i + 2] ||
			    word_at(sp, offsets[i + 3]) != values[i + 3])
				return false;
		} else if ((word_at(sp, offsets[i]) ^ values[i]) |
			   (word_at(sp, offsets[i + 1]) ^ values[i + 1]) |
			   (word_at(sp, offsets[i + 2]) ^ values[i + 2]) |
			   (word_at(sp, offsets[i + 3]) ^ values[i + 3])) {
			return false;
		}
	}
	for (; i < n; i++)
		if (word_at(sp, offsets[i] & ~SPREAD) != values[i])
			return false;
	return true;
}

static inline struct node *find_node(struct mf_memo *memo, uint64_t above, uint64_t value)
{
	uint64_t hash = hash_of(above, value);
	uint32_t tag = tag_of(hash), mask = slots_mask(memo);

	for (uint32_t i = (uint32_t)hash & mask; memo->slots[i]; i = (i + 1) & mask) {
		struct node *node = (struct node *)&memo->pool[memo->slots[i] >> 32];

		if ((uint32_t)memo->slots[i] == tag && node->above == above && node->value == value)
			return node;
	}
	return NULL;
}

uint32_t mf_memo_find(struct mf_memo *memo, const struct mf_registers *registers)
{
	uint64_t sp = registers->sp;
	struct node *node;

	if (__builtin_expect(!memo->score, 0) && (++memo->asked & IN_VAIN))
		return 0;
	node = find_node(memo, sp, registers->pc);
	while (node && is_unchanged(node, sp)) {
		if (node->context) {
			if (memo->score < SCORE_MAX)
				memo->score += SCORE_HIT;
			return node->context;
		}
		node = find_node(memo, CHILD_OF | node->number, word_at(sp, node->branch));
	}
	return 0;
}

/* The words of a walk, in the order in which it took them. */
struct words {
	uint64_t sp;
	uint32_t n;
	bool fit;
	uint64_t *values;
	int32_t *offsets;
};

static inline void add(struct words *words, uint64_t address, uint64_t value)
{
	int64_t offset = (int64_t)(address - words->sp);

	if (words->n == WORDS_MAX || offset != (int32_t)offset || offset % (int64_t)sizeof(uint64_t)) {
		words->fit = false;
		return;
	}
	words->values[words->n] = value;
	words->offsets[words->n++] = (int32_t)offset;
}

/*
 * A saved frame register is a word of the stack only if, and only when, a frame further out takes it:
 * so it is known from the words before which one comes next.
 */
static void collect(struct words *words, const struct mf_walk *walk)
{
	uint64_t fp_slot = words->sp + (uint64_t)(int64_t)FP_OFFSET;

	for (uint32_t i = walk->n; i-- > 0 && words->fit;) {
		const struct mf_walk_frame *frame = &walk->frames[i];

		if (frame->consumes_fp && fp_slot) {
			add(words, fp_slot, frame->fp);
			fp_slot = 0;
		}
		if (frame->other_slot)
			add(words, frame->other_slot, frame->other);
		if (frame->pc_slot)
			/* That of the outermost one made it the last. */
			add(words, frame->pc_slot, i ? frame[-1].pc : 0);
		if (frame->fp_slot)
			fp_slot = frame->fp_slot;
	}
}

/* Enters @node into the table, which has room. */
static void publish(struct mf_memo *memo, const struct node *node)
{
	uint64_t hash = hash_of(node->above, node->value);
	uint32_t mask = slots_mask(memo), i = (uint32_t)hash & mask;
	uint64_t place = (uint64_t)((const uint64_t *)node - memo->pool);

	while (memo->slots[i])
		i = (i + 1) & mask;
	memo->slots[i] = place << 32 | tag_of(hash);
}

static uint32_t words_of(const struct node *node)
{
	return HEAD_WORDS + node->room + (node->room + 1u) / 2;
}

static void empty(struct mf_memo *memo)
{
	memset(memo->slots, 0, (slots_mask(memo) + 1) * sizeof(*memo->slots));
	memo->doubled = memo->n_nodes = memo->used = 0;
}

/* For two more nodes, at most half of it is in use. Or else all is forgotten. */
static void make_room(struct mf_memo *memo)
{
	const uint32_t most = HEAD_WORDS + WORDS_MAX + WORDS_MAX / 2 + 1;
	uint32_t size = slots_mask(memo) + 1;

	if (memo->used + 2 * most > MF_MEMO_POOL) {
		empty(memo);
		return;
	}
	if (memo->n_nodes + 2 <= size / 2)
		return;
	if (size == MF_MEMO_SLOTS) {
		empty(memo);
		return;
	}
	memset(memo->slots, 0, size * sizeof(*memo->slots));
	memo->doubled++;
	for (uint32_t at = 0; at < memo->used;) {
		const struct node *node = (const struct node *)&memo->pool[at];

		publish(memo, node);
		at += words_of(node);
	}
}

/* A node with the words of @words from @first on. */
static struct node *make_node(struct mf_memo *memo, uint64_t above, uint64_t value,
			      const struct words *words, uint32_t first)
{
	struct node *node = (struct node *)&memo->pool[memo->used];
	uint32_t n = words->n - first;
	int32_t *offsets;

	*node = (struct node){
		.above = above,
		.value = value,
		.number = memo->n_nodes++,
		.n_words = (uint16_t)n,
		.room = (uint16_t)n,
	};
	memo->used += words_of(node);
	memcpy(values_of(node), words->values + first, n * sizeof(*words->values));
	offsets = offsets_of(node);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t page = (words->sp + (uint64_t)(int64_t)words->offsets[first + i]) >> PAGE_BITS;
		int32_t spread = 0;

		for (uint32_t j = i + 1; i % GROUP == 0 && j < i + GROUP && j < n; j++)
			if ((words->sp + (uint64_t)(int64_t)words->offsets[first + j]) >>
			    PAGE_BITS != page)
				spread = SPREAD;
		offsets[i] = words->offsets[first + i] | spread;
	}
	publish(memo, node);
	return node;
}

/* Those below @node agree in @kept words only: what follows goes to a child of it. */
static void split(struct mf_memo *memo, struct node *node, uint32_t kept, uint64_t sp)
{
	int32_t offsets[WORDS_MAX];
	struct words rest = {
		.sp = sp, .n = node->n_words, .values = values_of(node), .offsets = offsets,
	};
	uint32_t number = memo->n_nodes;
	struct node *child;

	for (uint32_t i = 0; i < rest.n; i++)
		offsets[i] = offsets_of(node)[i] & ~SPREAD;
	child = make_node(memo, CHILD_OF | number, rest.values[kept], &rest, kept + 1);
	child->context = node->context;
	child->branch = node->branch;
	child->number = node->number;
	node->number = number;
	node->context = 0;
	node->branch = offsets[kept];
	node->n_words = (uint16_t)kept;
}

void mf_memo_enter(struct mf_memo *memo, const struct mf_registers *registers,
		   const struct mf_walk *walk, uint32_t context)
{
	struct words words = {
		.sp = registers->sp, .fit = true, .values = memo->values, .offsets = memo->offsets,
	};
	uint64_t above = registers->sp, value = registers->pc;
	struct node *node;
	uint32_t at = 0;

	if (memo->score)
		memo->score--;
	else if (memo->asked & IN_VAIN)
		return;
	collect(&words, walk);
	if (!words.fit || above & CHILD_OF)
		return;
	make_room(memo);
	while ((node = find_node(memo, above, value))) {
		uint32_t n = node->n_words, i = 0;

		while (i < n && at < words.n && values_of(node)[i] == words.values[at] &&
		       (offsets_of(node)[i] & ~SPREAD) == words.offsets[at]) {
			i++;
			at++;
		}
		if (i < n) {
			/* Only the value can differ, and a walk ends nowhere else. */
			if (at == words.n || (offsets_of(node)[i] & ~SPREAD) != words.offsets[at])
				return;
			split(memo, node, i, words.sp);
		} else if (node->context || at == words.n || node->branch != words.offsets[at]) {
			return;
		}
		above = CHILD_OF | node->number;
		value = words.values[at++];
	}
	make_node(memo, above, value, &words, at)->context = context;
}

void mf_memo_forget(struct mf_memo *memo)
{
	empty(memo);
	memo->score = SCORE_MAX;
}
