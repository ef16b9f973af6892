// SPDX-License-Identifier: GPL-2.0
// Remembers the earlier stacks of a thread, and their contexts.

#include "memo.h"

#include <stdbool.h>
#include <string.h>

#define GROUP	     MF_MEMO_GROUP
#define WORDS_MAX    MF_MEMO_WORDS
#define NODE_MAX     (HEAD_WORDS + WORDS_MAX / GROUP * sizeof(struct mf_memo_group) / sizeof(uint64_t) + LINE_WORDS)
#define SLOTS_FIRST  512u
#define FEW_NODES    512u
#define HEAD_WORDS   (sizeof(struct mf_memo_node) / sizeof(uint64_t))
#define CHILD_OF     MF_MEMO_CHILD_OF
#define LINE_WORDS   (MF_MEMO_LINE / sizeof(uint64_t))
#define FP_OFFSET    (-16) /* the caller's frame pointer is saved two words below its stack pointer */

/*
 * Limits for a memo whose score is 0. The score falls each time a stack is not found in the memo. At 0, the memo looks
 * up only one in MF_MEMO_IN_VAIN + 1 stacks. If look-ups keep failing, it looks up even fewer, but at least one in
 * IN_VAIN_MAX + 1.
 */
#define IN_VAIN_MAX  1023u
/* number of unsuccessful look-ups after which the share of stacks that are looked up is halved */
#define IN_VAIN_LONG 64u
/* The memo is emptied after this many unsuccessful look-ups, because searching a small table is faster. */
#define IN_VAIN_KEPT 256u

_Static_assert(WORDS_MAX / GROUP <= UINT8_MAX, "groups are counted in a byte");
_Static_assert(sizeof(struct mf_memo_node) == MF_MEMO_LINE, "a head is a line");
_Static_assert(2 * NODE_MAX <= MF_MEMO_CHANGE, "a stack adds two nodes at most");
_Static_assert(SLOTS_FIRST <= MF_MEMO_ROOM_LEAST / MF_MEMO_WORDS_PER_SLOT, "the first table fits");
_Static_assert(WORDS_MAX % GROUP == 0 && 2 * NODE_MAX < MF_MEMO_ROOM_LEAST / 8, "nodes are small");

static inline uint64_t hash_of(uint64_t above, uint64_t value)
{
	return (value ^ above << 13) * 0x9e3779b97f4a7c15ull;
}

/* Returns the first slot to try. Uses the hash's upper bits because they are better mixed. */
static inline uint32_t place_of(uint64_t hash, uint32_t mask)
{
	return (uint32_t)(hash >> 40) & mask;
}

static inline uint32_t tag_of(uint64_t hash)
{
	/* the lowest bit is set because a tag of 0 marks an empty slot of the memo's table */
	return (uint32_t)hash | 1;
}

static inline struct mf_memo_group *groups_of(const struct mf_memo_node *node)
{
	return (struct mf_memo_group *)(uintptr_t)(node + 1);
}

static inline uint32_t groups_for(uint32_t n_words)
{
	return (n_words + GROUP - 1) / GROUP;
}

static inline struct mf_memo_node *find_node(struct mf_memo *memo, uint64_t above, uint64_t value)
{
	const uint64_t *slots = mf_memo_slots(memo);
	uint64_t hash = hash_of(above, value);
	uint32_t tag = tag_of(hash), mask = memo->mask;

	for (uint32_t i = place_of(hash, mask); slots[i]; i = (i + 1) & mask) {
		struct mf_memo_node *node = mf_memo_at(memo, (uint32_t)(slots[i] >> 32));

		if ((uint32_t)slots[i] == tag && node->above == above && node->value == value)
			return node;
	}
	return NULL;
}

uint32_t mf_memo_find(struct mf_memo *memo, uint64_t sp, uint64_t pc)
{
	uint32_t path[MF_MEMO_PATH] = { 0 }, n = 0;
	struct mf_memo_node *node;

	node = find_node(memo, sp, pc);
	if (node)
		*mf_memo_root(memo, sp, pc) = mf_memo_place(memo, node);
	while (node && mf_memo_is_unchanged(node, sp)) {
		struct mf_memo_node *child;

		if (n < MF_MEMO_PATH)
			path[n] = mf_memo_place(memo, node);
		n++;
		if (node->context) {
			/*
			 * @path lists the stack's nodes and must end with a 0. If there is no room for all nodes and
			 * the 0, all entries are set to 0, which means that the nodes are unknown.
			 */
			if (n >= MF_MEMO_PATH)
				memset(path, 0, sizeof(path));
			memcpy(node->path, path, sizeof(path));
			if (n > 1)
				mf_memo_follow(memo, node);
			mf_memo_note_hit(memo);
			return node->context;
		}
		child = find_node(memo, CHILD_OF | node->number, mf_memo_word(sp, node->branch));
		if (child)
			node->latest = mf_memo_place(memo, child);
		node = child;
	}
	return 0;
}

