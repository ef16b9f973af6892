// SPDX-License-Identifier: GPL-2.0
// The ledger, which counts what each call stack has allocated and freed. Tests which entry belongs to a stack, which
// events it counts, and the ledger's limits.

#include <string.h>

#include "kselftest_harness.h"

#include "model/ledger.h"
#include "model/model.h"
#include "model/trie.h"

#define PC(i) (0x1000 + 16 * (uint64_t)(i))

FIXTURE(ledger) {
	struct mf_store store;
};

FIXTURE_SETUP(ledger)
{
	const struct mf_model_options options = { .max_snapshots = 100, .detailed_freq = 10,
						  .alignment = 16 };
	struct mf_error err;

	/* Minimum size of a store in bytes. */
	ASSERT_EQ(0, mf_store_create(&self->store, 512ull << 20, NULL, &err));
	mf_model_init(&self->store, &options);
}

FIXTURE_TEARDOWN(ledger)
{
	mf_store_detach(&self->store);
}

static uint32_t node(FIXTURE_DATA(ledger) *self, int i)
{
	return mf_trie_child(&self->store, MF_NODE_ROOT,
			     (struct mf_frame){ .pc = PC(i), .object = 0 });
}

static uint32_t context(FIXTURE_DATA(ledger) *self, int i)
{
	return mf_trie_context(&self->store, node(self, i));
}

/* Returns the ledger's entry for the stack that ends in the trie node @wanted, or an entry of zeros if there is none. */
static struct mf_ledger_entry entry_of(FIXTURE_DATA(ledger) *self, uint32_t wanted)
{
	struct mf_ledger_entry entry;

	for (uint32_t i = 1; mf_ledger_read(&self->store, i, &entry); i++)
		if (entry.node == wanted)
			return entry;
	memset(&entry, 0, sizeof(entry));
	return entry;
}

#define EXPECT_VALUES(wanted, ...)                                                        \
	do {                                                                              \
		const uint64_t values[MF_LEDGER_VALUES] = { __VA_ARGS__ };                \
		struct mf_ledger_entry entry = entry_of(self, wanted);                    \
											\
		for (int i = 0; i < MF_LEDGER_VALUES; i++)                                \
			EXPECT_EQ(values[i], entry.values[i]);                            \
	} while (0)

TEST_F(ledger, a_block_is_freed_elsewhere)
{
	struct mf_block block = { .size = 100, .context = context(self, 1) };

	mf_ledger_alloc(&self->store, block.context, block.size);
	mf_ledger_alloc(&self->store, block.context, 11);
	EXPECT_VALUES(node(self, 1), 111, 2, 111, 2, 0, 0);
	mf_ledger_free(&self->store, node(self, 2), &block);
	EXPECT_VALUES(node(self, 1), 11, 1, 111, 2, 0, 0);
	EXPECT_VALUES(node(self, 2), 0, 0, 0, 0, 100, 1);
	/* A stack that has only freed blocks gets no context, because it has not allocated memory. */
	EXPECT_EQ(MF_CONTEXT_NONE, mf_trie_find_context(&self->store, node(self, 2)));
}

TEST_F(ledger, a_reallocation_frees_where_it_allocates)
{
	struct mf_block block = { .size = 100, .context = context(self, 1) };

	mf_ledger_alloc(&self->store, block.context, block.size);
	mf_ledger_realloc(&self->store, context(self, 2), &block, 60);
	EXPECT_VALUES(node(self, 1), 0, 0, 100, 1, 0, 0);
	EXPECT_VALUES(node(self, 2), 60, 1, 60, 1, 100, 1);
}

TEST_F(ledger, no_bytes_are_not_freed)
{
	struct mf_block block = { .size = 0, .context = context(self, 1) };

	mf_ledger_alloc(&self->store, block.context, block.size);
	mf_ledger_free(&self->store, node(self, 2), &block);
	EXPECT_VALUES(node(self, 1), 0, 1, 0, 1, 0, 0);
	EXPECT_EQ(0, entry_of(self, node(self, 2)).node);
}

TEST_F(ledger, ignored_blocks_have_no_stack)
{
	struct mf_block block = { .size = 100, .context = MF_CONTEXT_IGNORED };

	mf_ledger_alloc(&self->store, MF_CONTEXT_IGNORED, 100);
	mf_ledger_alloc(&self->store, MF_CONTEXT_NONE, 7);
	EXPECT_VALUES(MF_NODE_ROOT, 100, 1, 100, 1, 0, 0);
	mf_ledger_free(&self->store, node(self, 2), &block);
	EXPECT_VALUES(MF_NODE_ROOT, 0, 0, 100, 1, 0, 0);
	EXPECT_VALUES(node(self, 2), 0, 0, 0, 0, 100, 1);
}

/* Entries are in the order in which their stacks were first seen. */
TEST_F(ledger, order)
{
	struct mf_ledger_entry entry;

	for (int i = 9; i > 0; i--)
		mf_ledger_alloc(&self->store, context(self, i), 1);
	for (int i = 1; i < 10; i++)
		mf_ledger_alloc(&self->store, context(self, i), 1);
	for (uint32_t i = 1; i < 10; i++) {
		ASSERT_TRUE(mf_ledger_read(&self->store, i, &entry));
		EXPECT_EQ(node(self, 10 - (int)i), entry.node);
		EXPECT_EQ(2, entry.values[MF_LEDGER_BYTES]);
	}
	EXPECT_FALSE(mf_ledger_read(&self->store, 10, &entry));
}

TEST_F(ledger, full)
{
	uint64_t room = self->store.sizes[MF_REGION_LEDGER] / sizeof(struct mf_ledger_entry);
	struct mf_block block = { .size = 1, .context = MF_CONTEXT_IGNORED };
	struct mf_ledger_entry entry;
	uint32_t last = 0;

	/*
	 * The first free creates two entries: the first one for the stack that allocated the block, and the second one
	 * for the stack that frees it. So the entries for freeing stacks begin at the ledger's second entry.
	 */
	for (uint64_t i = 2; i < room; i++)
		mf_ledger_free(&self->store, node(self, (int)i), &block);
	EXPECT_EQ(0, self->store.header->full);
	for (int i = 0; i < 5; i++)
		mf_ledger_free(&self->store, node(self, (int)room + i), &block);
	EXPECT_EQ(MF_STORE_FULL_LEDGER, self->store.header->full);
	/* When the ledger is full, existing entries are still updated. */
	mf_ledger_free(&self->store, node(self, 2), &block);
	EXPECT_EQ(2, entry_of(self, node(self, 2)).values[MF_LEDGER_FREED_BYTES]);
	while (mf_ledger_read(&self->store, last + 1, &entry))
		last++;
	EXPECT_EQ(room - 1, last);
}

/* A faulty program has overwritten the number of the ledger's entries. */
TEST_F(ledger, damaged)
{
	struct mf_ledger_entry entry;

	self->store.header->n_ledger = UINT32_MAX;
	EXPECT_FALSE(mf_ledger_read(&self->store, UINT32_MAX - 1, &entry));
	mf_ledger_alloc(&self->store, context(self, 1), 1);
	EXPECT_EQ(MF_STORE_FULL_LEDGER, self->store.header->full);
}

TEST_HARNESS_MAIN
