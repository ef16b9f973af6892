// SPDX-License-Identifier: GPL-2.0
// The table of threads whose stacks are kept apart: their nodes, the contexts below them, names, and the table's limit.

#include <stdio.h>
#include <string.h>

#include "kselftest_harness.h"

#include "model/model.h"
#include "model/thread_table.h"

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
