// SPDX-License-Identifier: GPL-2.0
// Which frames of a stack are shown, given allocation functions, ignored functions, frames below main, and the depth.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

#include "base/cleanup.h"
#include "report/filter.h"
#include "selftests/lib/report_fake.h"

#define BELOW "__libc_start_call_main|__libc_start_main@@GLIBC_2.34|_start"

static const struct {
	const char *what;
	const char *stack, *kept;
	const char *alloc_fns[3], *ignore_fns[3];
	bool show_below_main;
	uint32_t depth; /* value of --depth; 0: the default */
} cases[] = {
	{ "what is below main goes", "f|main|" BELOW, "f|main" },
	{ "it stays on request", "f|main|" BELOW, "f|main|" BELOW, .show_below_main = true },
	{ "without main, up to the innermost below it", "f|exit|" BELOW,
	  "f|exit|__libc_start_call_main" },
	{ "a versioned name is not below main", "f|__libc_start_main@@GLIBC_2.34|_start",
	  "f|__libc_start_main@@GLIBC_2.34|_start" },
	{ "a clone of it is", "f|__libc_start_main.cold|g|_start", "f|__libc_start_main.cold" },
	{ "a name that only begins like it is not", "f|_start.cold|g", "f|_start.cold|g" },
	{ "a thread has neither", "f|start_thread|clone", "f|start_thread|clone" },
	{ "the outermost main counts", "f|main|g|main|" BELOW, "f|main|g|main" },
	{ "main is found below what is below main", "f|_start|main|g", "f|_start|main" },

	{ "operator new", "operator new(unsigned long)|f|main", "f|main" },
	{ "several at the top", "malloc|realloc|calloc|f|main", "f|main" },
	{ "aligned new", "aligned_alloc|operator new[](unsigned long, std::align_val_t)|f|main",
	  "f|main" },
	{ "only those at the top", "f|malloc|main", "f|malloc|main" },
	{ "no name ends them", "?|malloc|f|main", "?|malloc|f|main" },
	{ "names are compared as a whole", "mallocs|f|main", "mallocs|f|main" },
	{ "case matters", "Malloc|f|main", "Malloc|f|main" },
	{ "the user's come in addition", "mine|malloc|f|main", "f|main", .alloc_fns = { "mine" } },
	{ "nothing but allocation functions", "malloc|calloc", "" },
	{ "an empty stack", "", "" },
	{ "all inlined ones are", "mine/malloc|f|main", "f|main", .alloc_fns = { "mine" } },
	{ "not all inlined ones are", "malloc/f|main", "malloc/f|main" },
	{ "nor the outer one", "f/malloc|main", "f/malloc|main" },
	{ "an inlined one without a name is not", "?/malloc|main", "?/malloc|main" },
	{ "main is one: one frame stays", "malloc|main|" BELOW, "__libc_start_call_main",
	  .alloc_fns = { "main" } },
	{ "main and what is below it: one frame stays", "malloc|main|" BELOW,
	  "__libc_start_main@@GLIBC_2.34", .alloc_fns = { "main", "(below main)" } },
	{ "with what is below main shown, all of it stays", "malloc|main|" BELOW, BELOW,
	  .alloc_fns = { "main" }, .show_below_main = true },
	{ "the old name does not match then", "_start|f", "_start", .alloc_fns = { "_start" } },

	{ "the top one is ignored", "f|main", "", .ignore_fns = { "f" } },
	{ "others are not", "g|f|main", "g|f|main", .ignore_fns = { "f" } },
	{ "the top one below allocation functions", "malloc|f|main", "", .ignore_fns = { "f" } },
	{ "an allocation function itself cannot be", "malloc|f|main", "f|main",
	  .ignore_fns = { "malloc" } },
	{ "the innermost inlined one", "f/g|main", "", .ignore_fns = { "f" } },
	{ "not the outer one", "f/g|main", "f/g|main", .ignore_fns = { "g" } },
	{ "but if the inner one allocates", "malloc/g|main", "", .ignore_fns = { "g" } },
	{ "the next one with a name", "?|?|f|main", "", .ignore_fns = { "f" } },
	{ "no names at all", "?|?", "?|?", .ignore_fns = { "f" } },
	{ "one of several", "c|main", "", .ignore_fns = { "b", "c", "a" } },

	{ "depth cuts", "a|b|c|d|main", "a|b", .depth = 2 },
	{ "depth of one", "malloc|a|b|main", "a", .depth = 1 },
	{ "depth counts after the rest", "malloc|calloc|a|main|_start", "a|main", .depth = 2 },
	{ "inlined calls do not count", "a/b/c|d|e", "a/b/c|d", .depth = 2 },
};

