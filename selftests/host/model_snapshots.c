// SPDX-License-Identifier: GPL-2.0
// The snapshots that remain after a known sequence of events: normal and detailed ones, and the peak.

#include "kselftest_harness.h"
#include "model/heap.h"
#include "model/model.h"
#include "model/trie.h"

static struct mf_store store;
static struct mf_snapshot_view views[MF_SNAPSHOTS_MAX];
static uint32_t n_views;
static uint32_t context;

static const struct mf_model_options defaults = {
	.peak_inaccuracy = 1,
	.max_snapshots = 100,
	.detailed_freq = 10,
	.time_unit = MF_TIME_BYTES,
	.heap_admin = 8,
	.alignment = 16,
};

static int start(const struct mf_model_options *options)
{
	struct mf_frame frame = { .pc = 0x401000 };

	if (mf_store_create(&store, 0, NULL, NULL))
		return -1;
	mf_model_init(&store, options);
	mf_model_attempt(&store, 0);
	context = mf_trie_insert(&store, &frame, 1);
	return 0;
}

static void look(void)
{
	n_views = mf_model_view(&store, views);
}

/* An expected snapshot; the letter of its kind says whether it has a tree. */
struct expected {
	int64_t time;
	uint64_t heap, extra;
	char tree; /* 'e'mpty, 'd'etailed, 'p'eak */
};

/* Returns the number of the first snapshot that differs, or -1 if none does. */
static int first_wrong(const struct expected *expected, uint32_t n)
{
	static const char letters[] = { [MF_TREE_EMPTY] = 'e',
					[MF_TREE_DETAILED] = 'd',
					[MF_TREE_PEAK] = 'p' };

	look();
	for (uint32_t i = 0; i < n; i++) {
		const struct mf_snapshot *s = &views[i].snapshot;

		if (i >= n_views || s->time != expected[i].time || s->heap != expected[i].heap ||
		    s->extra != expected[i].extra || letters[views[i].tree] != expected[i].tree)
			return (int)i;
	}
	return n_views == n ? -1 : (int)n;
}

#define EXPECT_SNAPSHOTS(...)                                                             \
	do {                                                                              \
		const struct expected list_[] = { __VA_ARGS__ };                          \
		EXPECT_EQ(-1, first_wrong(list_, sizeof(list_) / sizeof(*list_)));        \
	} while (0)

/*
 * The program from Massif's manual: allocates ten blocks of 1000 bytes, then blocks of 2000, 4000 and 4000 bytes, then
 * frees the first ten.
 */
TEST(manual_example)
{
	ASSERT_EQ(0, start(&defaults));
	for (uint64_t i = 0; i < 10; i++)
		mf_heap_alloc(&store, 0x10000 + i * 0x1000, 1000, context, 0);
	mf_heap_alloc(&store, 0x20000, 2000, context, 0);
	mf_heap_alloc(&store, 0x21000, 4000, context, 0);
	mf_heap_alloc(&store, 0x23000, 4000, context, 0);
	for (uint64_t i = 0; i < 10; i++)
		mf_heap_free(&store, 0x10000 + i * 0x1000, 0);

	/*
	 * Including extra bytes, a block of 1000 bytes takes 1016, one of 2000 takes 2008, and one of 4000 takes 4008.
	 */
	EXPECT_SNAPSHOTS({ 0, 0, 0, 'e' },
			 { 1016, 1000, 16, 'e' },
			 { 2032, 2000, 32, 'e' },
			 { 3048, 3000, 48, 'e' },
			 { 4064, 4000, 64, 'e' },
			 { 5080, 5000, 80, 'e' },
			 { 6096, 6000, 96, 'e' },
			 { 7112, 7000, 112, 'e' },
			 { 8128, 8000, 128, 'e' },
			 { 9144, 9000, 144, 'd' },
			 { 10160, 10000, 160, 'e' },
			 { 12168, 12000, 168, 'e' },
			 { 16176, 16000, 176, 'e' },
			 { 20184, 20000, 184, 'e' },
			 { 20184, 20000, 184, 'p' },
			 { 21200, 19000, 168, 'e' },
			 { 22216, 18000, 152, 'e' },
			 { 23232, 17000, 136, 'e' },
			 { 24248, 16000, 120, 'e' },
			 { 25264, 15000, 104, 'e' },
			 { 26280, 14000, 88, 'e' },
			 { 27296, 13000, 72, 'e' },
			 { 28312, 12000, 56, 'e' },
			 { 29328, 11000, 40, 'e' },
			 { 30344, 10000, 24, 'd' });
	EXPECT_EQ(25, n_views);
}

TEST(detailed_freq)
{
	static const uint32_t frequencies[] = { 1, 2, 3, 10, 1000000 };

	for (size_t f = 0; f < sizeof(frequencies) / sizeof(*frequencies); f++) {
		struct mf_model_options options = defaults;

		options.detailed_freq = frequencies[f];
		ASSERT_EQ(0, start(&options));
		for (uint64_t i = 0; i < 60; i++)
			mf_heap_alloc(&store, 0x10000 + i * 16, 8, context, 0);
		look();
		ASSERT_EQ(61, n_views);
		for (uint32_t i = 0; i < n_views; i++)
			EXPECT_EQ((i + 1) % frequencies[f] == 0, views[i].tree == MF_TREE_DETAILED);
		mf_store_detach(&store);
	}
}

