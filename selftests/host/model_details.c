// SPDX-License-Identifier: GPL-2.0
// The details of contexts: what happens when there is no room for them, and of blocks whose births are not known.

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "model/details.h"
#include "model/heap.h"
#include "model/model.h"
#include "model/tally.h"
#include "model/tree_version.h"
#include "selftests/lib/model_oracle.h"

#define MIB (1ull << 20)

/* The place (struct mf_detail_place) of events that the model handles for the thread with tally 0. */
static const struct mf_detail_place first = { 0 };

FIXTURE(details) {
	struct mf_store store;
};

static int create(struct mf_store *store, uint64_t budget)
{
	const struct mf_model_options options = { .max_snapshots = 100, .detailed_freq = 10, .alignment = 16 };
	int code = mf_store_create_detailed(store, budget, NULL, NULL);

	if (!code)
		mf_model_init(store, &options);
	return code;
}

FIXTURE_SETUP(details)
{
	ASSERT_EQ(0, create(&self->store, 460 * MIB));
}

FIXTURE_TEARDOWN(details)
{
	mf_store_detach(&self->store);
}

static uint32_t new_context(struct mf_store *store, uint64_t number)
{
	return mf_trie_context(store, mf_trie_child(store, MF_NODE_ROOT, (struct mf_frame){ .pc = 0x1000 + number }));
}

static struct mf_detail_sum sum_of(const struct mf_store *store, uint32_t context)
{
	struct mf_detail_sum sum;

	mf_details_sum(store, context, &sum);
	return sum;
}

TEST(budgets)
{
	struct mf_error err = { "" };
	struct mf_store store, other;
	int fd;

	EXPECT_EQ(-ENOMEM, mf_store_create_detailed(&store, 435 * MIB, &fd, &err));
	EXPECT_NE(NULL, strstr(err.text, "440 MiB"));
	EXPECT_EQ(0, mf_store_create_detailed(&store, 440 * MIB, &fd, &err));
	mf_store_detach(&store);
	close(fd);
	EXPECT_EQ(-ENOMEM, mf_store_create(&store, 370 * MIB, &fd, &err));
	EXPECT_NE(NULL, strstr(err.text, "375 MiB"));
	EXPECT_EQ(0, mf_store_create(&store, 375 * MIB, &fd, &err));
	mf_store_detach(&store);
	close(fd);
	ASSERT_EQ(0, mf_store_create_detailed(&store, 0, &fd, &err));
	ASSERT_EQ(0, mf_store_attach(&other, fd, &err));
	EXPECT_TRUE(mf_details_are_kept(&other));
	/* Without the mark, a store must not have the regions, and the other way round. */
	store.header->keeps_details = 0;
	mf_store_detach(&other);
	EXPECT_EQ(-EINVAL, mf_store_attach(&other, fd, &err));
	mf_store_detach(&store);
	close(fd);
	ASSERT_EQ(0, mf_store_create(&store, 0, &fd, &err));
	EXPECT_FALSE(mf_details_are_kept(&store));
	store.header->keeps_details = 1;
	EXPECT_EQ(-EINVAL, mf_store_attach(&other, fd, &err));
	mf_store_detach(&store);
	close(fd);
}

/* Blocks of all sizes, in one context after another, until there is no room for counters: each loss is counted. */
TEST_F(details, lines_run_out)
{
	struct mf_store *store = &self->store;
	uint64_t n_lines = store->sizes[MF_REGION_DETAIL_LINES] / sizeof(struct mf_detail_line) - 1, used = 0;
	uint64_t cases[] = { n_lines, n_lines + 1, 10 * n_lines };
	uint32_t n_contexts = (uint32_t)mf_details_contexts_max(store) - 2, context = 0;

	ASSERT_LT(n_lines, 6ull * n_contexts);
	for (size_t i = 0; i < 3; i++) {
		for (; used < cases[i]; used++) {
			/* Each of six groups of classes needs a line. In the third case, the contexts come again. */
			if (used % 6 == 0)
				context = used / 6 < n_contexts ? new_context(store, used / 6) : context;
			mf_details_alloc(store, first, context, 0x100000 + used * 16, 1ull << (used % 6 * 8));
		}
		EXPECT_TRUE(i < 2 ? store->header->details_lost == i : store->header->details_lost > 1);
		EXPECT_LE(store->header->n_detail_lines, n_lines + 1);
	}
	EXPECT_EQ(1, sum_of(store, MF_CONTEXT_FIRST).counts[MF_DETAIL_SIZES][0]);
	EXPECT_EQ(1ull << 40, sum_of(store, MF_CONTEXT_FIRST).largest);
}

