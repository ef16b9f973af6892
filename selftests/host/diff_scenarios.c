// SPDX-License-Identifier: GPL-2.0
// Small programs under Valgrind's Massif and under massif-ctl: all snapshots, trees and times are equal.
//
// One row per scenario. If the results must differ, the row says why, and in which respects they still agree.

#include "kselftest_harness.h"

#include "selftests/lib/diff_table.h"

/* Scenarios about the sizes of blocks. */
SCENARIO(slop_table, "diff_calls", ARGS("slop"), WITH(ALL_TREES, "--max-snapshots=1000"));
SCENARIO(heap_admin_0, "diff_calls", ARGS("slop"), WITH("--heap-admin=0"));
SCENARIO(heap_admin_1024, "diff_calls", ARGS("slop"), WITH("--heap-admin=1024"));
SCENARIO(heap_admin_7, "diff_shapes", ARGS("churn_short"), WITH("--heap-admin=7"));
SCENARIO(large_blocks, "diff_calls", ARGS("large"), WITH(ALL_TREES));
SCENARIO(no_bytes, "diff_calls", ARGS("zero"), WITH(ALL_TREES));
SCENARIO(usable_size, "diff_calls", ARGS("usable"), WITH(ALL_TREES));

/* Scenarios for the different allocation functions. */
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
SCENARIO(realloc_0_frees, "diff_calls", ARGS("realloc_edges"),
	 WITH(ALL_TREES, "--realloc-zero-bytes-frees=yes"),
	 .why = "3.19 has no --realloc-zero-bytes-frees, but always does so", .options_are_new = true,
	 .their_options = { ALL_TREES });
SCENARIO(realloc_0_is_1, "diff_calls", ARGS("realloc_edges"),
	 WITH(ALL_TREES, "--realloc-zero-bytes-frees=no"),
	 .why = "3.19 has no --realloc-zero-bytes-frees; here glibc frees whatever it says",
	 .options_are_new = true, .their_options = { ALL_TREES });

/*
 * These scenarios use --heap and other options, most of which do not affect the profiles of these programs. With
 * --heap=no, massif-ctl counts no blocks.
 */
SCENARIO(heap_no, "diff_shapes", ARGS("waves"), WITH("--heap=no"));
SCENARIO(heap_no_all_trees, "diff_calls", ARGS("realloc_shrink"), WITH(ALL_TREES, "--heap=no"));
SCENARIO(heap_yes, "diff_shapes", ARGS("waves"), WITH("--heap=no", "--heap=yes"));
SCENARIO(redzone_size, "diff_shapes", ARGS("no_free"), WITH("--redzone-size=64"));
SCENARIO(alignment_16, "diff_shapes", ARGS("waves"), WITH("--alignment=16"));
SCENARIO(alignment_64, "diff_shapes", ARGS("no_free"), WITH("--threshold=0", "--alignment=64"),
	 .why = "what Massif's allocator cut an aligned block from stays with that block",
	 .more_extra = 150 * (64 + 32), .fewer_extra = 150 * 64);
SCENARIO(alignment_64_narrow, "diff_calls", ARGS("align_narrow"),
	 WITH(ALL_TREES, "--alignment=64", "--peak-inaccuracy=1000"),
	 .why = "Massif's allocator leaves narrow aligned blocks out of --alignment",
	 .fewer_extra = 7 * 64);
SCENARIO(num_callers, "diff_places", ARGS("ways"), WITH(ALL_TREES, "--num-callers=2"));
SCENARIO(trace_malloc, "diff_calls", ARGS("realloc_edges"), WITH(ALL_TREES, "--trace-malloc=yes"));
SCENARIO(keep_debuginfo, "diff_places", ARGS("ways"), WITH(ALL_TREES, "--keep-debuginfo=yes"));
SCENARIO(merge_recursive_1, "diff_places", ARGS("recursion", "100"),
	 WITH(ALL_TREES, "--merge-recursive-frames=1"));
SCENARIO(merge_recursive_2, "diff_places", ARGS("mutual", "120"),
	 WITH(ALL_TREES, "--merge-recursive-frames=2"));
SCENARIO(merge_recursive_too_few, "diff_places", ARGS("mutual", "60"),
	 WITH(ALL_TREES, "--merge-recursive-frames=1"));

/* Scenarios about peaks. */
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

/* Scenarios that test culling and the times of snapshots. */
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

