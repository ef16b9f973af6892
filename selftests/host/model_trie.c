// SPDX-License-Identifier: GPL-2.0
// Contexts are stacks. A stack that was inserted can be read back. A full store reports that it is full and continues
// to work.

#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"
#include "model/heap.h"
#include "model/model.h"
#include "model/objects.h"
#include "model/trie.h"
#include "selftests/lib/capture_read.h"
#include "report/collect.h"
#include "selftests/lib/model_oracle.h"

#define MIB	   (1024ull * 1024)
#define LEAST	   (350 * MIB)
#define STACK_MAX  256
#define STACKS	   20000
#define MILLION	   1000000u

static struct mf_store store;

static const struct mf_model_options defaults = { 1, 100, 10, MF_TIME_BYTES, 8, 16 };

static int start(uint64_t budget)
{
	if (mf_store_create(&store, budget, NULL, NULL))
		return -1;
	mf_model_init(&store, &defaults);
	mf_model_attempt(&store, 0);
	return 0;
}

static bool reads_back(uint32_t context, const struct mf_frame *frames, uint32_t n)
{
	struct mf_frame read[STACK_MAX + 1];

	if (mf_trie_frames(&store, context, read, STACK_MAX + 1) != n)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (read[i].pc != frames[i].pc || read[i].object != frames[i].object)
			return false;
	return true;
}

/*
 * Returns a random stack built from a small set of distinct frames, so that stacks have much in common and some are
 * prefixes of others.
 */
static uint32_t random_stack(uint64_t *seed, struct mf_frame *frames)
{
	uint32_t n = 1 + (uint32_t)oracle_below(seed, oracle_below(seed, 8) ? 12 : STACK_MAX);

	for (uint32_t i = 0; i < n; i++)
		frames[i] = (struct mf_frame){ .pc = 0x401000 + oracle_below(seed, 4) * 5,
					       .object = (uint32_t)oracle_below(seed, 2) };
	return n;
}

struct known {
	uint32_t context, n;
	struct mf_frame frames[STACK_MAX];
};

static int by_stack(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	if (x->n != y->n)
		return x->n < y->n ? -1 : 1;
	return memcmp(x->frames, y->frames, x->n * sizeof(*x->frames));
}

/* Equal stacks have the same context; different stacks have different contexts. */
TEST(random_stacks)
{
	struct known *known = calloc(STACKS, sizeof(*known));
	uint32_t different = 1;
	uint64_t seed = 21;

	ASSERT_NE(NULL, known);
	ASSERT_EQ(0, start(0));
	for (uint32_t i = 0; i < STACKS; i++) {
		uint32_t before = store.header->n_contexts;

		known[i].n = random_stack(&seed, known[i].frames);
		known[i].context = mf_trie_insert(&store, known[i].frames, known[i].n);
		ASSERT_LE(MF_CONTEXT_FIRST, known[i].context);
		ASSERT_LE(known[i].context, before);
	}
	for (uint32_t i = 0; i < STACKS; i++) {
		ASSERT_TRUE(reads_back(known[i].context, known[i].frames, known[i].n));
		ASSERT_EQ(known[i].context,
			  mf_trie_insert(&store, known[i].frames, known[i].n));
	}
	qsort(known, STACKS, sizeof(*known), by_stack);
	for (uint32_t i = 1; i < STACKS; i++) {
		bool same = !by_stack(&known[i - 1], &known[i]);

		ASSERT_EQ(same, known[i - 1].context == known[i].context);
		different += !same;
	}
	EXPECT_EQ(MF_CONTEXT_FIRST + different, store.header->n_contexts);
	free(known);
}

/*
 * Adds eight nodes, one per object, at each of a large number of addresses, enough for some of the addresses to collide
 * in the hash table.
 */
TEST(one_pc_in_many_objects)
{
	ASSERT_EQ(0, start(0));
	for (uint32_t i = 0; i < 8 * 25000; i++) {
		struct mf_frame frame = { .pc = 0x401000 + i / 8, .object = i % 8 };
		uint32_t context = mf_trie_insert(&store, &frame, 1);

		ASSERT_EQ(MF_CONTEXT_FIRST + i, context);
		ASSERT_TRUE(reads_back(context, &frame, 1));
	}
}