/* The words that a walk has read, in the order in which it read them. */
struct words {
	uint64_t sp;
	uint32_t n;
	bool fit;
	struct mf_memo_group *groups;
};

static inline int32_t *offset_of(const struct words *words, uint32_t i)
{
	return &words->groups[i / GROUP].offsets[i % GROUP];
}

static inline uint64_t *value_of(const struct words *words, uint32_t i)
{
	return &words->groups[i / GROUP].values[i % GROUP];
}

static inline void add(struct words *words, uint64_t address, uint64_t value)
{
	int64_t offset = (int64_t)(address - words->sp);

	if (words->n == WORDS_MAX || offset != (int32_t)offset || offset % (int64_t)sizeof(uint64_t)) {
		words->fit = false;
		return;
	}
	*value_of(words, words->n) = value;
	*offset_of(words, words->n++) = (int32_t)offset;
}

/*
 * Collects the stack words that the walk depends on. A saved frame pointer is included only if an outer frame uses it,
 * and then it is placed just before that frame's words. With this order, the words collected so far always determine
 * which word comes next.
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
			/*
			 * In the outermost frame, the word that should hold the return address was 0, which ended the
			 * walk.
			 */
			add(words, frame->pc_slot, i ? frame[-1].pc : 0);
		if (frame->fp_slot)
			fp_slot = frame->fp_slot;
	}
}

/* Adds @node to the memo's hash table, which must have a free slot. */
static void publish(struct mf_memo *memo, const struct mf_memo_node *node)
{
	uint64_t *slots = mf_memo_slots(memo), hash = hash_of(node->above, node->value);
	uint32_t mask = memo->mask, i = place_of(hash, mask);

	while (slots[i])
		i = (i + 1) & mask;
	slots[i] = (uint64_t)mf_memo_place(memo, node) << 32 | tag_of(hash);
}

static uint32_t size_of(const struct mf_memo_node *node)
{
	uint32_t words = (sizeof(*node) + node->room * sizeof(struct mf_memo_group)) / sizeof(uint64_t);

	return (words + LINE_WORDS - 1) / LINE_WORDS * LINE_WORDS;
}

/*
 * Clears the memo's roots, the guesses for the first node of a stack. If the memo has few nodes, clears only the roots
 * in use, so that a short-lived thread touches few pages.
 */
static void clear_roots(struct mf_memo *memo)
{
	if (memo->n_nodes > FEW_NODES) {
		memset(memo->roots, 0, sizeof(memo->roots));
		return;
	}
	for (uint32_t at = HEAD_WORDS; at < memo->used;) {
		const struct mf_memo_node *node = mf_memo_at(memo, at);

		if (!(node->above & CHILD_OF))
			*mf_memo_root(memo, node->above, node->value) = 0;
		at += size_of(node);
	}
}

/*
 * Empties the memo. The pool's first words stay zero: index 0 means "no node", and a group of zeroes matches no stack.
 */
static void empty(struct mf_memo *memo)
{
	if (memo->n_nodes) {
		memset(mf_memo_slots(memo), 0, (memo->mask + 1) * sizeof(uint64_t));
		clear_roots(memo);
	}
	memo->mask = SLOTS_FIRST - 1;
	memo->n_nodes = 0;
	memo->last = memo->guess = 0;
	memo->used = HEAD_WORDS;
}

/* Makes room for two more nodes while keeping the table at most half full. Empties the memo if this is impossible. */
static void make_room(struct mf_memo *memo)
{
	uint32_t size = memo->mask + 1;

	if (!memo->used || memo->used + 2 * NODE_MAX > memo->room) {
		empty(memo);
		return;
	}
	if (memo->n_nodes + 2 <= size / 2)
		return;
	if (size == memo->room / MF_MEMO_WORDS_PER_SLOT) {
		empty(memo);
		return;
	}
	memset(mf_memo_slots(memo), 0, size * sizeof(uint64_t));
	memo->mask = 2 * size - 1;
	for (uint32_t at = HEAD_WORDS; at < memo->used;) {
		const struct mf_memo_node *node = mf_memo_at(memo, at);

		publish(memo, node);
		at += size_of(node);
	}
}

/* Records that @node holds @n_words stack words, which are already in place, and pads its last group of words. */
static void set_words(struct mf_memo_node *node, uint32_t n_words)
{
	struct mf_memo_group *last = groups_of(node) + n_words / GROUP;
	uint32_t n = n_words % GROUP;

	node->n_words = (uint16_t)n_words;
	node->n_bytes = groups_for(n_words) * (uint32_t)sizeof(struct mf_memo_group);

	for (uint32_t i = n; n && i < GROUP; i++) {
		last->offsets[i] = last->offsets[n - 1];
		last->values[i] = last->values[n - 1];
	}
}

