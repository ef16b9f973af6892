// SPDX-License-Identifier: GPL-2.0
// The table of threads whose stacks are kept apart: their nodes, the contexts below them, names, and the table's limit.

#include <stdio.h>
#include <string.h>

#include "kselftest_harness.h"

#include "model/model.h"
#include "model/size_classes.h"
#include "model/tally.h"
#include "model/thread_table.h"
#include "model/thread_totals.h"

FIXTURE(thread_table) {
	struct mf_store store;
};

FIXTURE_SETUP(thread_table)
{
	const struct mf_model_options options = { .max_snapshots = 100, .detailed_freq = 10, .alignment = 16 };
	struct mf_error err;

	ASSERT_EQ(0, mf_store_create(&self->store, 512ull << 20, NULL, &err));
	mf_model_init(&self->store, &options);
	mf_thread_table_init(&self->store);
}

FIXTURE_TEARDOWN(thread_table)
{
	mf_store_detach(&self->store);
}

static uint32_t add(struct mf_store *store, int32_t tid, const char *text)
{
	char name[MF_THREAD_NAME_SIZE] = "";

	snprintf(name, sizeof(name), "%s", text);
	return mf_thread_table_add(store, tid, name);
}

/* Returns the context of a stack of @n frames below @root. */
static uint32_t context_of(struct mf_store *store, uint32_t root, uint32_t n)
{
	uint32_t node = root;

	for (uint32_t i = 0; i < n; i++)
		node = mf_trie_child(store, node, (struct mf_frame){ .pc = 0x1000 + i });
	return mf_trie_context(store, node);
}

TEST_F(thread_table, the_same_stack_of_two_threads)
{
	struct mf_store *store = &self->store;
	uint32_t one = add(store, 101, "one"), two = add(store, 102, "two");
	uint32_t of_none = context_of(store, MF_NODE_ROOT, 3), of_one = context_of(store, one, 3), of_two;
	struct mf_frame frames[8];

	of_two = context_of(store, two, 3);
	EXPECT_NE(of_one, of_two);
	EXPECT_NE(of_one, of_none);
	EXPECT_EQ(1, mf_thread_table_of(store, of_one));
	EXPECT_EQ(2, mf_thread_table_of(store, of_two));
	EXPECT_EQ(0, mf_thread_table_of(store, of_none));
	/* A thread's node is no frame. */
	ASSERT_EQ(3, mf_trie_frames(store, of_two, frames, 8));
	for (uint32_t i = 0; i < 3; i++)
		EXPECT_EQ(0x1000 + 2 - i, frames[i].pc);
	/* Nor is it one of a stack that has none. */
	EXPECT_EQ(0, mf_trie_frames(store, context_of(store, one, 0), frames, 8));
	EXPECT_EQ(one, mf_thread_table_find(store, 101));
	EXPECT_EQ(MF_NODE_ROOT, mf_thread_table_find(store, 103));
	EXPECT_EQ(MF_NODE_ROOT, mf_thread_table_find(store, 0));
}

/* A thread ID is used again after its thread has ended: the newest counts. */
TEST_F(thread_table, ids_that_are_used_again)
{
	uint32_t old = add(&self->store, 101, "old"), new = add(&self->store, 101, "new");

	EXPECT_NE(old, new);
	EXPECT_EQ(new, mf_thread_table_find(&self->store, 101));
	mf_thread_table_rename(&self->store, old, "older\0\0\0\0\0\0\0\0\0\0");
	EXPECT_STREQ("older", mf_thread_table_record(&self->store, 1)->name);
	EXPECT_STREQ("new", mf_thread_table_record(&self->store, 2)->name);
	mf_thread_table_rename(&self->store, MF_NODE_ROOT, "root\0\0\0\0\0\0\0\0\0\0\0");
	EXPECT_STREQ("new", mf_thread_table_record(&self->store, 2)->name);
}