/* A stack without frames is valid. */
TEST(empty_stack)
{
	struct mf_frame frame;
	uint32_t context;

	ASSERT_EQ(0, start(0));
	context = mf_trie_insert(&store, NULL, 0);
	EXPECT_EQ(MF_CONTEXT_FIRST, context);
	EXPECT_EQ(context, mf_trie_insert(&store, NULL, 0));
	EXPECT_EQ(0, mf_trie_frames(&store, context, &frame, 1));
}

/* Reads no more than the requested number of innermost frames. A context that does not exist has no frames. */
TEST(bounded_reading)
{
	struct mf_frame frames[8], read[8] = { 0 };
	uint32_t context;

	ASSERT_EQ(0, start(0));
	for (uint32_t i = 0; i < 8; i++)
		frames[i] = (struct mf_frame){ .pc = 100 + i };
	context = mf_trie_insert(&store, frames, 8);
	EXPECT_EQ(3, mf_trie_frames(&store, context, read, 3));
	EXPECT_EQ(100, read[0].pc);
	EXPECT_EQ(102, read[2].pc);
	EXPECT_EQ(0, read[3].pc);
	EXPECT_EQ(0, mf_trie_frames(&store, context + 1, read, 8));
	EXPECT_EQ(0, mf_trie_frames(&store, UINT32_MAX, read, 8));
}

static struct mf_frame numbered_frame(uint32_t i)
{
	return (struct mf_frame){ .pc = 0x7f0000000000 + (uint64_t)i * 3, .object = i % 7 };
}

/*
 * Returns the parent of node @i. It is chosen so that some nodes have few children and some have many, and so that the
 * children of a node are not created consecutively.
 */
static uint32_t parent_of(const uint32_t *nodes, uint32_t i)
{
	if (i < 16)
		return MF_NODE_ROOT;
	return nodes[i % 3 ? i / 3 : i / 1000];
}

/* The hash table of child nodes doubles in size several times; every node can still be found. */
TEST(million_nodes)
{
	uint32_t *nodes = calloc(MILLION, sizeof(*nodes));

	ASSERT_NE(NULL, nodes);
	ASSERT_EQ(0, start(0));
	for (uint32_t i = 0; i < MILLION; i++) {
		nodes[i] = mf_trie_child(&store, parent_of(nodes, i), numbered_frame(i));
		ASSERT_EQ(i + 1, nodes[i]);
	}
	EXPECT_LE(19, store.header->node_hash_bits);
	for (uint32_t i = 0; i < MILLION; i++)
		ASSERT_EQ(nodes[i], mf_trie_child(&store, parent_of(nodes, i), numbered_frame(i)));
	EXPECT_EQ(MILLION + 1, store.header->n_nodes);
	EXPECT_EQ(0, store.header->full);
	free(nodes);
}

/*
 * Nodes with 1 to 40 children; if there are more than MF_TRIE_ELDEST_MAX, the hash table is used. Each child is found,
 * and is created only once.
 */
TEST(families)
{
	uint32_t parents[40], last;

	ASSERT_EQ(0, start(0));
	for (uint32_t i = 0; i < 40; i++)
		parents[i] = mf_trie_child(&store, MF_NODE_ROOT, numbered_frame(1000 + i));
	for (uint32_t size = 0; size < 40; size++)
		for (uint32_t i = 0; i < 40 - size; i++)
			mf_trie_child(&store, parents[size + i], numbered_frame(size));
	last = store.header->n_nodes;
	EXPECT_EQ(1 + 40 + 40 * 41 / 2, last);
	for (uint32_t i = 0; i < 40; i++)
		for (uint32_t child = 0; child <= i; child++) {
			uint32_t node = mf_trie_child(&store, parents[i], numbered_frame(child));
			struct mf_frame frames[3];

			ASSERT_GT(last, node);
			ASSERT_EQ(2, mf_trie_node_frames(&store, node, frames, 3));
			EXPECT_EQ(numbered_frame(child).pc, frames[0].pc);
			EXPECT_EQ(numbered_frame(1000 + i).pc, frames[1].pc);
		}
	EXPECT_EQ(last, store.header->n_nodes);
}

/*
 * A search by address alone finds a child only if the child's object is the one currently mapped at that address. It
 * does not find a child whose object was mapped there earlier, or whose object is not yet known and would have to be
 * looked up first.
 */
