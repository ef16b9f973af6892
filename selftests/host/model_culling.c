// SPDX-License-Identifier: GPL-2.0
// Which snapshots survive culling, and the minimum interval between snapshots after a culling.

#include "kselftest_harness.h"
#include "model/heap.h"
#include "model/model.h"
#include "model/trie.h"
#include "selftests/lib/model_oracle.h"

static struct mf_store store;
static struct oracle oracle;
static struct mf_snapshot_view views[MF_SNAPSHOTS_MAX];

static int start(const struct mf_model_options *options)
{
	if (mf_store_create(&store, 0, NULL, NULL))
		return -1;
	mf_model_init(&store, options);
	oracle_init(&oracle, options);
	return 0;
}

static const struct mf_model_options ten = {
	.peak_inaccuracy = 1,
	.max_snapshots = 10,
	.detailed_freq = 10,
	.time_unit = MF_TIME_MS,
	.alignment = 16,
};

/* Returns how many snapshots differ from the expected ones at @times. */
static int wrong_times(const int64_t *times, uint32_t n)
{
	if (mf_model_view(&store, views) != n)
		return -1;
	for (uint32_t i = 0; i < n; i++)
		if (views[i].snapshot.time != times[i])
			return (int)i + 1;
	return 0;
}

/* The model keeps the same snapshots that Massif 3.19 kept in a real run. */
TEST(observed)
{
	static const int64_t times[] = { 0, 24, 64, 120, 192, 280, 384, 504, 528, 568 };
	static const int64_t kept[] = { 0, 120, 280, 384, 568 };

	ASSERT_EQ(0, start(&ten));
	for (int i = 0; i < 10; i++)
		mf_model_attempt(&store, times[i]);
	EXPECT_EQ(0, wrong_times(kept, 5));
	EXPECT_EQ(104, mf_model_of(&store)->interval);
	EXPECT_EQ(568 + 104, mf_model_of(&store)->next_allowed);
}

TEST(ties_go_from_the_lowest)
{
	/* Times of the snapshots that were kept; those at times 1, 3, 5, 7 and 8 were culled */
	static const int64_t kept[] = { 0, 2, 4, 6, 9 };

	ASSERT_EQ(0, start(&ten));
	for (int i = 0; i < 10; i++)
		mf_model_attempt(&store, i);
	EXPECT_EQ(0, wrong_times(kept, 5));
	EXPECT_EQ(2, mf_model_of(&store)->interval);
}

/*
 * Culling keeps the first snapshot, the last one and the peak. The minimum interval between later snapshots becomes the
 * shortest time between two adjacent snapshots that were kept, not counting pairs that consist of two of those three.
 */
TEST(peak_stays)
{
	ASSERT_EQ(0, start(&ten));
	mf_model_attempt(&store, 0);
	mf_model_change(mf_model_of(&store), 100, 0);
	mf_model_check_peak(&store, 1);
	for (int i = 2; i < 10; i++)
		mf_model_attempt(&store, i * 100);
	ASSERT_EQ(5, mf_model_view(&store, views));
	EXPECT_EQ(0, views[0].snapshot.time);
	EXPECT_EQ(1, views[1].snapshot.time);
	EXPECT_EQ(MF_TREE_PEAK, views[1].tree);
	EXPECT_EQ(900, views[4].snapshot.time);
	EXPECT_NE(1, mf_model_of(&store)->interval);
	EXPECT_LE(100, mf_model_of(&store)->interval);
}

/* The minimum interval between snapshots is truncated to 32 bits. */
TEST(narrow_interval)
{
	const int64_t step = (1ll << 32) + 7;

	ASSERT_EQ(0, start(&ten));
	for (int i = 0; i < 10; i++)
		mf_model_attempt(&store, i * step);
	/* The kept snapshots are 2 * step = 2^33 + 14 apart. The low 32 bits of this number are 14. */
	EXPECT_EQ(14, mf_model_of(&store)->interval);
	EXPECT_EQ(9 * step + 14, mf_model_of(&store)->next_allowed);
}

FIXTURE(stream)
{
};

FIXTURE_VARIANT(stream)
{
	struct mf_model_options options;
	uint64_t seed;
	uint32_t events;
	uint64_t step; /* mean time between two events */
};