/* Scenarios about trees. */
SCENARIO(threshold_0, "diff_places", ARGS("sites"), WITH("--detailed-freq=1", "--threshold=0"));
SCENARIO(threshold_default, "diff_places", ARGS("sites"), WITH("--detailed-freq=1"));
SCENARIO(threshold_edges_1, "diff_places", ARGS("sites"),
	 WITH("--detailed-freq=1", "--threshold=1", "--heap-admin=0"));
SCENARIO(threshold_edges_0_995, "diff_places", ARGS("sites"),
	 WITH("--detailed-freq=1", "--threshold=0.995", "--heap-admin=0"));
SCENARIO(threshold_edges_33_335, "diff_places", ARGS("sites"),
	 WITH("--detailed-freq=1", "--threshold=33.335", "--heap-admin=0"));
SCENARIO(threshold_edges_0_996, "diff_places", ARGS("ties"),
	 WITH("--detailed-freq=1", "--threshold=0.996"));
SCENARIO(threshold_100, "diff_places", ARGS("sites"),
	 WITH("--detailed-freq=1", "--threshold=100"));
SCENARIO(threshold_empty, "diff_places", ARGS("sites"),
	 WITH("--detailed-freq=1", "--threshold="));
SCENARIO(threshold_of_extra, "diff_places", ARGS("sites"),
	 WITH("--detailed-freq=1", "--threshold=2.5", "--heap-admin=1024"));
SCENARIO(ties_all, "diff_places", ARGS("ties"), WITH(ALL_TREES));
SCENARIO(ties_merged, "diff_places", ARGS("ties"),
	 WITH("--detailed-freq=1", "--threshold=6", "--heap-admin=0"));
SCENARIO(ways, "diff_places", ARGS("ways"), WITH(ALL_TREES));
SCENARIO(zero_places, "diff_places", ARGS("zero_places"), WITH("--detailed-freq=1"));
SCENARIO(zero_places_shown, "diff_places", ARGS("zero_places"), WITH(ALL_TREES));
SCENARIO(all_freed, "diff_places", ARGS("all_freed"), WITH("--detailed-freq=1"));
SCENARIO(all_freed_threshold_0, "diff_places", ARGS("all_freed"), WITH(ALL_TREES));

/* Scenarios about --depth. */
SCENARIO(depth_1, "diff_places", ARGS("recursion", "100"), WITH(ALL_TREES, "--depth=1"));
SCENARIO(depth_4, "diff_places", ARGS("recursion", "100"), WITH(ALL_TREES, "--depth=4"));
SCENARIO(depth_30, "diff_places", ARGS("recursion", "100"), WITH(ALL_TREES));
SCENARIO(depth_200, "diff_places", ARGS("recursion", "300"), WITH(ALL_TREES, "--depth=200"));
SCENARIO(depth_mutual, "diff_places", ARGS("mutual", "120"), WITH("--depth=60"));
SCENARIO(depth_below_main, "diff_places", ARGS("recursion", "90"),
	 WITH(ALL_TREES, "--depth=45", "--show-below-main=yes"));

/* Scenarios in which --alloc-fn names functions of the program itself. */
SCENARIO(alloc_fn, "diff_places", ARGS("wraps"), WITH(ALL_TREES, "--alloc-fn=wrap"));
SCENARIO(alloc_fn_chain, "diff_places", ARGS("wraps"),
	 WITH(ALL_TREES, "--alloc-fn=wrap", "--alloc-fn=wrap_more", "--alloc-fn=wrap_most"));
SCENARIO(alloc_fn_gap, "diff_places", ARGS("wraps"),
	 WITH(ALL_TREES, "--alloc-fn=wrap", "--alloc-fn=wrap_most"));
SCENARIO(alloc_fn_recursion, "diff_places", ARGS("wraps"),
	 WITH(ALL_TREES, "--alloc-fn=wrap_deep", "--alloc-fn=wrap"));
SCENARIO(alloc_fn_depth, "diff_places", ARGS("wraps"),
	 WITH(ALL_TREES, "--depth=2", "--alloc-fn=wrap_deep", "--alloc-fn=wrap"));
SCENARIO(alloc_fn_middle, "diff_places", ARGS("middles"), WITH(ALL_TREES, "--alloc-fn=middle"));
SCENARIO(alloc_fn_unknown, "diff_places", ARGS("wraps"),
	 WITH("--alloc-fn=wra", "--alloc-fn=wrap*", "--alloc-fn=WRAP", "--alloc-fn="));
