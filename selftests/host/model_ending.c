// SPDX-License-Identifier: GPL-2.0
// At the end of a profile, the model checks for a peak as it does at other times, but on a copy of the model. This
// check works no matter what state the program left the model in.

#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

#include "model/tree_version.h"
#include "model/ending.h"
#include "model/heap.h"
#include "model/tally.h"
#include "model/trie.h"
#include "selftests/lib/model_oracle.h"

static struct mf_store store;
static struct mf_ending ending;
static struct oracle oracle, ended;
static struct mf_snapshot_view views[MF_SNAPSHOTS_MAX];

static const struct mf_model_options defaults = {
	.peak_inaccuracy = 1,
	.max_snapshots = 100,
	.detailed_freq = 10,
	.time_unit = MF_TIME_MS,
	.heap_admin = 8,
	.alignment = 16,
};

static int start(const struct mf_model_options *options)
{
	if (mf_store_create(&store, 0, NULL, NULL))
		return -1;
	mf_model_init(&store, options);
	mf_model_attempt(&store, 0);
	return 0;
}

static uint32_t end(enum mf_end_rule rule, int64_t now)
{
	memset(&ending, 0, sizeof(ending));
	mf_ending_make(&ending, &store, (struct mf_end){ .rule = rule, .now = now });
	return mf_model_view(&ending.store, views);
}

/* Changes the number of heap bytes in the model to @bytes. */
static void hold(uint64_t bytes, int64_t now)
{
	struct mf_model *model = mf_model_of(&store);

	if (bytes < model->heap)
		mf_model_check_peak(&store, now);
	mf_model_change(model, (int64_t)bytes - (int64_t)model->heap, 0);
	mf_model_attempt(&store, now);
}

FIXTURE(rule) {
	int nothing;
};

FIXTURE_SETUP(rule)
{
}

FIXTURE_TEARDOWN(rule)
{
	mf_store_detach(&store);
}

/* The program holds 1000 bytes, then 100, and finally @last bytes when it ends, at 50 ms. */
FIXTURE_VARIANT(rule) {
	enum mf_end_rule rule;
	uint64_t last;
	uint32_t n;	/* expected number of snapshots, which is 5 if no final snapshot is added */
	uint32_t peak;	/* number of the snapshot that is the peak */
	enum mf_tree_kind tree; /* tree of the last snapshot */
	bool no_trees;
};

#define ROW(name, ...) FIXTURE_VARIANT_ADD(rule, name) { __VA_ARGS__ }

ROW(nothing, MF_END_NOTHING, 5000, 5, 2, MF_TREE_EMPTY);
ROW(higher, MF_END_PEAK, 5000, 6, 5, MF_TREE_PEAK);
ROW(as_high, MF_END_PEAK, 1000, 5, 2, MF_TREE_EMPTY);
ROW(within_inaccuracy, MF_END_PEAK, 1010, 5, 2, MF_TREE_EMPTY);
ROW(beyond_inaccuracy, MF_END_PEAK, 1011, 6, 5, MF_TREE_PEAK);
ROW(lower, MF_END_PEAK, 500, 5, 2, MF_TREE_EMPTY);
ROW(nothing_left, MF_END_PEAK, 0, 5, 2, MF_TREE_EMPTY);
ROW(tree_of_less, MF_END_TREE, 500, 6, 2, MF_TREE_DETAILED);
ROW(tree_of_nothing, MF_END_TREE, 0, 6, 2, MF_TREE_DETAILED);
ROW(tree_of_the_peak, MF_END_TREE, 5000, 6, 5, MF_TREE_PEAK);
ROW(no_trees, MF_END_TREE, 5000, 6, 5, MF_TREE_EMPTY, .no_trees = true);