FIXTURE_VARIANT_ADD(stream, least)
{
	.options = { 1, 10, 10, MF_TIME_MS, 8, 16 }, .seed = 1, .events = 200000, .step = 10,
};
FIXTURE_VARIANT_ADD(stream, odd_number)
{
	.options = { 0, 11, 1, MF_TIME_MS, 8, 16 }, .seed = 2, .events = 200000, .step = 3,
};
FIXTURE_VARIANT_ADD(stream, equal_times)
{
	.options = { 10, 33, 2, MF_TIME_MS, 8, 16 }, .seed = 3, .events = 100000, .step = 1,
};
FIXTURE_VARIANT_ADD(stream, defaults)
{
	.options = { 1, 100, 10, MF_TIME_MS, 8, 16 }, .seed = 4, .events = 300000, .step = 100,
};
FIXTURE_VARIANT_ADD(stream, bytes)
{
	.options = { 1, 50, 5, MF_TIME_BYTES, 8, 16 }, .seed = 5, .events = 300000, .step = 1,
};
FIXTURE_VARIANT_ADD(stream, wide_times)
{
	.options = { 5, 20, 3, MF_TIME_MS, 8, 16 }, .seed = 6, .events = 100000, .step = 1ull << 33,
};
FIXTURE_VARIANT_ADD(stream, most)
{
	.options = { 1, 1000, 7, MF_TIME_MS, 0, 16 }, .seed = 7, .events = 200000, .step = 40,
};

FIXTURE_SETUP(stream)
{
	ASSERT_EQ(0, start(&variant->options));
}

FIXTURE_TEARDOWN(stream)
{
	mf_store_detach(&store);
}

/* Checks invariants right after each culling. */
static bool culling_is_right(uint32_t max_snapshots, int64_t first, int64_t last, uint64_t peak)
{
	uint32_t n = mf_model_view(&store, views);
	uint64_t kept_peak = 0;

	for (uint32_t i = 0; i < n; i++)
		if (views[i].tree == MF_TREE_PEAK)
			kept_peak = views[i].snapshot.heap + views[i].snapshot.extra;
	return n >= (max_snapshots + 1) / 2 && n < max_snapshots &&
	       views[0].snapshot.time == first && views[n - 1].snapshot.time == last &&
	       kept_peak == peak;
}

/*
 * Totals change randomly at random times. After each culling, the model's snapshots are compared with those of the slow
 * model, which is an independent implementation in model_oracle.h.
 */
TEST_F(stream, equals_slow_model)
{
	uint64_t seed = variant->seed;
	struct mf_model *model = mf_model_of(&store);
	int64_t now = 0, first = 0;
	const char *difference;
	uint32_t cullings = 0;

	for (uint32_t i = 0; i < variant->events; i++) {
		uint64_t size = oracle_below(&seed, 1000);
		bool down = oracle_below(&seed, 100) < 47;

		now += (int64_t)oracle_below(&seed, variant->step * 2);
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
		if (!i) {
			mf_model_view(&store, views);
			first = views[0].snapshot.time;
		}
		ASSERT_EQ(model->next_allowed, oracle.next_allowed);
		if (model->cullings == cullings && i % 1000)
			continue;
		/* Trees are not compared, because no bytes are attributed to any context in this test. */
		difference = NULL;
		if (mf_model_view(&store, views) != (uint32_t)oracle.n_snapshots)
			difference = "another number of snapshots";
		for (int j = 0; !difference && j < oracle.n_snapshots; j++) {
			const struct oracle_snapshot *s = &oracle.snapshots[j];

			if (views[j].snapshot.time != s->time || views[j].snapshot.heap != s->heap ||
			    (views[j].tree != MF_TREE_EMPTY) != s->detailed ||
			    (views[j].tree == MF_TREE_PEAK) != s->peak)
				difference = "another snapshot";
		}
		ASSERT_EQ(NULL, difference)
		{
			TH_LOG("event %u: %s", i, difference);
		}
		ASSERT_EQ(oracle.cullings, model->cullings);
		ASSERT_EQ(oracle.interval, model->interval);
		if (model->cullings == cullings + 1 && oracle.n_snapshots &&
		    oracle.n_snapshots <= (int)variant->options.max_snapshots / 2 + 1) {
			int64_t last = oracle.snapshots[oracle.n_snapshots - 1].time;

			EXPECT_TRUE(culling_is_right(variant->options.max_snapshots, first, last,
						     model->peak_total));
		}
		cullings = model->cullings;
	}
	EXPECT_GT(cullings, 2);
}

TEST_HARNESS_MAIN