TEST(mapped_children)
{
	struct mf_object object = { .kind = MF_OBJECT_FILE, .start = 0x1000, .end = 0x9000, .path = "/a" };
	uint32_t objects[2], parent, nodes[20][2];

	ASSERT_EQ(0, start(0));
	parent = mf_trie_child(&store, MF_NODE_ROOT, numbered_frame(1));
	for (uint32_t round = 0; round < 2; round++) {
		objects[round] = mf_objects_add(&store, &object);
		ASSERT_NE(MF_OBJECT_NONE, objects[round]);
		for (uint32_t i = 0; i < 20; i++) {
			struct mf_frame frame = { .pc = 0x1000 + i, .object = objects[round] };

			EXPECT_EQ(0, mf_trie_find_mapped(&store, parent, frame.pc, 0));
			nodes[i][round] = mf_trie_child(&store, parent, frame);
			EXPECT_EQ(nodes[i][round], mf_trie_find_mapped(&store, parent, frame.pc, 0));
		}
		for (uint32_t i = 0; i < 20; i++) {
			for (uint32_t likely = 0; likely < store.header->n_nodes; likely++)
				EXPECT_EQ(nodes[i][round],
					  mf_trie_find_mapped(&store, parent, 0x1000 + i, likely));
			EXPECT_EQ(0, mf_trie_find_mapped(&store, nodes[0][round], 0x1000 + i, nodes[i][round]));
		}
		mf_objects_retire(&store, objects[round]);
	}
	for (uint32_t i = 0; i < 20; i++) {
		struct mf_frame frame = { .pc = 0x2000 + i, .object = MF_OBJECT_NONE };
		uint32_t node = mf_trie_child(&store, parent, frame);

		EXPECT_EQ(0, mf_trie_find_mapped(&store, parent, 0x1000 + i, nodes[i][1]));
		EXPECT_EQ(0, mf_trie_find_mapped(&store, parent, frame.pc, node));
		EXPECT_EQ(node, mf_trie_find_child(&store, parent, frame));
	}
}

/*
 * Once nodes or contexts run out, blocks from known stacks are still counted. Blocks from new stacks are lost, and are
 * counted as lost.
 */
TEST(full)
{
	struct mf_model *model;
	struct mf_frame frame;
	struct mf_collection collection;
	struct mf_object note;
	uint32_t i, context, overflow, last = 0;
	uint64_t heap = 0;

	ASSERT_EQ(0, start(LEAST));
	model = mf_model_of(&store);
	for (i = 0; i < 3 * MILLION && !store.header->full; i++) {
		frame = numbered_frame(i);
		context = mf_trie_insert(&store, &frame, 1);
		mf_heap_alloc(&store, 0x10000 + i * 16ull, 16, context, 0);
		if (context != MF_CONTEXT_NONE) {
			heap += 16;
			last = context;
		}
	}
	ASSERT_NE(0, store.header->full & (MF_STORE_FULL_NODES | MF_STORE_FULL_CONTEXTS));
	EXPECT_EQ(1, store.header->events_lost);
	EXPECT_EQ(heap, model->heap);

	for (uint32_t j = 0; j < 1000; j++) {
		frame = numbered_frame(i + j);
		EXPECT_EQ(MF_CONTEXT_NONE, mf_trie_insert(&store, &frame, 1));
		mf_heap_alloc(&store, 0x40000000 + j * 16ull, 16, MF_CONTEXT_NONE, 0);
		/* No block is known at this address, because the allocation was lost. */
		mf_heap_free(&store, 0x40000000 + j * 16ull, 0);
	}
	EXPECT_EQ(1001, store.header->events_lost);
	EXPECT_EQ(heap, model->heap);

	frame = numbered_frame(0);
	EXPECT_EQ(MF_CONTEXT_FIRST, mf_trie_insert(&store, &frame, 1));
	mf_heap_alloc(&store, 0x40000000, 16, MF_CONTEXT_FIRST, 0);
	EXPECT_EQ(heap + 16, model->heap);
	mf_heap_free(&store, 0x40000000, 0);
	mf_heap_free(&store, 0x10000, 0);
	EXPECT_EQ(heap - 16, model->heap);
	frame = numbered_frame(last - MF_CONTEXT_FIRST);
	EXPECT_TRUE(reads_back(last, &frame, 1));

	ASSERT_EQ(0, mf_collect(&store, (struct mf_end){ 0 }, &collection, NULL));
	EXPECT_EQ(last - MF_CONTEXT_FIRST + 1, collection.profile.n_contexts);
	mf_collection_release(&collection);

	/*
	 * Bytes without a known stack can be counted in the overflow context, which stands for all stacks that could
	 * not be stored.
	 */
	overflow = mf_trie_overflow(&store);
	EXPECT_EQ(last + 1, overflow);
	EXPECT_EQ(overflow, mf_trie_overflow(&store));
	ASSERT_EQ(1, mf_trie_frames(&store, overflow, &frame, 1));
	ASSERT_TRUE(mf_objects_read(&store, frame.object, &note));
	EXPECT_EQ(MF_OBJECT_NOTE, note.kind);
	EXPECT_STREQ("[call stacks that found no room]", note.path);
	mf_heap_alloc(&store, 0x40000000, 16, overflow, 0);
	EXPECT_EQ(heap, model->heap);
	frame = numbered_frame(i);
	EXPECT_EQ(MF_CONTEXT_NONE, mf_trie_insert(&store, &frame, 1));
}