TEST_F(details, contexts_run_out)
{
	struct mf_store *store = &self->store;
	uint32_t max = (uint32_t)mf_details_contexts_max(store);

	for (uint32_t i = MF_CONTEXT_FIRST; i < max; i++)
		mf_details_alloc(store, first, i, 0x100000 + i * 16, 16);
	EXPECT_EQ(0, store->header->details_lost);
	for (uint32_t i = max; i < 10 * max; i++)
		mf_details_alloc(store, first, i, 0x100000 + i * 16, 16);
	EXPECT_EQ(9ull * max, store->header->details_lost);
	EXPECT_EQ(0, sum_of(store, max).largest);
	EXPECT_EQ(16, sum_of(store, max - 1).largest);
}

/* Context 1 has the blocks that are not counted, 0 those for which the trie has no room. */
TEST_F(details, other_blocks)
{
	const struct mf_block block = { .address = 0x100000, .size = 10, .context = MF_CONTEXT_IGNORED };

	mf_details_alloc(&self->store, first, MF_CONTEXT_IGNORED, 0x100000, 10);
	mf_details_alloc(&self->store, first, MF_CONTEXT_NONE, 0x100010, 10);
	mf_details_free(&self->store, first, &block);
	EXPECT_EQ(0, self->store.header->details_lost);
	EXPECT_EQ(0, self->store.header->position);
	EXPECT_EQ(0, sum_of(&self->store, MF_CONTEXT_IGNORED).largest);
}

/* Of two blocks that begin in the same granule, no lifetime is known; of the next block there, it is. */
TEST_F(details, blocks_in_one_granule)
{
	struct mf_store *store = &self->store;
	uint32_t context = new_context(store, 0);

	mf_heap_alloc(store, 0x100000, 100, context, 0);
	mf_heap_alloc(store, 0x100000, 10, context, 0);
	mf_heap_free(store, 0x100000, 0);
	mf_heap_free(store, 0x100000, 0);
	EXPECT_EQ(2, store->header->details_lost);
	mf_heap_alloc(store, 0x100000, 100, context, 0);
	mf_heap_free(store, 0x100000, 0);
	EXPECT_EQ(2, store->header->details_lost);
	EXPECT_EQ(1, sum_of(store, context).counts[MF_DETAIL_LIFETIMES][0]);
	EXPECT_EQ(3, sum_of(store, context).counts[MF_DETAIL_SIZES][7] + sum_of(store, context).counts[MF_DETAIL_SIZES][4]);
	EXPECT_EQ(0, mf_details_blocks(store, 0, context));
}

TEST_F(details, a_life_that_goes_on)
{
	const struct mf_block block = { .address = 0x100000, .size = 100, .context = new_context(&self->store, 0) };
	struct mf_store *store = &self->store;
	struct mf_life life;

	mf_heap_alloc(store, block.address, block.size, block.context, 0);
	store->header->n_tallies = 4;
	life = mf_details_end_life(store, 3, &block);
	mf_details_revive(store, &block, life);
	mf_heap_alloc(store, 0x200000, 1000, block.context, 0);
	mf_heap_free(store, block.address, 0);
	EXPECT_EQ(0, store->header->details_lost);
	EXPECT_EQ(0, sum_of(store, block.context).counts[MF_DETAIL_LIFETIMES][0]);
	EXPECT_EQ(1, sum_of(store, block.context).counts[MF_DETAIL_LIFETIMES][10]);
	EXPECT_EQ(1, mf_details_blocks(store, 0, block.context));
}

/* An event of a thread whose tally is @tally, as the shim's functions for events that the model handles count it. */
static void alloc_by(struct mf_store *store, uint32_t tally, uint64_t address, uint32_t context)
{
	store->shard = tally;
	mf_tally_note_alloc(mf_tally_of(store, tally), address);
	mf_heap_alloc(store, address, 16, context, 0);
}

static void free_by(struct mf_store *store, uint32_t tally, uint64_t address)
{
	struct mf_block block;

	store->shard = tally;
	mf_heap_free_block(store, address, &block, 0);
	mf_tally_note_free(store, mf_tally_of(store, tally), &block);
}

static uint64_t temporaries_of(const struct mf_store *store, uint32_t context)
{
	struct mf_trie_counts counts;

	mf_trie_sum_counts(store, context, 1, &counts);
	return counts.temporaries;
}