/*
 * Allocates a node of the memo with room for @n stack words. The caller must fill in the words before it publishes the
 * node.
 */
static struct mf_memo_node *make_node(struct mf_memo *memo, uint64_t above, uint64_t value, uint32_t n)
{
	struct mf_memo_node *node = mf_memo_at(memo, memo->used);

	*node = (struct mf_memo_node){
		.above = above,
		.value = value,
		.number = memo->n_nodes++,
		.room = (uint8_t)groups_for(n),
	};
	memo->used += size_of(node);
	return node;
}

static inline int32_t *offset_at(const struct mf_memo_node *node, uint32_t i)
{
	return &groups_of(node)[i / GROUP].offsets[i % GROUP];
}

static inline uint64_t *value_at(const struct mf_memo_node *node, uint32_t i)
{
	return &groups_of(node)[i / GROUP].values[i % GROUP];
}

/* Creates a memo node that holds the stack words @words, starting with word @first. */
static struct mf_memo_node *make_leaf(struct mf_memo *memo, uint64_t above, uint64_t value,
				      const struct words *words, uint32_t first)
{
	uint32_t n = words->n - first;
	struct mf_memo_node *node = make_node(memo, above, value, n);

	for (uint32_t i = 0; i < n; i++) {
		*offset_at(node, i) = *offset_of(words, first + i);
		*value_at(node, i) = *value_of(words, first + i);
	}
	set_words(node, n);
	publish(memo, node);
	return node;
}

/* Splits @node: @node keeps its first @kept words, which all stacks below it share, and a new child gets the rest. */
static void split(struct mf_memo *memo, struct mf_memo_node *node, uint32_t kept)
{
	uint32_t number = memo->n_nodes, n = node->n_words - kept - 1;
	struct mf_memo_node *child = make_node(memo, CHILD_OF | number, *value_at(node, kept), n);

	for (uint32_t i = 0; i < n; i++) {
		*offset_at(child, i) = *offset_at(node, kept + 1 + i);
		*value_at(child, i) = *value_at(node, kept + 1 + i);
	}
	set_words(child, n);
	publish(memo, child);
	child->context = node->context;
	child->branch = node->branch;
	child->latest = node->latest;
	child->number = node->number;
	node->number = number;
	node->context = 0;
	node->latest = mf_memo_place(memo, child);
	node->branch = *offset_at(node, kept);
	set_words(node, kept);
}

/*
 * Compares the words of @node with those in @words, starting at @at. Returns how many are equal before the first that
 * differs.
 */
static uint32_t agree(const struct mf_memo_node *node, const struct words *words, uint32_t at)
{
	uint32_t i = 0;

	while (i < node->n_words && at + i < words->n &&
	       groups_of(node)[i / GROUP].values[i % GROUP] == *value_of(words, at + i) &&
	       groups_of(node)[i / GROUP].offsets[i % GROUP] == *offset_of(words, at + i))
		i++;
	return i;
}

static void note_miss(struct mf_memo *memo)
{
	if (memo->score) {
		memo->score--;
		return;
	}
	memo->in_vain++;
	if (memo->in_vain % IN_VAIN_LONG == 0 && memo->pause < IN_VAIN_MAX)
		memo->pause = 2 * memo->pause + 1;
	if (memo->in_vain % IN_VAIN_KEPT == 0)
		empty(memo);
}

void mf_memo_pass(struct mf_memo *memo)
{
	note_miss(memo);
}

void mf_memo_enter(struct mf_memo *memo, const struct mf_registers *registers,
		   const struct mf_walk *walk, uint32_t context)
{
	struct words words = {
		.sp = registers->sp, .fit = true, .groups = memo->walked,
	};
	uint64_t above = registers->sp, value = registers->pc;
	struct mf_memo_node *node;
	uint32_t at = 0;

	note_miss(memo);
	collect(&words, walk);
	if (!words.fit || above & CHILD_OF)
		return;
	make_room(memo);
	while ((node = find_node(memo, above, value))) {
		uint32_t n = agree(node, &words, at);

		at += n;
		/*
		 * The address of the next word that a walk reads depends only on the words already read. So two walks
		 * that have read the same words should continue at the same address. If the addresses differ anyway,
		 * the stack cannot be added.
		 */
		if (at == words.n)
			return;
		if (n < node->n_words) {
			if (groups_of(node)[n / GROUP].offsets[n % GROUP] != *offset_of(&words, at))
				return;
			split(memo, node, n);
		} else if (node->context || node->branch != *offset_of(&words, at)) {
			return;
		}
		above = CHILD_OF | node->number;
		value = *value_of(&words, at++);
	}
	make_leaf(memo, above, value, &words, at)->context = context;
}

void mf_memo_forget(struct mf_memo *memo)
{
	empty(memo);
	memo->score = MF_MEMO_SCORE_MAX;
	memo->pause = MF_MEMO_IN_VAIN;
	memo->in_vain = 0;
}