/* Blocks beyond the table's capacity are lost; blocks in the table are still found and freed. */
TEST(full_of_blocks)
{
	struct mf_model *model;
	struct mf_frame frame = { .pc = 0x401000 };
	uint64_t leaves = 0, n = 0;
	uint32_t context;

	ASSERT_EQ(0, start(LEAST));
	model = mf_model_of(&store);
	context = mf_trie_insert(&store, &frame, 1);
	for (leaves = 0; leaves < MILLION && !store.header->full; leaves++)
		mf_heap_alloc(&store, (leaves + 1) << 22, 16, context, 0);
	leaves--;
	ASSERT_EQ(MF_STORE_FULL_BLOCKS, store.header->full);
	EXPECT_EQ(1, store.header->events_lost);
	EXPECT_EQ(leaves * 16, model->heap);

	/*
	 * A granule is 16 bytes of the address space. Each pair of blocks that begin in the same granule needs an entry
	 * in a second table, which fills up as well.
	 */
	while (store.header->events_lost < 3 && n < MILLION)
		mf_heap_alloc(&store, (1ull << 22) + 16 + n++, 16, context, 0);
	EXPECT_LE(3, store.header->events_lost);
	EXPECT_EQ((leaves + n - 2) * 16, model->heap);
	for (uint64_t i = 0; i < n; i++)
		mf_heap_free(&store, (1ull << 22) + 16 + i, 0);
	for (uint64_t i = 0; i <= leaves; i++)
		mf_heap_free(&store, (i + 1) << 22, 0);
	EXPECT_EQ(0, model->heap);
	EXPECT_EQ(0, model->extra);

	/* The table entries of freed blocks can be used again. */
	mf_heap_alloc(&store, (1ull << 22) + 1, 16, context, 0);
	EXPECT_EQ(16, model->heap);
}

/*
 * If the store has no room for the block that a realloc returns, the old block's bytes are still subtracted from the
 * totals.
 */
TEST(full_in_realloc)
{
	struct mf_frame frame = { .pc = 0x401000 };
	struct mf_block block;
	uint32_t context;

	ASSERT_EQ(0, start(LEAST));
	context = mf_trie_insert(&store, &frame, 1);
	mf_heap_alloc(&store, 0x10000, 100, context, 0);
	ASSERT_TRUE(mf_heap_realloc_begin(&store, 0x10000, &block));
	mf_heap_realloc_end(&store, &block, 0x20000, 200, MF_CONTEXT_NONE, 0);
	EXPECT_EQ(1, store.header->events_lost);
	EXPECT_EQ(0, mf_model_of(&store)->heap);
	EXPECT_EQ(0, mf_model_of(&store)->extra);
	mf_heap_free(&store, 0x20000, 0);
	EXPECT_EQ(0, mf_model_of(&store)->heap);
}

#define MANY 10000u /* number of contexts, all of which change between two tree versions */

/* Returns how many of the kept snapshots have a tree, or 0 if a tree is wrong. */
static uint32_t right_trees(void)
{
	static struct mf_snapshot_view views[MF_SNAPSHOTS_MAX];
	static uint64_t bytes[MANY];
	uint32_t trees = 0;

	for (uint32_t i = mf_model_view(&store, views); i-- > 0;) {
		if (views[i].tree == MF_TREE_EMPTY)
			continue;
		trees++;
		if (capture_read(&store, views[i].snapshot.capture, bytes, MANY) != MANY)
			return 0;
		for (uint32_t j = 0; j < MANY; j++)
			if (bytes[j] != (uint64_t)views[i].snapshot.time + j)
				return 0;
	}
	return trees;
}

