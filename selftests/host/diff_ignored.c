// SPDX-License-Identifier: GPL-2.0
// Contexts that are excluded by --ignore-fn, or that consist only of --alloc-fn functions, do not affect any total,
// time or snapshot, as in Massif.

#include "kselftest_harness.h"

#include "selftests/lib/diff_table.h"

SCENARIO(ignore_none, "diff_ignored", ARGS("blocks"), WITH(ALL_TREES));
SCENARIO(ignore_one, "diff_ignored", ARGS("blocks"), WITH(ALL_TREES, "--ignore-fn=hidden"));
SCENARIO(ignore_many, "diff_ignored", ARGS("blocks"),
	 WITH(ALL_TREES, "--ignore-fn=hidden", "--ignore-fn=nothing", "--ignore-fn=hidden_caller"));
SCENARIO(ignore_demangled, "diff_ignored", ARGS("blocks"),
	 WITH(ALL_TREES, "--ignore-fn=visible(unsigned long)",
	      "--ignore-fn=cache::table<long>::add(int)"));
SCENARIO(ignore_mangled, "diff_ignored", ARGS("blocks"),
	 WITH(ALL_TREES, "--demangle=no", "--ignore-fn=_ZL7visiblem",
	      "--ignore-fn=_ZN5cache5tableIlE3addEi"));
SCENARIO(ignore_caller, "diff_ignored", ARGS("blocks"),
	 WITH(ALL_TREES, "--alloc-fn=visible(unsigned long)", "--ignore-fn=hidden_caller"));
SCENARIO(ignore_main, "diff_ignored", ARGS("blocks"),
	 WITH(ALL_TREES, "--ignore-fn=main", "--alloc-fn=hidden", "--alloc-fn=blocks()"));
SCENARIO(ignore_allocators, "diff_ignored", ARGS("blocks"),
	 WITH(ALL_TREES, "--ignore-fn=malloc", "--ignore-fn=operator new[](unsigned long)"));
SCENARIO(ignore_churn, "diff_ignored", ARGS("churn"), WITH("--ignore-fn=hidden"));
SCENARIO(ignore_churn_culled, "diff_ignored", ARGS("churn"),
	 WITH("--ignore-fn=hidden", "--max-snapshots=10"));
SCENARIO(ignore_nearly_all, "diff_ignored", ARGS("churn"),
	 WITH("--ignore-fn=hidden", "--ignore-fn=visible(unsigned long)"));
SCENARIO(ignore_resizes, "diff_ignored", ARGS("resizes"),
	 WITH(ALL_TREES, "--ignore-fn=hidden", "--ignore-fn=hidden_resize"));
SCENARIO(ignore_lost, "diff_ignored", ARGS("lost"),
	 WITH(ALL_TREES, "--ignore-fn=hidden", "--ignore-fn=hidden_resize"),
	 .why = "Massif counts for ever the old size of a block that is resized out of sight",
	 .more_heap_at_end = 1000);
SCENARIO(ignore_found, "diff_ignored", ARGS("found"),
	 WITH(ALL_TREES, "--ignore-fn=hidden"),
	 .why = "Massif's trees, but not its totals, gain for ever a block that comes into sight",
	 .more_heap_at_end = 2000);
SCENARIO(ignore_inlined, "diff_ignored", ARGS("inlined"),
	 WITH(ALL_TREES, "--ignore-fn=hidden_inline"),
	 .why = "a function that is inlined can be ignored, as in 3.27",
	 .their_args = { "inlined", "inner" });
SCENARIO(ignore_inlined_into, "diff_ignored", ARGS("inlined"),
	 WITH(ALL_TREES, "--ignore-fn=has_inline(unsigned long)"),
	 .why = "the innermost function of those inlined is the one that allocates, as in 3.27",
	 .their_args = { "inlined", "outer" }, .their_options = { ALL_TREES });
SCENARIO(ignore_inlined_both, "diff_ignored", ARGS("inlined"),
	 WITH(ALL_TREES, "--ignore-fn=has_inline(unsigned long)", "--ignore-fn=hidden_inline"));
SCENARIO(alloc_fn_beyond_depth, "diff_ignored", ARGS("deep"),
	 WITH(ALL_TREES, "--depth=10", "--alloc-fn=recurse(int)"));
SCENARIO(alloc_fn_beyond_depth_1, "diff_ignored", ARGS("deep"),
	 WITH("--depth=1", "--alloc-fn=recurse(int)"));
SCENARIO(ignore_below_main, "diff_ignored", ARGS("blocks"),
	 WITH(ALL_TREES, "--ignore-fn=(below main)", "--alloc-fn=main", "--alloc-fn=blocks()",
	      "--alloc-fn=visible(unsigned long)"));
SCENARIO(log_ignored, "diff_ignored", ARGS("churn"),
	 WITH("-v", "-v", "-v", "--stats=yes", "--ignore-fn=hidden"), .log = true);
SCENARIO(log_ignored_resizes, "diff_ignored", ARGS("resizes"),
	 WITH("-v", "-v", "-v", "--stats=yes", "--ignore-fn=hidden",
	      "--ignore-fn=hidden_resize"), .log = true);
SCENARIO(log_filtering, "diff_ignored", ARGS("resizes"),
	 WITH("-v", "-v", "-v", "-v", "-v", "--ignore-fn=hidden", "--ignore-fn=hidden_resize"),
	 .log = true);
SCENARIO(log_filtering_churn, "diff_ignored", ARGS("churn"),
	 WITH("-v", "-v", "-v", "-v", "-v", "--ignore-fn=hidden"), .log = true);
SCENARIO(log_filtering_all, "diff_ignored", ARGS("deep"),
	 WITH("-v", "-v", "-v", "-v", "-v", "--depth=10", "--alloc-fn=recurse(int)"), .log = true);
SCENARIO(log_filtering_below_main, "diff_ignored", ARGS("blocks"),
	 WITH("-v", "-v", "-v", "-v", "-v", "--ignore-fn=(below main)", "--alloc-fn=main",
	      "--alloc-fn=blocks()", "--alloc-fn=visible(unsigned long)"), .log = true);

TEST_HARNESS_MAIN
