// SPDX-License-Identifier: GPL-2.0
// Threads free each other's blocks while signals arrive and the process forks: no block is lost or counted twice.

#include <sys/wait.h>

#include "kselftest_harness.h"

#include "model/details.h"
#include "model/ledger.h"
#include "model/model.h"
#include "selftests/lib/ctl_run.h"
#include "selftests/lib/heap_session.h"

FIXTURE(storm) {
	struct heap_session session;
};

FIXTURE_SETUP(storm)
{
}

FIXTURE_TEARDOWN(storm)
{
	heap_session_end(&self->session);
}

FIXTURE_VARIANT(storm) {
	const char *threads, *rounds;
	/* true to run with --stacks=yes and a ledger, which counts what each call stack has allocated and freed */
	bool watched;
	bool detailed; /* true to keep details, as --record-detail=full does */
};

FIXTURE_VARIANT_ADD(storm, one_thread) { "1", "400000" };
FIXTURE_VARIANT_ADD(storm, two_threads) { "2", "200000" };
FIXTURE_VARIANT_ADD(storm, eight_threads) { "8", "100000" };
FIXTURE_VARIANT_ADD(storm, hundred_threads) { "100", "8000" };
FIXTURE_VARIANT_ADD(storm, hundred_watched_threads) { "100", "8000", .watched = true };
FIXTURE_VARIANT_ADD(storm, one_watched_thread) { "1", "400000", .watched = true };
FIXTURE_VARIANT_ADD(storm, eight_watched_threads) { "8", "100000", .watched = true };
FIXTURE_VARIANT_ADD(storm, one_detailed_thread) { "1", "400000", .detailed = true };
FIXTURE_VARIANT_ADD(storm, eight_detailed_threads) { "8", "100000", .detailed = true };
FIXTURE_VARIANT_ADD(storm, hundred_detailed_threads) { "100", "8000", .detailed = true };
FIXTURE_VARIANT_ADD(storm, eight_detailed_and_watched_threads) { "8", "100000", .watched = true, .detailed = true };

static void watch(struct mf_store *store)
{
	store->header->keeps_ledger = 1;
	store->header->counts_stacks = 1;
}

/* Returns the sums of the ledger's values over all call stacks. */
static struct mf_ledger_entry sum_ledger(const struct mf_store *store)
{
	struct mf_ledger_entry sum = { 0 }, entry;

	for (uint32_t i = 1; mf_ledger_read(store, i, &entry); i++)
		for (int j = 0; j < MF_LEDGER_VALUES; j++)
			sum.values[j] += entry.values[j];
	return sum;
}

/* What all contexts have together. */
struct detail_totals {
	uint64_t allocations, live, sizes, lifetimes;
};

static struct detail_totals sum_details(const struct mf_store *store)
{
	struct detail_totals totals = { 0 };

	for (uint32_t i = MF_CONTEXT_FIRST; i < store->header->n_contexts; i++) {
		struct mf_trie_counts counts;
		struct mf_detail_sum sum;

		mf_trie_sum_counts(store, i, 1, &counts);
		mf_details_sum(store, i, &sum);
		totals.allocations += counts.allocations;
		for (uint32_t shard = 0; shard < MF_SHARDS_MAX; shard++)
			totals.live += mf_details_blocks(store, shard, i);
		for (uint32_t class = 0; class < MF_DETAIL_CLASSES; class++) {
			totals.sizes += sum.counts[MF_DETAIL_SIZES][class];
			totals.lifetimes += sum.counts[MF_DETAIL_LIFETIMES][class];
		}
	}
	return totals;
}

TEST_F_TIMEOUT(storm, sums, 120)
{
	struct detail_totals details;
	struct mf_ledger_entry ledger;
	struct heap_session_sums sums;
	uint32_t trees;

	if (variant->watched)
		self->session.prepare = watch;
	self->session.details = variant->detailed;
	ASSERT_TRUE(heap_session_run(&self->session,
				     (const char *[]){ ctl_target("heap_storm"), variant->threads,
						       variant->rounds, NULL }));
	EXPECT_EQ(0, self->session.status);
	EXPECT_EQ(0, self->session.store.header->events_lost);
	EXPECT_EQ(0, self->session.store.header->full);
	EXPECT_LT(400000, self->session.store.header->events);

	sums = heap_session_sum(&self->session);
	EXPECT_EQ(sums.model, sums.blocks);
	EXPECT_EQ(sums.contexts, sums.blocks);
	/* The tree of each snapshot that was kept adds up to the snapshot's heap bytes. */
	EXPECT_EQ(0, heap_session_unequal_trees(&self->session, &trees));
	EXPECT_LT(10, trees);
	/* The program frees all of its blocks; the blocks that the C library allocates for threads remain. */
	EXPECT_GT(40, sums.n_blocks);
	/* A child's blocks are not counted in its parent's profile. */
	EXPECT_EQ(0, heap_session_count(&self->session, 12345));

	details = sum_details(&self->session.store);
	if (variant->detailed) {
		/* Each block is in the histogram of sizes, and then lives or is in that of lifetimes. */
		EXPECT_EQ(details.allocations, details.sizes);
		EXPECT_EQ(sums.n_blocks, details.live);
		EXPECT_EQ(details.sizes, details.lifetimes + details.live);
		EXPECT_EQ(0, self->session.store.header->details_lost);
	}
	if (!variant->watched)
		return;
	ledger = sum_ledger(&self->session.store);
	EXPECT_EQ(sums.blocks, ledger.values[MF_LEDGER_BYTES]);
	EXPECT_EQ(sums.blocks, ledger.values[MF_LEDGER_ALLOCATED_BYTES] -
				       ledger.values[MF_LEDGER_FREED_BYTES]);
	/*
	 * The block counts in the ledger are correct as well. The ledger does not count frees of blocks of size 0, but
	 * the program has no such blocks.
	 */
	EXPECT_EQ(sums.n_blocks, ledger.values[MF_LEDGER_BLOCKS]);
	EXPECT_EQ(sums.n_blocks, ledger.values[MF_LEDGER_ALLOCATED_BLOCKS] -
					 ledger.values[MF_LEDGER_FREED_BLOCKS]);
	EXPECT_LT(200000, ledger.values[MF_LEDGER_FREED_BLOCKS]);
	/* All threads but the first have ended, so the total of the stacks includes only the main thread's stack. */
	EXPECT_LT(0, mf_model_of(&self->session.store)->stacks);
	EXPECT_GT(4096, mf_model_of(&self->session.store)->stacks);
}

TEST_HARNESS_MAIN
