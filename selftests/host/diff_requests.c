// SPDX-License-Identifier: GPL-2.0
// Client requests under Valgrind's Massif and under massif-ctl: all snapshots, trees and times are equal.

#include "kselftest_harness.h"

#include "selftests/lib/diff_table.h"

SCENARIO(blocks, "diff_requests", ARGS("blocks"), WITH(ALL_TREES));
SCENARIO(no_admin, "diff_requests", ARGS("blocks"), WITH(ALL_TREES, "--heap-admin=0"));
SCENARIO(twice, "diff_requests", ARGS("twice"), WITH(ALL_TREES, "--peak-inaccuracy=0"));
SCENARIO(unknown, "diff_requests", ARGS("unknown"), WITH(ALL_TREES));
SCENARIO(resizes, "diff_requests", ARGS("resizes"), WITH(ALL_TREES, "--peak-inaccuracy=0"));
SCENARIO(pool, "diff_requests", ARGS("pool"), WITH(ALL_TREES));
SCENARIO(pool_peaks, "diff_requests", ARGS("pool"), WITH("--peak-inaccuracy=0"));
SCENARIO(waves, "diff_requests", ARGS("waves"));
SCENARIO(waves_peaks, "diff_requests", ARGS("waves"),
	 WITH("--peak-inaccuracy=0", "--max-snapshots=20"));
SCENARIO(places, "diff_requests", ARGS("places"), WITH(ALL_TREES));
SCENARIO(places_depth, "diff_requests", ARGS("places"), WITH(ALL_TREES, "--depth=3"));
SCENARIO(places_merged, "diff_requests", ARGS("places"),
	 WITH(ALL_TREES, "--merge-recursive-frames=1"));
SCENARIO(places_offsets, "diff_requests", ARGS("places"), WITH(ALL_TREES, "--sym-offsets=yes"));
SCENARIO(alloc_fns, "diff_requests", ARGS("allocator"),
	 WITH(ALL_TREES, "--alloc-fn=my_take", "--alloc-fn=my_alloc"));
SCENARIO(ignored, "diff_requests", ARGS("allocator"),
	 WITH(ALL_TREES, "--alloc-fn=my_take", "--ignore-fn=my_other"));
SCENARIO(handlers, "diff_requests", ARGS("handlers"), WITH(ALL_TREES));
SCENARIO(plugin, "diff_requests", ARGS("plugin"), WITH(ALL_TREES));
SCENARIO(forks, "diff_requests", ARGS("forks"), WITH(ALL_TREES));
SCENARIO(others, "diff_requests", ARGS("others"), WITH(ALL_TREES));
SCENARIO(logged, "diff_requests", ARGS("resizes"), WITH("-v", "-v", "-v", "-v"), .log = true);

SCENARIO(threads, "diff_requests", ARGS("threads"), WITH(ALL_TREES),
	 .why = "the dynamic linker allocates 16 bytes a thread for the shim's own variables",
	 .their_library = "libdiff_tls.so");

TEST_HARNESS_MAIN
