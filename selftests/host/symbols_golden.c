// SPDX-License-Identifier: GPL-2.0
// Every address in a massif.out of Debian's valgrind resolves to the text that valgrind wrote.

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

#include "base/cleanup.h"
#include "report/location.h"
#include "selftests/lib/symbols_oracle.h"
#include "symbols/symbolizer.h"

#define LINES_MAX 64

struct comparison {
	struct oracle_map map;
	struct mf_symbolizer *symbolizer;
	struct mf_report_options options;
	uint64_t pc; /* the code address to which the collected lines belong */
	char *lines[LINES_MAX];
	size_t n_lines;
	size_t compared, different, expanded, in_program, with_line;
};

/* Valgrind's replacement for malloc() is part of Valgrind; massif's stacks need not contain it. */
static bool is_compared(const char *path)
{
	return !strstr(path, "/vgpreload_");
}

static char *location_text(const struct comparison *c, uint64_t pc,
			   const struct mf_location *location)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	mf_location_print(out, pc, location, &c->options);
	fclose(out);
	return text;
}

/*
 * Compares the lines collected from Valgrind's report for the code address c->pc with the lines that we print for the
 * locations found by our symbolizer. Valgrind's report may contain the lines of an address more than once.
 */
static void compare(struct comparison *c)
{
	const struct mf_location *locations;
	struct mf_frame frame = oracle_map_frame(&c->map, c->pc);
	size_t count;

	if (c->n_lines && frame.object && is_compared(c->map.objects[frame.object].path)) {
		count = mf_symbolizer_resolve(c->symbolizer, frame, &locations);
		c->expanded += count > 1;
		c->with_line += locations[count - 1].file != NULL;
		c->in_program += strstr(c->map.objects[frame.object].path, "symbols_names") != NULL;
		for (size_t i = 0; i < c->n_lines || i % count; i++) {
			mf_auto_free char *ours = location_text(c, c->pc, &locations[i % count]);
			const char *theirs = i < c->n_lines ? c->lines[i] : "(no more lines)";

			c->compared++;
			if (strcmp(ours, theirs) == 0)
				continue;
			if (c->different++ < 20)
				printf("# valgrind: %s\n# ours:     %s\n", theirs, ours);
		}
	}
	for (size_t i = 0; i < c->n_lines; i++)
		free(c->lines[i]);
	c->n_lines = 0;
}

static void take_line(struct comparison *c, const char *line)
{
	unsigned int children;
	uint64_t bytes, pc;
	int at = 0;

	if (sscanf(line, " n%u: %" SCNu64 " %n0x%" SCNx64 ":", &children, &bytes, &at, &pc) != 3 ||
	    !at)
		return;
	if (c->n_lines && (pc != c->pc || c->n_lines == LINES_MAX))
		compare(c);
	c->pc = pc;
	c->lines[c->n_lines++] = strdup(line + at);
	/*
	 * In Valgrind's report, a call site with inlined functions takes up one line for each of them. All of these
	 * lines but the last have exactly one child, so a line with no child, or with more than one, ends its call
	 * site. The next line belongs to another call site, even if its address is the same.
	 */
	if (children != 1)
		compare(c);
}

static bool compare_file(struct comparison *c, const char *path)
{
	mf_auto_fclose FILE *file = fopen(path, "re");
	mf_auto_free char *line = NULL;
	size_t room = 0;
	ssize_t length;

	if (!file)
		return false;
	while ((length = getline(&line, &room, file)) > 0) {
		line[length - 1] = '\0';
		take_line(c, line);
	}
	compare(c);
	return true;
}

static const struct variant {
	const char *what;
	const char *options[4];
	bool no_inlines, mangled, below_main;
} variants[] = {
	{ "as it is", { NULL } },
	{ "without inlined calls", { "--read-inline-info=no" }, .no_inlines = true },
	{ "mangled", { "--demangle=no" }, .mangled = true },
	{ "below main", { "--show-below-main=yes", "--depth=60" }, .below_main = true },
};

static void run_variant(struct __test_metadata *_metadata, const struct variant *variant)
{
	const char *options[16] = { "--time-unit=B", "--threshold=0", "--detailed-freq=1",
				    "--max-snapshots=400" };
	const struct mf_symbolizer_options symbols = {
		.demangle = !variant->mangled,
		.inlines = !variant->no_inlines,
	};
	struct comparison c = { .n_lines = 0 };
	char program[PATH_MAX];

	for (size_t i = 0; variant->options[i]; i++)
		options[4 + i] = variant->options[i];
	snprintf(program, sizeof(program), "%s/selftests/targets/symbols_names",
		 getenv("MASSIF_BUILD"));
	ASSERT_EQ(0, oracle_run(options, program, "oracle.maps"));
	ASSERT_TRUE(oracle_map_read(&c.map, "oracle.maps"));
	ASSERT_EQ(0, mf_symbolizer_create(c.map.objects, c.map.count, &symbols, &c.symbolizer,
					  NULL));
	mf_report_options_init(&c.options);
	c.options.show_below_main = variant->below_main;

	ASSERT_TRUE(compare_file(&c, "oracle.out"));
	printf("# %s: %zu lines compared, of addresses: %zu in the program, %zu expanded, "
	       "%zu with a line\n",
	       variant->what, c.compared, c.in_program, c.expanded, c.with_line);
	EXPECT_EQ(0, c.different);
	EXPECT_LT(1000, c.in_program);
	EXPECT_LT(1000, c.with_line);
	EXPECT_EQ(variant->no_inlines, c.expanded < 1000);
	fflush(stdout);
	mf_symbolizer_destroy(c.symbolizer);
	oracle_map_free(&c.map);
}

TEST(names_are_valgrinds)
{
	if (!oracle_present())
		SKIP(return, "no valgrind to compare with");
	for (size_t i = 0; i < ARRAY_SIZE(variants); i++)
		run_variant(_metadata, &variants[i]);
}

TEST_HARNESS_MAIN