/* Up to the limit each thread has a number; one more, and ten times as many, share the last. */
TEST_F_TIMEOUT(thread_table, limit, 60)
{
	struct mf_store *store = &self->store;
	uint32_t last = 0, node;

	for (uint32_t i = 1; i <= MF_THREAD_TABLE_MAX; i++) {
		node = add(store, (int32_t)i, "thread");
		ASSERT_NE(MF_NODE_ROOT, node);
		ASSERT_NE(last, node);
		last = node;
	}
	EXPECT_EQ(MF_THREAD_TABLE_MAX, mf_thread_table_of(store, context_of(store, last, 2)));
	EXPECT_EQ((int32_t)MF_THREAD_TABLE_MAX, mf_thread_table_record(store, MF_THREAD_TABLE_MAX)->tid);
	EXPECT_STREQ("thread", mf_thread_table_record(store, MF_THREAD_TABLE_MAX)->name);
	EXPECT_EQ(last, add(store, MF_THREAD_TABLE_MAX + 1, "more"));
	for (uint32_t i = 2; i < 9 * MF_THREAD_TABLE_MAX; i++)
		ASSERT_EQ(last, add(store, (int32_t)(MF_THREAD_TABLE_MAX + i), "more"));
	EXPECT_EQ(MF_THREAD_TABLE_MAX, store->header->n_threads);
	EXPECT_EQ(0, mf_thread_table_record(store, MF_THREAD_TABLE_MAX)->tid);
	EXPECT_STREQ("(other threads)", mf_thread_table_record(store, MF_THREAD_TABLE_MAX)->name);
	mf_thread_table_rename(store, last, "renamed\0\0\0\0\0\0\0\0");
	EXPECT_STREQ("(other threads)", mf_thread_table_record(store, MF_THREAD_TABLE_MAX)->name);
	/* What the threads allocate is counted all the same. */
	EXPECT_EQ(context_of(store, last, 2), context_of(store, add(store, 1 << 30, "more"), 2));
}

/* Writes a block of @size bytes into the counts of @tally, a temporary one if @temporary. */
static void count(struct mf_store *store, uint32_t tally, uint64_t size, bool temporary)
{
	mf_size_classes_add(mf_size_classes_of(store, tally), size);
	mf_tally_of(store, tally)->temporaries += temporary;
}

static void begin(struct mf_store *store, uint32_t tally, uint32_t thread)
{
	mf_thread_totals_begin(store, tally, thread);
	mf_tally_begin(store, tally);
}

static void end(struct mf_store *store, uint32_t tally)
{
	mf_tally_end(store, tally);
	mf_thread_totals_end(store, tally);
}

/* A tally's counts are its thread's, or those of number 0 while several have it. */
TEST_F(thread_table, totals_are_those_of_the_tally)
{
	struct mf_store *store = &self->store;
	struct mf_thread_sums sums[4];
	uint32_t one, two;

	store->header->counts_threads = 1;
	one = mf_thread_table_enter(store, 101, "one\0\0\0\0\0\0\0\0\0\0\0");
	two = mf_thread_table_enter(store, 102, "two\0\0\0\0\0\0\0\0\0\0\0");
	ASSERT_EQ(1, one);
	ASSERT_EQ(2, two);
	count(store, 3, 7, false); /* before the first thread */
	begin(store, 3, one);
	count(store, 3, 10, true);
	count(store, 3, 0, false);
	begin(store, 3, two);
	count(store, 3, 100, false);
	end(store, 3);
	count(store, 3, 1000, true);
	end(store, 3);
	begin(store, 3, two);
	count(store, 3, 10000, false);
	mf_thread_totals_read(store, 2, sums);
	EXPECT_EQ(10, sums[1].allocated);
	EXPECT_EQ(2, sums[1].allocations);
	EXPECT_EQ(1, sums[1].temporaries);
	EXPECT_EQ(10000, sums[2].allocated);
	EXPECT_EQ(1107, sums[0].allocated);
	EXPECT_EQ(3, sums[0].allocations);
	EXPECT_EQ(1, sums[0].temporaries);
	/* In a forked child, no thread has the tally. */
	mf_tally_end_all(store);
	count(store, 3, 100000, false);
	mf_thread_totals_read(store, 2, sums);
	EXPECT_EQ(10000, sums[2].allocated);
	EXPECT_EQ(101107, sums[0].allocated);
	/* A faulty program has overwritten numbers. */
	begin(store, 3, one);
	mf_tally_of(store, 3)->owner = UINT32_MAX;
	store->header->n_tallies = UINT32_MAX;
	count(store, 3, 5, false);
	mf_thread_totals_read(store, 2, sums);
	EXPECT_EQ(101112, sums[0].allocated);
}

/* Numbers and links that a faulty program has overwritten lead nowhere. */
TEST_F(thread_table, damaged_memory)
{
	struct mf_store *store = &self->store;
	uint32_t root = add(store, 101, "one"), context = context_of(store, root, 3);
	uint32_t *context_nodes = store->regions[MF_REGION_CONTEXT_NODES];

	mf_trie_node(store, root)->pc = 7;
	EXPECT_EQ(0, mf_thread_table_of(store, context));
	mf_trie_node(store, root)->pc = UINT64_MAX;
	EXPECT_EQ(0, mf_thread_table_of(store, context));
	mf_trie_node(store, context_nodes[context])->parent = UINT32_MAX;
	EXPECT_EQ(0, mf_thread_table_of(store, context));
	context_nodes[context] = UINT32_MAX - 1;
	EXPECT_EQ(0, mf_thread_table_of(store, context));
	EXPECT_EQ(0, mf_thread_table_of(store, UINT32_MAX));
}

TEST_HARNESS_MAIN