/* A block lives through @others allocations of its thread, and through as many of another thread, which count nothing. */
TEST_F(details, ages)
{
	static const struct {
		uint64_t others;
		uint32_t class;
	} cases[] = {
		{ 0, 0 }, { 1, 1 }, { 2, 2 }, { 3, 2 }, { 4, 3 }, { 7, 3 }, { 8, 4 }, { 15, 4 }, { 16, 5 }, { 1000, 10 },
		{ 1023, 10 }, { 1024, 11 },
	};
	struct mf_store *store = &self->store;
	uint32_t others = new_context(store, 1000);

	mf_tally_begin(store, 0);
	mf_tally_begin(store, 5);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t context = new_context(store, i);

		alloc_by(store, 5, 0x100000, context);
		for (uint64_t k = 0; k < cases[i].others; k++)
			alloc_by(store, 5, 0x200000 + k * 16, others);
		for (uint64_t k = 0; k < cases[i].others; k++)
			alloc_by(store, 0, 0x300000 + k * 16, others);
		free_by(store, 5, 0x100000);
		for (uint32_t class = 0; class < MF_DETAIL_CLASSES; class++)
			EXPECT_EQ(class == cases[i].class, sum_of(store, context).counts[MF_DETAIL_AGES][class]);
		EXPECT_EQ(cases[i].others == 0, temporaries_of(store, context));
		for (uint64_t k = 0; k < 2 * cases[i].others; k++)
			free_by(store, 0, (k & 1 ? 0x200000 : 0x300000) + k / 2 * 16);
	}
	EXPECT_EQ(0, store->header->details_lost);
}

/* A thread that takes over a tally has none of the blocks of the thread before; one that shares a tally has all of them. */
TEST_F(details, ages_of_other_threads)
{
	struct mf_store *store = &self->store;
	uint32_t context = new_context(store, 0);

	mf_tally_begin(store, 0);
	mf_tally_begin(store, 1);
	for (uint64_t i = 0; i < 5; i++)
		alloc_by(store, 1, 0x100000 + i * 16, context);
	free_by(store, 0, 0x100000);
	free_by(store, 1, 0x100010);
	EXPECT_EQ(1, sum_of(store, context).counts[MF_DETAIL_AGES][2]);
	mf_tally_end(store, 1);
	mf_tally_take_over(store, 1);
	mf_tally_begin(store, 1);
	free_by(store, 1, 0x100020);
	free_by(store, 1, 0x100040);
	EXPECT_EQ(0, temporaries_of(store, context));
	alloc_by(store, 1, 0x100050, context);
	mf_tally_take_over(store, 1);
	mf_tally_begin(store, 1);
	free_by(store, 1, 0x100050);
	EXPECT_EQ(1, temporaries_of(store, context));
	EXPECT_EQ(1, sum_of(store, context).counts[MF_DETAIL_AGES][0]);
	EXPECT_EQ(0, sum_of(store, context).counts[MF_DETAIL_AGES][1]);
	EXPECT_EQ(1, sum_of(store, context).counts[MF_DETAIL_AGES][2]);
}

/* If another thread has been given the address of a block, the count of temporary blocks decides. */
TEST_F(details, ages_of_one_address)
{
	struct mf_store *store = &self->store;
	uint32_t context = new_context(store, 0);

	mf_tally_begin(store, 0);
	mf_tally_begin(store, 1);
	alloc_by(store, 0, 0x100000, context);
	free_by(store, 1, 0x100000);
	alloc_by(store, 1, 0x100000, context);
	free_by(store, 0, 0x100000);
	EXPECT_EQ(1, temporaries_of(store, context));
	EXPECT_EQ(1, sum_of(store, context).counts[MF_DETAIL_AGES][0]);
}

/* Numbers beyond the last class are in it. */
TEST_F(details, the_last_class)
{
	static const uint64_t sizes[] = { 1ull << 46, (1ull << 46) + 1, 1ull << 47, (1ull << 47) + 1, UINT64_MAX };
	uint32_t context = new_context(&self->store, 0);

	for (size_t i = 0; i < 5; i++)
		mf_details_alloc(&self->store, first, context, 0x100000 + i * 16, sizes[i]);
	EXPECT_EQ(1, sum_of(&self->store, context).counts[MF_DETAIL_SIZES][46]);
	EXPECT_EQ(4, sum_of(&self->store, context).counts[MF_DETAIL_SIZES][47]);
}

/* Random contents do not lead outside the store. */
TEST_F(details, damaged_memory)
{
	struct mf_detail *detail = mf_details_of(&self->store, 0, MF_CONTEXT_FIRST);
	uint64_t seed = 5, sum = 0;

	self->store.header->n_tallies = UINT32_MAX;
	for (int i = 0; i < 1000; i++) {
		for (size_t k = 0; k < sizeof(*detail); k++)
			((uint8_t *)detail)[k] = (uint8_t)oracle_random(&seed);
		for (uint32_t context = 0; context < 10; context++)
			sum += sum_of(&self->store, context).largest;
	}
	sum += sum_of(&self->store, UINT32_MAX).largest;
	EXPECT_NE(0, sum);
}

TEST_HARNESS_MAIN