SCENARIO(alloc_fn_main, "diff_places", ARGS("ways"),
	 WITH(ALL_TREES, "--alloc-fn=one_place", "--alloc-fn=one_way", "--alloc-fn=another_way",
	      "--alloc-fn=ways", "--alloc-fn=main"));
SCENARIO(alloc_fn_limit, "diff_places", ARGS("limit"),
	 WITH(ALL_TREES, "--depth=1", "--alloc-fn=wrap_aligned", "--alloc-fn=aligned"));
SCENARIO(alloc_fn_limit_of_posix_memalign, "diff_places", ARGS("posix_limit"),
	 WITH(ALL_TREES, "--depth=1", "--alloc-fn=wrap_aligned", "--alloc-fn=aligned"),
	 .why = "posix_memalign is two functions in Massif, one in another, and one frame less is left",
	 .their_args = { "limit" });

/* Scenarios with unusual stack frames. */
SCENARIO(inlined, "diff_frames", ARGS("inlined"), WITH(ALL_TREES));
SCENARIO(inlined_depth_2, "diff_frames", ARGS("inlined"), WITH(ALL_TREES, "--depth=2"));
SCENARIO(inlined_unread, "diff_frames", ARGS("inlined"),
	 WITH(ALL_TREES, "--read-inline-info=no"));
SCENARIO(inlined_alloc_fn, "diff_frames", ARGS("inlined"),
	 WITH("--threshold=0", "--alloc-fn=real_wrap"),
	 .why = "a frame is left out if all its functions are allocation functions, as in 3.27",
	 .their_options = { "--threshold=0" });
SCENARIO(inlined_alloc_fns, "diff_frames", ARGS("inlined"),
	 WITH("--threshold=0", "--alloc-fn=real_wrap", "--alloc-fn=outer", "--alloc-fn=inner",
	      "--alloc-fn=between"));
SCENARIO(inlined_alloc_fns_only, "diff_frames", ARGS("inlined"),
	 WITH("--threshold=0", "--alloc-fn=outer", "--alloc-fn=inner", "--alloc-fn=between"));
SCENARIO(tail_calls, "diff_frames", ARGS("tails"), WITH(ALL_TREES));
SCENARIO(noreturn_calls, "diff_frames", ARGS("noreturn"), WITH(ALL_TREES));
SCENARIO(frames_of_any_size, "diff_frames", ARGS("stacks"), WITH(ALL_TREES));
SCENARIO(callbacks, "diff_frames", ARGS("callbacks"), WITH(ALL_TREES));
SCENARIO(signal_handlers, "diff_frames", ARGS("handlers"), WITH(ALL_TREES));
SCENARIO(sym_offsets, "diff_frames", ARGS("inlined"), WITH(ALL_TREES, "--sym-offsets=yes"));
SCENARIO(fullpath_all, "diff_frames", ARGS("inlined"), WITH(ALL_TREES, "--fullpath-after="));
SCENARIO(fullpath_after, "diff_frames", ARGS("inlined"),
	 WITH(ALL_TREES, "--fullpath-after=nowhere", "--fullpath-after=selftests/"));
SCENARIO(below_main, "diff_frames", ARGS("inlined"), WITH(ALL_TREES, "--show-below-main=yes"));
SCENARIO(dwarf_4_inlined, "diff_frames_old", ARGS("inlined"), WITH(ALL_TREES));
SCENARIO(dwarf_4_fullpath, "diff_frames_old", ARGS("callbacks"),
	 WITH(ALL_TREES, "--fullpath-after="));
SCENARIO(dwarf_4_stacks, "diff_frames_old", ARGS("stacks"), WITH(ALL_TREES, "--sym-offsets=yes"));
SCENARIO(dwarf_4_handlers, "diff_frames_old", ARGS("handlers"), WITH(ALL_TREES));
SCENARIO(no_debuginfo, "diff_frames_bare", ARGS("inlined"), WITH(ALL_TREES));
SCENARIO(no_debuginfo_tail_calls, "diff_frames_bare", ARGS("tails"), WITH(ALL_TREES));
SCENARIO(no_debuginfo_offsets, "diff_frames_bare", ARGS("callbacks"),
	 WITH(ALL_TREES, "--sym-offsets=yes", "--show-below-main=yes"));

