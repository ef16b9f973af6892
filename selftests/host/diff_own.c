// SPDX-License-Identifier: GPL-2.0
// Programs and libraries that define their own allocation functions, under Valgrind's Massif and under massif-ctl.
//
// Massif replaces these functions, whereas massif-ctl lets them run; the counts are the same.

#include "kselftest_harness.h"

#include "selftests/lib/diff_table.h"

/*
 * Call sites with the same number of bytes are sorted by address, and library addresses vary from run to run. The
 * threshold of 0.5 % merges all call sites that hold no bytes, so that their order does not matter.
 */
#define BIG_PLACES "--detailed-freq=1", "--threshold=0.5"

#define ONLY(pattern) "--soname-synonyms=somalloc=" pattern

/* The executable defines malloc. */
SCENARIO(malloc, "own_malloc", WITH(ALL_TREES));
SCENARIO(malloc_rdynamic, "own_malloc_rdynamic", WITH(ALL_TREES));
SCENARIO(malloc_stripped, "own_malloc_stripped", WITH(ALL_TREES));
SCENARIO(malloc_unoptimized, "own_malloc_plainest", WITH(ALL_TREES));
SCENARIO(malloc_no_rules, "own_malloc_no_rules", WITH("--depth=1"));
SCENARIO(malloc_none, "own_malloc", WITH(ALL_TREES, ONLY("NONE")));
SCENARIO(malloc_left_alone, "own_malloc", WITH(ALL_TREES, ONLY("nouserintercepts")));
SCENARIO(malloc_of_others_only, "own_malloc", WITH(ALL_TREES, ONLY("libjemalloc*")));
SCENARIO(malloc_hidden, "own_malloc_hidden", WITH(ALL_TREES));
SCENARIO(malloc_hidden_none, "own_malloc_hidden", WITH(ALL_TREES, ONLY("NONE")));
SCENARIO(malloc_weak_none, "own_malloc_weak", WITH(ALL_TREES, ONLY("NONE")));
SCENARIO(malloc_weak, "own_malloc_weak", WITH(ALL_TREES),
	 .why = "Massif leaves weak definitions alone unless it is told of their object",
	 .their_options = { ALL_TREES, ONLY("NONE") });
SCENARIO(malloc_next, "own_malloc_next", WITH(ALL_TREES));
SCENARIO(malloc_next_left_alone, "own_malloc_next", WITH(ALL_TREES, ONLY("nouserintercepts")));

/* The executable defines operators new and delete. */
SCENARIO(new, "own_new", WITH(ALL_TREES));
SCENARIO(new_rdynamic, "own_new_rdynamic", WITH(ALL_TREES));
SCENARIO(new_none, "own_new", WITH(ALL_TREES, ONLY("NONE")));
SCENARIO(new_fails, "own_new", ARGS("fails"), WITH(ALL_TREES),
	 .why = "the program's operator throws and the program goes on; Massif ends the program",
	 .their_args = { "thrown" });

/* A library that the program is linked against defines malloc. */
SCENARIO(library, "own_linked", WITH(BIG_PLACES));
SCENARIO(library_bound, "own_linked_bound", WITH(BIG_PLACES));
SCENARIO(library_versions, "own_linked_versions", WITH(BIG_PLACES));
SCENARIO(library_of_others_malloc, "own_linked_others", WITH(BIG_PLACES));
SCENARIO(library_named, "own_linked", WITH(BIG_PLACES, ONLY("NONE")));
SCENARIO(library_left_alone, "own_linked", WITH(ALL_TREES, ONLY("nouserintercepts")));
SCENARIO(library_bound_left_alone, "own_linked_bound", WITH(ALL_TREES, ONLY("nouserintercepts")));

/* Allocators from Debian packages. */
SCENARIO(jemalloc, "own_jemalloc", WITH(ALL_TREES));
SCENARIO(jemalloc_named, "own_jemalloc", WITH(ALL_TREES, ONLY("libjemalloc*")));
SCENARIO(jemalloc_left_alone, "own_jemalloc", WITH(ALL_TREES, ONLY("nouserintercepts")));
SCENARIO(jemalloc_not_named, "own_jemalloc", WITH(ALL_TREES, ONLY("*tcmalloc*")));
SCENARIO(tcmalloc, "own_tcmalloc", WITH(BIG_PLACES));
SCENARIO(tcmalloc_named, "own_tcmalloc", WITH(BIG_PLACES, ONLY("*tcmalloc*")));
SCENARIO(tcmalloc_none, "own_tcmalloc", WITH(ALL_TREES, ONLY("NONE")));

/* Programs that load a library at run time. Some of these libraries define their own allocation functions. */
SCENARIO(plugin, "own_plugin", ARGS("n", "libown_library.so"), WITH(BIG_PLACES));
SCENARIO(plugin_lazy, "own_plugin", ARGS("l", "libown_library.so"), WITH(BIG_PLACES));
SCENARIO(plugin_bound, "own_plugin", ARGS("n", "libown_bound.so"), WITH(BIG_PLACES));
SCENARIO(plugin_versions, "own_plugin", ARGS("n", "libown_versions.so"), WITH(BIG_PLACES));
SCENARIO(plugin_none, "own_plugin", ARGS("n", "libown_none.so"), WITH(BIG_PLACES));
SCENARIO(plugin_by_its_name, "own_plugin", ARGS("b", "libown_bound.so"), WITH(BIG_PLACES));
SCENARIO(plugin_deep_by_its_name, "own_plugin", ARGS("bd", "libown_none.so"), WITH(BIG_PLACES));
SCENARIO(plugin_deep_none, "own_plugin", ARGS("d", "libown_none.so"), WITH(BIG_PLACES));
SCENARIO(plugin_deep_lazy, "own_plugin", ARGS("dl", "libown_none.so"), WITH(BIG_PLACES));
SCENARIO(plugin_deep_bound, "own_plugin", ARGS("d", "libown_bound.so"), WITH(BIG_PLACES));
SCENARIO(plugin_deep, "own_plugin", ARGS("d", "libown_library.so"), WITH(BIG_PLACES));

/* A library loaded into a namespace of its own (dlmopen) is invisible to both profilers. */
SCENARIO(plugin_elsewhere, "own_plugin", ARGS("m", "libown_none.so"), WITH(BIG_PLACES));

TEST_HARNESS_MAIN