TEST_F(rule, decides)
{
	struct mf_model_options options = defaults;
	uint32_t before, n;

	options.no_trees = variant->no_trees;
	ASSERT_EQ(0, start(&options));
	hold(1000, 10);
	hold(100, 20);
	hold(variant->last, 30);
	before = mf_model_view(&store, views);
	n = end(variant->rule, 50);
	EXPECT_EQ(variant->n, n);
	EXPECT_EQ(variant->tree, views[n - 1].tree);
	for (uint32_t i = 0; i < n; i++)
		EXPECT_EQ(i == variant->peak, views[i].is_peak);
	if (n > before) {
		EXPECT_EQ(50, views[n - 1].snapshot.time);
		EXPECT_EQ(variant->last, views[n - 1].snapshot.heap);
		EXPECT_EQ(variant->no_trees ? 0 : MF_CAPTURE_PRESENT, views[n - 1].snapshot.capture);
	}
	/* The peak check at the end was made on a copy of the model, so the model itself has not changed. */
	EXPECT_EQ(before, mf_model_view(&store, views));
	EXPECT_TRUE(views[2].is_peak);
}

/* If the program ended before it took a snapshot, its profile has that of the beginning; its memory is not changed. */
TEST(of_a_program_without_snapshots)
{
	struct mf_model_options options = defaults;

	for (options.detailed_freq = 1; options.detailed_freq <= 2; options.detailed_freq++) {
		ASSERT_EQ(0, mf_store_create(&store, 0, NULL, NULL));
		mf_model_init(&store, &options);
		ASSERT_EQ(1, end(MF_END_NOTHING, 50));
		EXPECT_EQ(0, views[0].snapshot.time);
		EXPECT_EQ(0, views[0].snapshot.heap);
		EXPECT_EQ(options.detailed_freq == 1 ? MF_TREE_DETAILED : MF_TREE_EMPTY, views[0].tree);
		EXPECT_EQ(0, mf_model_view(&store, views));
		mf_store_detach(&store);
	}
}

/*
 * The final snapshot never has an earlier time than the snapshot before it. If the snapshot before it has the same time
 * and a tree, no final snapshot with a tree is taken.
 */
TEST(is_not_made_twice)
{
	struct mf_model_options options = defaults;

	options.detailed_freq = 1;
	ASSERT_EQ(0, start(&options));
	hold(1000, 10);
	hold(500, 20);
	EXPECT_EQ(4, mf_model_view(&store, views));
	EXPECT_EQ(4, end(MF_END_TREE, 20));
	EXPECT_EQ(4, end(MF_END_TREE, 15));
	ASSERT_EQ(5, end(MF_END_TREE, 21));
	hold(2000, 30);
	ASSERT_EQ(6, end(MF_END_PEAK, 25));
	EXPECT_EQ(30, views[5].snapshot.time);
	EXPECT_TRUE(views[5].is_peak);
	mf_store_detach(&store);
}

/* A program may be killed after its list of snapshots has become full but before the list has been culled. */
TEST(of_a_full_list_is_culled_first)
{
	struct mf_model_options options = defaults;
	struct mf_model *model;
	uint32_t n = 1;

	options.max_snapshots = 10;
	ASSERT_EQ(0, start(&options));
	model = mf_model_of(&store);
	/* Fill the list of snapshots without culling, as if --max-snapshots were larger. */
	model->options.max_snapshots = 20;
	for (; n < 10; n++)
		hold(1000 * n, (int64_t)n * 10);
	model->options.max_snapshots = 10;
	EXPECT_EQ(10, mf_model_view(&store, views));
	n = end(MF_END_PEAK, 200);
	EXPECT_EQ(6, n);
	EXPECT_EQ(9000, views[n - 1].snapshot.heap);
	EXPECT_TRUE(views[n - 1].is_peak);
	EXPECT_EQ(200, views[n - 1].snapshot.time);
	mf_store_detach(&store);
}