/*
 * When the store has no more room for trees, some detailed snapshots lose their trees. The other trees are correct, and
 * snapshots continue to be taken.
 */
TEST(full_of_captures)
{
	struct mf_model_options options = { 1, 1000, 1, MF_TIME_MS, 8, 16 };
	static struct mf_snapshot_view views[MF_SNAPSHOTS_MAX];

	ASSERT_EQ(0, start(LEAST));
	mf_model_init(&store, &options);
	for (uint32_t i = 0; i < MANY; i++) {
		struct mf_frame frame = numbered_frame(i);

		ASSERT_EQ(MF_CONTEXT_FIRST + i, mf_trie_insert(&store, &frame, 1));
		mf_trie_charge(&store, MF_CONTEXT_FIRST + i, i);
	}
	for (int time = 0; time < 100; time++) {
		/* The first snapshot is a peak, which is kept until the end. */
		if (time == 0)
			mf_model_change(mf_model_of(&store), 1, 0);
		if (time == 0)
			mf_model_check_peak(&store, time);
		else
			mf_model_attempt(&store, time);
		for (uint32_t i = 0; i < MANY; i++)
			mf_trie_charge(&store, MF_CONTEXT_FIRST + i, 1);
	}
	EXPECT_EQ(MF_STORE_FULL_CAPTURES, store.header->full);
	ASSERT_EQ(100, mf_model_view(&store, views));
	EXPECT_EQ(MF_TREE_PEAK, views[0].tree);
	EXPECT_LT(4, right_trees());
	EXPECT_GT(100, right_trees());

	/* Contexts whose bytes do not change take up no space, however many tree versions there are. */
	for (int time = 100; time < 900; time++)
		mf_model_attempt(&store, 100);
	EXPECT_LT(800, right_trees());
}

/*
 * A tree version is kept by recording the old byte count of each context that changes after the version was taken. If
 * there is no room for these records, the version is dropped even if it is the only one, and counting continues.
 */
TEST(full_of_one_capture)
{
	struct mf_model_options options = { 1, 10, 1, MF_TIME_MS, 8, 16 };
	static struct mf_snapshot_view views[MF_SNAPSHOTS_MAX];
	uint64_t bytes;

	ASSERT_EQ(0, start(LEAST));
	mf_model_init(&store, &options);
	for (uint32_t i = 0; i < MANY; i++) {
		struct mf_frame frame = numbered_frame(i);

		ASSERT_EQ(MF_CONTEXT_FIRST + i, mf_trie_insert(&store, &frame, 1));
	}
	mf_model_change(mf_model_of(&store), 1, 0);
	mf_model_check_peak(&store, 0);
	store.sizes[MF_REGION_CAPTURES] = 20 * 4096;
	for (uint32_t i = 0; i < MANY; i++)
		mf_trie_charge(&store, MF_CONTEXT_FIRST + i, i);
	EXPECT_EQ(MF_STORE_FULL_CAPTURES, store.header->full);
	ASSERT_EQ(1, mf_model_view(&store, views));
	EXPECT_EQ(MF_TREE_EMPTY, views[0].tree);
	mf_trie_sum(&store, MF_CONTEXT_FIRST + MANY - 1, 1, &bytes);
	EXPECT_EQ(MANY - 1, bytes);
}

TEST(full_of_objects)
{
	struct mf_object object = { .kind = MF_OBJECT_FILE, .end = 1, .path = "/lib/libexample.so" };
	struct mf_object read;
	uint32_t n = 0, number;

	ASSERT_EQ(0, start(LEAST));
	while ((number = mf_objects_add(&store, &object)) != MF_OBJECT_NONE && n < MILLION)
		ASSERT_EQ(++n, number);
	EXPECT_EQ(MF_STORE_FULL_OBJECTS, store.header->full);
	ASSERT_TRUE(mf_objects_read(&store, n, &read));
	EXPECT_STREQ(object.path, read.path);
	EXPECT_FALSE(mf_objects_read(&store, MILLION, &read));
	EXPECT_FALSE(mf_objects_read(&store, UINT32_MAX, &read));
}

TEST_HARNESS_MAIN