/*
 * The dynamic linker allocates memory per thread for the thread-local variables of a program's libraries. The shim is
 * one of these libraries, but Valgrind is not. So a library with equally large variables is preloaded under Valgrind.
 */
#define MORE_TLS                                                                             \
	.why = "the dynamic linker allocates 16 bytes a thread for the shim's own variables", \
	.their_library = "libdiff_tls.so"

/* Scenarios in which the C library allocates, threads run, or code runs before or after main(). */
SCENARIO(libc_strings, "diff_library", ARGS("strings"), WITH(ALL_TREES));
SCENARIO(libc_files, "diff_library", ARGS("files"), WITH(ALL_TREES));
SCENARIO(libc_directories, "diff_library", ARGS("directories"), WITH(ALL_TREES));
SCENARIO(threads_in_turn, "diff_library", ARGS("threads"), WITH(ALL_TREES), MORE_TLS);
SCENARIO(thread_keys, "diff_library", ARGS("thread_keys"), WITH(ALL_TREES), MORE_TLS);
SCENARIO(exit_handlers, "diff_library", ARGS("exit_handlers"), WITH(ALL_TREES));
SCENARIO(constructors, "diff_library", ARGS("constructors"), WITH(ALL_TREES));
SCENARIO(end_exit, "diff_library", ARGS("end_exit"), WITH(ALL_TREES));
SCENARIO(end_exit_now, "diff_library", ARGS("end_exit_now"), WITH(ALL_TREES));
SCENARIO(end_abort, "diff_library", ARGS("end_abort"), WITH(ALL_TREES));
SCENARIO(end_fault, "diff_library", ARGS("end_fault"), WITH(ALL_TREES));
SCENARIO(end_signal, "diff_library", ARGS("end_signal"), WITH(ALL_TREES));
SCENARIO(fork_parent, "diff_library", ARGS("fork_wait"), WITH(ALL_TREES));
SCENARIO(plugin, "diff_library", ARGS("plugin"), WITH(ALL_TREES));
SCENARIO(plugin_closed, "diff_library", ARGS("plugin_closed"), WITH(ALL_TREES),
	 .why = "code that was unloaded keeps its names",
	 .their_unnamed = "(libdiff_plugin.c:");
SCENARIO(plugin_closed_kept, "diff_library", ARGS("plugin_closed"),
	 WITH(ALL_TREES, "--keep-debuginfo=yes"),
	 .why = "--keep-debuginfo=yes helps: in Massif it does not",
	 .their_unnamed = "(libdiff_plugin.c:");
SCENARIO(plugin_closed_unkept, "diff_library", ARGS("plugin_closed"),
	 WITH(ALL_TREES, "--keep-debuginfo=no"));
SCENARIO(plugin_closed_alloc_fn, "diff_library", ARGS("plugin_closed"),
	 WITH(ALL_TREES, "--keep-debuginfo=no", "--alloc-fn=inside"));
SCENARIO(plugin_reopened, "diff_library", ARGS("plugin_reopened"), WITH(ALL_TREES));
SCENARIO(plugin_reopened_unkept, "diff_library", ARGS("plugin_reopened"),
	 WITH(ALL_TREES, "--keep-debuginfo=no"));
SCENARIO(code_without_tables, "diff_library", ARGS("no_symbols"), WITH(ALL_TREES));

/* Scenarios with C++ programs and with unusual function names. */
SCENARIO(new_forms, "diff_new", ARGS("forms"), WITH(ALL_TREES));
SCENARIO(new_wide, "diff_new", ARGS("wide"), WITH(ALL_TREES),
	 .why = "Massif's allocator leaves what it cut an aligned block from to that block",
	 .more_extra = 6 * (128 + 32));
SCENARIO(new_fails, "diff_new", ARGS("failing"), WITH("--detailed-freq=1", "--threshold=100"),
	 .why = "the C++ library makes, throws and catches an exception; Massif stands in for it",
	 .their_args = { "failing", "thrown" });
SCENARIO(new_objects, "diff_new", ARGS("objects"), WITH(ALL_TREES));
SCENARIO(long_names, "diff_new", ARGS("names"), WITH(ALL_TREES));
SCENARIO(long_names_mangled, "diff_new", ARGS("names"), WITH(ALL_TREES, "--demangle=no"));
SCENARIO(long_names_inlined, "diff_new_fast", ARGS("names"), WITH(ALL_TREES));
SCENARIO(long_names_offsets, "diff_new_fast", ARGS("names"),
	 WITH(ALL_TREES, "--sym-offsets=yes"));