static char *filtered(const struct mf_report_options *options, bool pages, const char *stack)
{
	struct mf_frame frames[FAKE_FRAMES_MAX];
	struct mf_context context = { frames, (uint32_t)fake_stack(stack, frames) };
	struct mf_filter_span span;
	struct mf_frames *known;
	struct mf_filter *filter;
	char *kept = NULL;

	if (mf_frames_create(fake_objects, FAKE_OBJECTS, &known, NULL))
		return NULL;
	if (!mf_filter_create(options, pages, known, NULL, &filter, NULL)) {
		/* The second call to mf_filter_apply() uses results that the first one cached. */
		for (int i = 0; i < 2; i++) {
			free(kept);
			kept = NULL;
			if (!mf_filter_apply(filter, &context, NULL, &span, NULL))
				kept = fake_words(frames + span.first, span.count);
		}
		mf_filter_destroy(filter);
	}
	mf_frames_destroy(known);
	return kept;
}

static struct mf_strings strings(const char *const *items)
{
	struct mf_strings result = { .items = items };

	while (result.count < 3 && items[result.count])
		result.count++;
	return result;
}

TEST(stacks_are_filtered)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct mf_report_options options;
		mf_auto_free char *kept = NULL;

		mf_report_options_init(&options);
		options.alloc_fns = strings(cases[i].alloc_fns);
		options.ignore_fns = strings(cases[i].ignore_fns);
		options.show_below_main = cases[i].show_below_main;
		if (cases[i].depth)
			options.depth = cases[i].depth;
		kept = filtered(&options, false, cases[i].stack);
		ASSERT_TRUE(kept);
		EXPECT_STREQ(cases[i].kept, kept) {
			TH_LOG("%s: %s", cases[i].what, cases[i].stack);
		}
	}
	fake_reset();
}

/* Returns a stack of @n frames of function r, followed by the frames of f and main. */
static char *deep_stack(unsigned int n)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	while (n--)
		fputs("r|", out);
	fputs("f|main", out);
	fclose(out);
	return text;
}

/*
 * Massif looks at no more than depth + 50 frames of a stack. In heap mode, one of these is malloc itself, which
 * massif's contexts do not contain. The expected results were observed with Valgrind.
 */
TEST(frames_beyond_the_limit_are_not_seen)
{
	static const struct {
		bool pages;
		unsigned int recursions;
		const char *kept;
	} limits[] = {
		{ false, 50, "f|main" }, { false, 51, "f" }, { false, 52, "" },
		{ true, 51, "f|main" },	 { true, 52, "f" },  { true, 53, "" },
	};
	static const char *const names[] = { "r" };

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		mf_auto_free char *stack = deep_stack(limits[i].recursions);
		mf_auto_free char *kept = NULL;
		struct mf_report_options options;

		mf_report_options_init(&options);
		options.depth = 3;
		options.alloc_fns = (struct mf_strings){ .items = names, .count = 1 };
		kept = filtered(&options, limits[i].pages, stack);
		EXPECT_STREQ(limits[i].kept, kept) {
			TH_LOG("%u recursions", limits[i].recursions);
		}
	}
	fake_reset();
}

/* DWARF is searched for the calls inlined into a frame only if they can affect the report. */
TEST(only_what_matters_is_looked_up)
{
	mf_auto_free char *kept = NULL;
	struct mf_report_options options;

	fake_reset();
	mf_report_options_init(&options);
	kept = filtered(&options, false, "a|b|c|d|e|main|_start");
	EXPECT_STREQ("a|b|c|d|e|main", kept);
	EXPECT_EQ(0, fake_positions_asked);
	/*
	 * The filter looks up three functions: a, as a possible allocation function; and, from the outermost frame
	 * inwards, _start and main.
	 */
	EXPECT_EQ(3, fake_functions_asked);
	fake_reset();
}

TEST_HARNESS_MAIN