/* A faulty program may have written anything into the store. */
TEST(of_a_damaged_store_is_sound)
{
	uint64_t seed = 5;

	ASSERT_EQ(0, start(&defaults));
	for (int64_t i = 1; i < 300; i++)
		hold(oracle_below(&seed, 10000), i);
	for (int i = 0; i < 3000; i++) {
		unsigned char *bytes = (unsigned char *)mf_model_of(&store);
		uint32_t n;

		for (int j = 0; j < 20; j++)
			bytes[oracle_below(&seed, sizeof(struct mf_model))] = (unsigned char)oracle_random(&seed);
		/*
		 * Also damage one of the fields that come before the snapshots in struct mf_model, because damage there
		 * has the greatest effect.
		 */
		bytes[oracle_below(&seed, offsetof(struct mf_model, slots))] = (unsigned char)oracle_random(&seed);
		n = end(i % 2 ? MF_END_TREE : MF_END_PEAK, 1000);
		ASSERT_LE(n, MF_SNAPSHOTS_MAX);
	}
	mf_store_detach(&store);
}

FIXTURE(stream) {
	int nothing;
};

FIXTURE_VARIANT(stream) {
	struct mf_model_options options;
	uint64_t seed;
	uint32_t events;
};

FIXTURE_VARIANT_ADD(stream, of_bytes)
{
	.options = { 1, 100, 10, MF_TIME_BYTES, 8, 16 }, .seed = 1, .events = 20000,
};
FIXTURE_VARIANT_ADD(stream, of_few)
{
	.options = { 0, 10, 3, MF_TIME_BYTES, 8, 16 }, .seed = 2, .events = 20000,
};
FIXTURE_VARIANT_ADD(stream, of_time)
{
	.options = { 5, 21, 1, MF_TIME_MS, 8, 16 }, .seed = 3, .events = 20000,
};

FIXTURE_SETUP(stream)
{
	ASSERT_EQ(0, start(&variant->options));
	oracle_init(&oracle, &variant->options);
	oracle_attempt(&oracle, 0);
}

FIXTURE_TEARDOWN(stream)
{
	mf_store_detach(&store);
}

/*
 * Computes the profile that would be written if the program ended at @now. If the total is a new peak, a peak snapshot
 * is taken before the end. Returns whether the slow model (model_oracle.h) yields the same profile.
 */
static bool ends_as_slow_model(int64_t now)
{
	uint32_t n = end(MF_END_PEAK, now);

	ended = oracle;
	oracle_check_peak(&ended, now);
	if (n != (uint32_t)ended.n_snapshots || ending.model.cullings != ended.cullings)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		const struct oracle_snapshot *s = &ended.snapshots[i];

		if (views[i].snapshot.time != s->time || views[i].snapshot.heap != s->heap ||
		    (views[i].tree != MF_TREE_EMPTY) != s->detailed || views[i].is_peak != s->peak)
			return false;
	}
	return true;
}

/*
 * After each event, computes the profile that would be written if the program ended at that point, and compares it with
 * that of the slow model (model_oracle.h).
 */
TEST_F(stream, equals_slow_model)
{
	uint64_t seed = variant->seed;
	struct mf_model *model = mf_model_of(&store);
	uint32_t peaks = 0, cullings = 0;
	int64_t now = 0;

	for (uint32_t i = 0; i < variant->events; i++) {
		uint64_t size = oracle_below(&seed, 1000);
		bool down = oracle_below(&seed, 100) < 48;

		now += (int64_t)oracle_below(&seed, 3);
		if (down && model->heap >= size) {
			mf_model_check_peak(&store, now);
			oracle_check_peak(&oracle, now);
			mf_model_change(model, -(int64_t)size, 0);
			oracle.heap -= size;
		} else {
			mf_model_change(model, (int64_t)size, 0);
			oracle.heap += size;
		}
		oracle.clock += size;
		mf_model_attempt(&store, now);
		oracle_attempt(&oracle, now);
		ASSERT_TRUE(ends_as_slow_model(now))
		{
			TH_LOG("event %u", i);
		}
		peaks += ended.peak_total != oracle.peak_total;
		cullings += ended.cullings != oracle.cullings;
	}
	/*
	 * The test is meaningful only if the end of the profile was a new peak in many cases, and caused snapshots to
	 * be culled in some cases.
	 */
	EXPECT_GT(peaks, 50);
	EXPECT_GT(cullings, 0);
}

TEST_HARNESS_MAIN