SCENARIO(containers, "diff_new", ARGS("containers"), WITH(ALL_TREES));
SCENARIO(containers_inlined, "diff_new_fast", ARGS("containers"), WITH(ALL_TREES));
SCENARIO(exceptions, "diff_new", ARGS("exceptions"), WITH(ALL_TREES));
SCENARIO(globals, "diff_new", ARGS("globals"), WITH(ALL_TREES));
SCENARIO(alloc_fn_demangled, "diff_new", ARGS("names"),
	 WITH(ALL_TREES, "--alloc-fn=outer::(anonymous namespace)::hidden::operator()(int) const",
	      "--alloc-fn=void* deep<0>::allocate<std::pair<char, char> >(std::pair<char, char>)"));
SCENARIO(alloc_fn_mangled, "diff_new", ARGS("names"),
	 WITH(ALL_TREES, "--demangle=no", "--alloc-fn=_Znwm",
	      "--alloc-fn=_ZNK5outer12_GLOBAL__N_16hiddenclEi"));
SCENARIO(stripped, "diff_stripped", WITH(ALL_TREES));
SCENARIO(stripped_below_main, "diff_stripped", WITH(ALL_TREES, "--show-below-main=yes"));

/* Unusual words as options and arguments. */
SCENARIO(words_of_options, "diff_places", ARGS("wraps"),
	 WITH(ALL_TREES, "--alloc-fn=a name # with blanks", "--alloc-fn=wrap"));
SCENARIO(words_of_arguments, "diff_shapes", ARGS("one", "two words", "", "# three", "'\\"));

/* Logs (-v and --stats); both profilers also get -q, as the first option. */
SCENARIO(log_snapshots, "diff_shapes", ARGS("churn_long"),
	 WITH("-v", "-v", "-v", "--stats=yes", "--max-snapshots=20"), .log = true);
SCENARIO(log_peaks, "diff_shapes", ARGS("waves"),
	 WITH("-v", "-v", "-v", "--stats=yes", "--max-snapshots=10"), .log = true);
SCENARIO(log_equal_times, "diff_shapes", ARGS("equal_times"),
	 WITH("-v", "-v", "-v", "--stats=yes", "--max-snapshots=15"), .log = true);
SCENARIO(log_wrapped_clock, "diff_shapes", ARGS("clock_wrap"),
	 WITH("-v", "-v", "-v", "--stats=yes", "--max-snapshots=10"), .log = true);
SCENARIO(log_calls, "diff_calls", ARGS("realloc_shrink"),
	 WITH("-v", "-v", "-v", "--stats=yes"), .log = true);
SCENARIO(log_edges, "diff_calls", ARGS("realloc_edges"),
	 WITH("-v", "-v", "-v", "--stats=yes"), .log = true);
#define FIVE "-v", "-v", "-v", "-v", "-v"
SCENARIO(log_filtering, "diff_places", ARGS("wraps"),
	 WITH(FIVE, "--alloc-fn=wrap", "--alloc-fn=wrap_deep", "--depth=2"),
	 .log = true);
SCENARIO(log_filtering_main, "diff_places", ARGS("ways"),
	 WITH(FIVE, "--alloc-fn=one_place", "--alloc-fn=one_way",
	      "--alloc-fn=another_way", "--alloc-fn=ways", "--alloc-fn=main"), .log = true);
SCENARIO(log_filtering_calls, "diff_calls", ARGS("realloc_edges"),
	 WITH(FIVE), .log = true);
SCENARIO(log_filtering_peaks, "diff_calls", ARGS("realloc_shrink"),
	 WITH(FIVE, "--peak-inaccuracy=0"), .log = true);
SCENARIO(log_filtering_nothing, "diff_shapes", ARGS("churn_short"),
	 WITH(FIVE, "--show-below-main=yes"), .log = true);
SCENARIO(log_filtering_new, "diff_new", ARGS("forms"), WITH(FIVE), .log = true);
SCENARIO(log_filtering_mangled, "diff_new", ARGS("objects"),
	 WITH(FIVE, "--demangle=no"), .log = true);
SCENARIO(log_filtering_constructors, "diff_library", ARGS("constructors"),
	 WITH(FIVE), .log = true);
SCENARIO(log_stats, "diff_new", ARGS("forms"), WITH("--stats=yes"), .log = true);

TEST_HARNESS_MAIN