/* No snapshot is skipped before the first culling, even at equal times. */
TEST(equal_times)
{
	struct mf_model_options options = defaults;

	options.time_unit = MF_TIME_MS;
	ASSERT_EQ(0, start(&options));
	for (uint64_t i = 0; i < 3; i++)
		mf_heap_alloc(&store, 0x10000 + i * 16, 8, context, 5);
	mf_heap_free(&store, 0x10000, 5);
	mf_heap_free(&store, 0x10010, 6);
	EXPECT_SNAPSHOTS({ 0, 0, 0, 'e' },
			 { 5, 8, 16, 'e' },
			 { 5, 16, 32, 'e' },
			 { 5, 24, 48, 'e' },
			 { 5, 24, 48, 'p' },
			 { 5, 16, 32, 'e' },
			 { 6, 8, 16, 'e' });
}

/* If all culled snapshots have the same time, the minimum interval is 0, so no snapshot is skipped. */
TEST(equal_times_culled)
{
	struct mf_model_options options = defaults;

	options.time_unit = MF_TIME_MS;
	options.max_snapshots = 10;
	ASSERT_EQ(0, start(&options));
	for (uint64_t i = 0; i < 9; i++)
		mf_heap_alloc(&store, 0x10000 + i * 16, i, context, 0);
	EXPECT_EQ(1, mf_model_of(&store)->cullings);
	EXPECT_EQ(0, mf_model_of(&store)->interval);
	look();
	/*
	 * If several snapshots are equally close to their neighbours, those in the lowest slots are culled: 1, 2, 3, 4,
	 * 5.
	 */
	ASSERT_EQ(5, n_views);
	EXPECT_EQ(0, views[0].snapshot.heap);
	EXPECT_EQ(0 + 1 + 2 + 3 + 4 + 5, views[1].snapshot.heap);
	EXPECT_EQ(36, views[4].snapshot.heap);
}

/* With a minimum interval, the next snapshot is not taken until this interval has passed. */
TEST(least_interval)
{
	struct mf_model_options options = defaults;

	options.time_unit = MF_TIME_MS;
	options.max_snapshots = 10;
	options.least_interval = 1;
	ASSERT_EQ(0, start(&options));
	for (uint64_t i = 0; i < 20; i++)
		mf_heap_alloc(&store, 0x10000 + i * 16, i, context, 0);
	EXPECT_EQ(1, mf_model_of(&store)->interval);
	look();
	ASSERT_EQ(5, n_views);
	mf_heap_alloc(&store, 0x20000, 1, context, 1);
	look();
	EXPECT_EQ(6, n_views);
}

/*
 * A normal snapshot waits for the minimum interval after the last one; a peak does not wait, and restarts the interval.
 */
TEST(interval)
{
	struct mf_model_options options = defaults;

	options.time_unit = MF_TIME_MS;
	options.max_snapshots = 10;
	options.peak_inaccuracy = 0;
	ASSERT_EQ(0, start(&options));
	for (uint64_t i = 1; i < 10; i++)
		mf_heap_alloc(&store, 0x10000 + i * 16, 8, context, (int64_t)i * 100);
	/*
	 * The snapshots at times 100, 300, 500, 700 and then 800 were culled, so those at 0, 200, 400, 600 and 900
	 * remain.
	 */
	look();
	ASSERT_EQ(5, n_views);
	EXPECT_EQ(200, views[1].snapshot.time);
	EXPECT_EQ(200, mf_model_of(&store)->interval);

	mf_heap_alloc(&store, 0x20000, 8, context, 999);
	look();
	EXPECT_EQ(5, n_views);
	mf_heap_free(&store, 0x20000, 999); /* this event triggers only a peak snapshot, not a normal one */
	look();
	ASSERT_EQ(6, n_views);
	EXPECT_EQ(MF_TREE_PEAK, views[5].tree);
	EXPECT_EQ(999, views[5].snapshot.time);
	mf_heap_alloc(&store, 0x20000, 8, context, 1198);
	look();
	EXPECT_EQ(6, n_views);
	mf_heap_alloc(&store, 0x20010, 8, context, 1199);
	look();
	EXPECT_EQ(7, n_views);
	EXPECT_EQ(3, mf_model_of(&store)->skipped_snapshots);
}

