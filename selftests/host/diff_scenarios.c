// SPDX-License-Identifier: GPL-2.0
// Small programs under Valgrind's Massif and under ours: every snapshot, tree and time is the same.
//
// One row a scenario. One that must differ says why, and in what way it still agrees.

#include "kselftest_harness.h"

#include "selftests/lib/diff_run.h"

FIXTURE(diff) {
	int nothing;
};

FIXTURE_SETUP(diff)
{
}

FIXTURE_TEARDOWN(diff)
{
}

FIXTURE_VARIANT(diff) {
	struct diff_scenario scenario;
};

#define SCENARIO(name, ...) FIXTURE_VARIANT_ADD(diff, name) { .scenario = { __VA_ARGS__ } }
#define ARGS(...) .args = { __VA_ARGS__ }
#define WITH(...) .options = { __VA_ARGS__ }

/* What the options do not say: a tree in every snapshot, and every entry of it. */
#define ALL_TREES "--detailed-freq=1", "--threshold=0"

/* Sizes. */
SCENARIO(slop_table, "diff_calls", ARGS("slop"), WITH(ALL_TREES, "--max-snapshots=1000"));
SCENARIO(heap_admin_0, "diff_calls", ARGS("slop"), WITH("--heap-admin=0"));
SCENARIO(heap_admin_1024, "diff_calls", ARGS("slop"), WITH("--heap-admin=1024"));
SCENARIO(heap_admin_7, "diff_shapes", ARGS("churn_short"), WITH("--heap-admin=7"));
SCENARIO(large_blocks, "diff_calls", ARGS("large"), WITH(ALL_TREES));
SCENARIO(no_bytes, "diff_calls", ARGS("zero"), WITH(ALL_TREES));
SCENARIO(usable_size, "diff_calls", ARGS("usable"), WITH(ALL_TREES));

/* Calls. */
SCENARIO(free_null, "diff_calls", ARGS("free_null"), WITH(ALL_TREES));
SCENARIO(realloc_same_size, "diff_calls", ARGS("realloc_same"), WITH(ALL_TREES));
SCENARIO(realloc_in_place, "diff_calls", ARGS("realloc_in_place"), WITH(ALL_TREES));
SCENARIO(realloc_shrink, "diff_calls", ARGS("realloc_shrink"), WITH(ALL_TREES));
SCENARIO(realloc_grow, "diff_calls", ARGS("realloc_grow"), WITH(ALL_TREES));
SCENARIO(realloc_edges, "diff_calls", ARGS("realloc_edges"), WITH(ALL_TREES));
SCENARIO(realloc_large, "diff_calls", ARGS("realloc_large"), WITH(ALL_TREES));
SCENARIO(realloc_peak_0, "diff_calls", ARGS("realloc_shrink"), WITH("--peak-inaccuracy=0"));
SCENARIO(failed_calls, "diff_calls", ARGS("failed"), WITH(ALL_TREES));
SCENARIO(failed_realloc, "diff_calls", ARGS("failed_realloc"), WITH(ALL_TREES),
	 .why = "Massif forgets a block that could not grow and counts it for ever",
	 .their_args = { "failed_realloc", "without" });
SCENARIO(align_narrow, "diff_calls", ARGS("align_narrow"), WITH(ALL_TREES));
SCENARIO(align_wide, "diff_calls", ARGS("align_wide"), WITH(ALL_TREES),
	 .why = "Massif's allocator leaves what it cut an aligned block from to that block",
	 .more_extra = 6000);
SCENARIO(hole_of_16_more, "diff_calls", ARGS("hole"), WITH(ALL_TREES),
	 .why = "Massif's allocator hands a hole out whole if less than 32 bytes would be left",
	 .more_extra = 16);
SCENARIO(hole_of_48_more, "diff_calls", ARGS("hole_split"), WITH(ALL_TREES));

/* Peaks. */
SCENARIO(peak_inaccuracy_0, "diff_shapes", ARGS("waves"), WITH("--peak-inaccuracy=0"));
SCENARIO(peak_inaccuracy_1, "diff_shapes", ARGS("waves"), WITH("--peak-inaccuracy=1"));
SCENARIO(peak_inaccuracy_10, "diff_shapes", ARGS("waves"), WITH("--peak-inaccuracy=10"));
SCENARIO(peak_inaccuracy_100, "diff_shapes", ARGS("waves"), WITH("--peak-inaccuracy=100"));
SCENARIO(peak_inaccuracy_negative, "diff_shapes", ARGS("waves"), WITH("--peak-inaccuracy=-1"));
SCENARIO(equal_peaks, "diff_shapes", ARGS("equal_waves"), WITH("--peak-inaccuracy=0"));
SCENARIO(plateau, "diff_shapes", ARGS("plateau"));
SCENARIO(no_free, "diff_shapes", ARGS("no_free"));
SCENARIO(no_allocation, "diff_shapes", ARGS("nothing"), WITH(ALL_TREES));
SCENARIO(one_allocation, "diff_shapes", ARGS("one"), WITH(ALL_TREES));

/* Culling and times. */
SCENARIO(max_snapshots_10, "diff_shapes", ARGS("churn_long"), WITH("--max-snapshots=10"));
SCENARIO(max_snapshots_11, "diff_shapes", ARGS("churn_long"), WITH("--max-snapshots=11"));
SCENARIO(max_snapshots_99, "diff_shapes", ARGS("churn_long"), WITH("--max-snapshots=99"));
SCENARIO(max_snapshots_100, "diff_shapes", ARGS("churn_long"));
SCENARIO(max_snapshots_1000, "diff_shapes", ARGS("churn_long"), WITH("--max-snapshots=1000"));
SCENARIO(culling_ties_10, "diff_shapes", ARGS("steps"), WITH("--max-snapshots=10"));
SCENARIO(culling_ties_11, "diff_shapes", ARGS("steps"), WITH("--max-snapshots=11"));
SCENARIO(culling_peaks, "diff_shapes", ARGS("waves"), WITH("--max-snapshots=12"));
SCENARIO(equal_times, "diff_shapes", ARGS("equal_times"), WITH("--max-snapshots=20"));
SCENARIO(clock_beyond_4g, "diff_shapes", ARGS("clock_4g"));
SCENARIO(clock_wraps, "diff_shapes", ARGS("clock_wrap"), WITH("--max-snapshots=10"));
SCENARIO(detailed_freq_1, "diff_shapes", ARGS("churn_short"), WITH("--detailed-freq=1"));
SCENARIO(detailed_freq_3, "diff_shapes", ARGS("churn_short"), WITH("--detailed-freq=3"));
SCENARIO(detailed_freq_1000000, "diff_shapes", ARGS("churn_short"),
	 WITH("--detailed-freq=1000000"));

TEST_F(diff, same)
{
	if (!diff_can_run())
		SKIP(return, "valgrind is not installed");
	EXPECT_TRUE(diff_run(&variant->scenario));
}

TEST_HARNESS_MAIN
