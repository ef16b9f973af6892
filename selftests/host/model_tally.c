// SPDX-License-Identifier: GPL-2.0
// Tests how tallies are assigned to threads, which may have to share them, and how the allowance is divided among the
// tallies. The allowance is the amount by which their counters may change before the model must decide about a
// snapshot.

#include <string.h>

#include "kselftest_harness.h"

#include "model/model.h"
#include "model/tally.h"

FIXTURE(tally) {
	struct mf_store store;
};

FIXTURE_SETUP(tally)
{
	const struct mf_model_options options = {
		.peak_inaccuracy = 1,
		.max_snapshots = 100,
		.detailed_freq = 10,
		.time_unit = MF_TIME_BYTES,
		.heap_admin = 8,
		.alignment = 16,
	};

	ASSERT_EQ(0, mf_store_create(&self->store, 512ull << 20, NULL, NULL));
	mf_model_init(&self->store, &options);
}

FIXTURE_TEARDOWN(tally)
{
	mf_store_detach(&self->store);
}

static uint32_t begin_one(struct mf_store *store)
{
	uint32_t number = mf_tally_least_used(store);

	mf_tally_begin(store, number);
	return number;
}

/*
 * Each of the first threads gets a tally of its own. Once all tallies are in use, further threads share them, starting
 * with the first tally.
 */
TEST_F(tally, is_shared_evenly)
{
	for (uint32_t i = 0; i < 10 * MF_SHARDS_MAX; i++)
		ASSERT_EQ(i % MF_SHARDS_MAX, begin_one(&self->store));
	EXPECT_EQ(MF_SHARDS_MAX, self->store.header->n_tallies);
	for (uint32_t i = 0; i < MF_SHARDS_MAX; i++)
		EXPECT_EQ(10, mf_tally_of(&self->store, i)->users);
	/* A tally that becomes free is assigned to the next thread. */
	mf_tally_end(&self->store, 17);
	EXPECT_EQ(17, begin_one(&self->store));
}

/* If few threads run at the same time, few tallies are used, however many threads start and end. */
TEST_F(tally, is_used_again)
{
	for (uint32_t i = 0; i < 1000; i++) {
		ASSERT_EQ(0, begin_one(&self->store));
		mf_tally_end(&self->store, 0);
	}
	EXPECT_EQ(1, self->store.header->n_tallies);
}

/*
 * While a thread uses a tally, the tally has an allowance: the amount by which its counters may change before the model
 * must decide whether to take a snapshot. The allowance is divided by the number of tallies, not by the number of
 * threads.
 */
TEST_F(tally, has_an_allowance)
{
	struct mf_tally *first = mf_tally_of(&self->store, 0), *second = mf_tally_of(&self->store, 1);
	int64_t of_one;

	/* Assume that a snapshot has just been taken, so that the next one is not due immediately. */
	mf_model_of(&self->store)->next_allowed = 1 << 20;
	mf_tally_begin(&self->store, 0);
	mf_tally_grant(&self->store);
	of_one = first->clock_room;
	EXPECT_LT(1000, of_one);
	mf_tally_begin(&self->store, 0);
	mf_tally_grant(&self->store);
	EXPECT_EQ(of_one, first->clock_room);
	mf_tally_begin(&self->store, 1);
	mf_tally_grant(&self->store);
	EXPECT_EQ(of_one / 2, first->clock_room);
	EXPECT_EQ(of_one / 2, second->clock_room);

	mf_tally_end(&self->store, 0);
	EXPECT_EQ(of_one / 2, first->clock_room);
	mf_tally_end(&self->store, 0);
	EXPECT_EQ(-1, first->clock_room);
	mf_tally_grant(&self->store);
	EXPECT_EQ(-1, first->clock_room);
	EXPECT_EQ(of_one, second->clock_room);
}

/*
 * In a forked child, no tally remains marked as used or locked by a thread of the parent, since those threads do not
 * exist in the child.
 */
TEST_F(tally, is_nobodys_in_a_child)
{
	for (uint32_t i = 0; i < 100; i++)
		begin_one(&self->store);
	mf_tally_grant(&self->store);
	mf_tally_of(&self->store, 5)->busy = 1;
	mf_tally_end_all(&self->store);
	for (uint32_t i = 0; i < MF_SHARDS_MAX; i++) {
		EXPECT_EQ(0, mf_tally_of(&self->store, i)->users);
		EXPECT_EQ(0, mf_tally_of(&self->store, i)->busy);
		EXPECT_EQ(-1, mf_tally_of(&self->store, i)->clock_room);
	}
	EXPECT_EQ(0, begin_one(&self->store));
}

TEST_HARNESS_MAIN