/* The model checks for a peak only before a free and before a realloc that shrinks a block. */
TEST(no_peak_without_free)
{
	struct mf_block block;

	ASSERT_EQ(0, start(&defaults));
	mf_heap_alloc(&store, 0x10000, 1000, context, 0);
	mf_heap_alloc(&store, 0x11000, 500, context, 0);
	ASSERT_TRUE(mf_heap_realloc_begin(&store, 0x10000, &block));
	mf_heap_realloc_shrinks(&store, &block, 3000, 0);
	mf_heap_realloc_end(&store, &block, 0x12000, 3000, context, 0);
	ASSERT_TRUE(mf_heap_realloc_begin(&store, 0x12000, &block));
	mf_heap_realloc_shrinks(&store, &block, 3000, 0);
	mf_heap_realloc_end(&store, &block, 0x12000, 3000, context, 0);
	mf_heap_free(&store, 0xdead0, 0);
	EXPECT_SNAPSHOTS({ 0, 0, 0, 'e' },
			 { 1016, 1000, 16, 'e' },
			 { 1536, 1500, 36, 'e' },
			 { 3536, 3500, 36, 'e' },
			 { 3536, 3500, 36, 'e' });
	EXPECT_EQ(0, mf_model_of(&store)->peak_total);

	/* A realloc that shrinks a block checks for a peak, and moves bytes from heap to extra. */
	ASSERT_TRUE(mf_heap_realloc_begin(&store, 0x12000, &block));
	mf_heap_realloc_shrinks(&store, &block, 2999, 0);
	mf_heap_realloc_end(&store, &block, 0x12000, 2999, context, 0);
	look();
	ASSERT_EQ(7, n_views);
	EXPECT_EQ(MF_TREE_PEAK, views[5].tree);
	EXPECT_EQ(3536, views[6].snapshot.time);
	EXPECT_EQ(3499, views[6].snapshot.heap);
	EXPECT_EQ(37, views[6].snapshot.extra);
}

/*
 * A block of 1600 bytes produces a peak; then a block of @total bytes is allocated and freed. Returns the number of
 * peaks.
 */
static uint32_t peaks_with(double inaccuracy, uint64_t total)
{
	struct mf_model_options options = defaults;
	uint32_t peaks;

	options.peak_inaccuracy = inaccuracy;
	options.heap_admin = 0;
	if (start(&options))
		return 99;
	mf_heap_alloc(&store, 0x10000, 1600, context, 0);
	mf_heap_free(&store, 0x10000, 0);
	mf_heap_alloc(&store, 0x10000, total, context, 0);
	mf_heap_free(&store, 0x10000, 0);
	peaks = mf_model_of(&store)->peak_snapshots;
	mf_store_detach(&store);
	return peaks;
}

TEST(peak_inaccuracy)
{
	static const struct {
		double inaccuracy;
		uint64_t total;
		uint32_t peaks;
	} rows[] = {
		{ 0, 1584, 1 },	   { 0, 1600, 1 },    { 0, 1616, 2 }, /* an equal total is not a new peak */
		/* a new peak must exceed the old one, 1600 bytes, by more than 1 %, which is 16 bytes */
		{ 1, 1616, 1 },	   { 1, 1632, 2 },
		{ 1.0625, 1616, 1 }, { 0.9375, 1616, 2 },
		{ 10, 1760, 1 },   { 10, 1776, 2 },
		/* negative values of --peak-inaccuracy are allowed, and make smaller totals count as peaks as well */
		{ -10, 1440, 1 },  { -10, 1456, 2 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		EXPECT_EQ(rows[i].peaks, peaks_with(rows[i].inaccuracy, rows[i].total))
		{
			TH_LOG("inaccuracy %g, total %lu", rows[i].inaccuracy, rows[i].total);
		}
	}
}

/* Only the latest peak counts; the previous one becomes a detailed snapshot and keeps its tree. */
TEST(superseded_peak)
{
	struct mf_model_options options = defaults;

	options.heap_admin = 0;
	ASSERT_EQ(0, start(&options));
	for (uint64_t size = 160; size <= 480; size += 160) {
		mf_heap_alloc(&store, 0x10000, size, context, 0);
		mf_heap_free(&store, 0x10000, 0);
	}
	EXPECT_SNAPSHOTS({ 0, 0, 0, 'e' },
			 { 160, 160, 0, 'e' },
			 { 160, 160, 0, 'd' },
			 { 320, 0, 0, 'e' },
			 { 640, 320, 0, 'e' },
			 { 640, 320, 0, 'd' },
			 { 960, 0, 0, 'e' },
			 { 1440, 480, 0, 'e' },
			 { 1440, 480, 0, 'p' },
			 { 1920, 0, 0, 'e' });
}

/* A peak counts as a detailed snapshot: the next one is due detailed_freq snapshots later. */
TEST(peak_restarts_detailed_freq)
{
	struct mf_model_options options = defaults;

	options.detailed_freq = 3;
	ASSERT_EQ(0, start(&options));
	mf_heap_alloc(&store, 0x10000, 16, context, 0);
	mf_heap_free(&store, 0x10000, 0); /* adds snapshot 2, which is the peak, and then snapshot 3 */
	for (uint64_t i = 0; i < 5; i++)
		mf_heap_alloc(&store, 0x10000 + i * 16, 1, context, 0);
	look();
	ASSERT_EQ(9, n_views);
	for (uint32_t i = 0; i < n_views; i++)
		EXPECT_EQ(i == 2 || i == 5 || i == 8, views[i].tree != MF_TREE_EMPTY);
	EXPECT_EQ(MF_TREE_PEAK, views[2].tree);
}

TEST_HARNESS_MAIN
