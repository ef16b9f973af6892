// SPDX-License-Identifier: GPL-2.0
/*
 * For valid massif.out files (random ones, real ones, and ones that each test one behaviour), our ms_print prints
 * exactly the same bytes as Valgrind's ms_print, the reference, with every option.
 */

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/msprint_oracle.h"
#include "selftests/lib/msprint_writer.h"

#define ROOT "(heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n"
#define RANDOM_FILES 60

static void write_start(FILE *file)
{
	msprint_write_header(file, " (none)", "./prog", "B");
	msprint_write_snapshot(file, 0, 0, 0, 0, 0, "empty");
}

static void write_rising(FILE *file)
{
	unsigned int i;

	msprint_write_header(file, " --time-unit=B --x y", "./prog a b  c", "B");
	for (i = 0; i < 40; i++) {
		msprint_write_snapshot(file, i, i * 1016, i * 1000, i * 16, 0,
				       i == 27 ? "peak" : i % 10 == 9 ? "detailed" : "empty");
		if (i % 10 == 9 || i == 27)
			fprintf(file, "n2: %u " ROOT " n0: %u 0x1149: f (a.c:3)\n"
				" n1: %u 0x1180: g (a.c:9)\n  n0: %u 0x1200: main (a.c:20)\n",
				i * 1000, i * 700, i * 300, i * 300);
	}
}

static void write_all_zero(FILE *file)
{
	msprint_write_header(file, " (none)", "./prog", "i");
	msprint_write_snapshot(file, 0, 0, 0, 0, 0, "detailed");
	fprintf(file, "n1: 0 " ROOT " n2: 0 0x1: f\n  n0: 0 0x2: g\n  n0: 0 0x3: h\n");
	msprint_write_snapshot(file, 1, 0, 0, 0, 0, "peak");
	fprintf(file, "n0: 0 " ROOT);
}

/* Different kinds of bars in one column, in several orders: the kind with the highest rank is shown. */
static void write_ties(FILE *file)
{
	static const char *const orders[][3] = {
		{ "peak", "detailed", "empty" }, { "empty", "detailed", "peak" },
		{ "detailed", "peak", "empty" }, { "empty", "empty", "detailed" },
	};
	unsigned int number = 0;
	unsigned int i;
	unsigned int j;

	msprint_write_header(file, " (none)", "./prog", "B");
	for (i = 0; i < 4; i++) {
		for (j = 0; j < 3; j++, number++) {
			msprint_write_snapshot(file, number, i * 100, 100 + (number * 37) % 90,
					       0, 0, orders[i][j]);
			if (orders[i][j][0] != 'e')
				fprintf(file, "n0: 0 " ROOT);
		}
	}
}

/* The horizontal line between two bars of the graph overwrites parts of what was drawn for an earlier pair of bars. */
static void write_gaps(FILE *file)
{
	static const unsigned int totals[] = { 50, 100, 3, 0, 80, 79, 80, 1, 100, 99 };
	unsigned int i;

	msprint_write_header(file, " (none)", "./prog", "ms");
	for (i = 0; i < 10; i++)
		msprint_write_snapshot(file, i, i * i * 10, totals[i], 0, 0, "empty");
}

/* Label values at which the number of digits or the unit changes; there is one file per unit and value. */
static const uint64_t label_values[] = {
	1, 999, 1000, 1023, 1024, 9999, 10239, 10240, 102399, 102400, 999948, 999949, 1023948,
	1023999, 1024000, 3599949, 3599999, 3600000, 3600001, 359999999, 36000000000,
	1048575999, UINT64_C(1) << 40, UINT64_C(9007199254740993), UINT64_C(1) << 62,
	INT64_MAX, UINT64_C(1) << 63, UINT64_MAX,
};

static void write_label(FILE *file, const char *unit, uint64_t value)
{
	msprint_write_header(file, " (none)", "./prog", unit);
	msprint_write_snapshot(file, 0, 0, 0, 0, 0, "empty");
	msprint_write_snapshot(file, 1, value / 2, value / 3, 0, 0, "empty");
	msprint_write_snapshot(file, 2, value, value, 0, 0, "detailed");
	fprintf(file, "n1: %" PRIu64 " " ROOT " n0: %" PRIu64 " 0x1: f\n", value, value / 2);
}

/*
 * Totals in nearly equal steps from 0 to 5 * 10^16. Most are above 2^53, where a double cannot represent every integer.
 */
static void write_rows(FILE *file)
{
	unsigned int i;

	msprint_write_header(file, " (none)", "./prog", "B");
	for (i = 0; i < 200; i++)
		msprint_write_snapshot(file, i, i, i * UINT64_C(1801439850948199) / 7 + i % 3, 0, 0,
				       "empty");
}

/*
 * Above 2^53, a peak divisible by the number of rows is drawn using integer arithmetic, and any other peak using
 * doubles.
 */
static void write_exact_rows(FILE *file)
{
	const uint64_t row = UINT64_C(450359962737049601);
	unsigned int i;

	msprint_write_header(file, " (none)", "./prog", "B");
	for (i = 0; i < 60; i++)
		msprint_write_snapshot(file, i, i, row * (1 + i / 3) + i % 3 - 1, 0, 0, "empty");
	msprint_write_snapshot(file, i, i, row * 20, 0, 0, "empty");
}

static void write_exact_peak(FILE *file)
{
	const uint64_t row = UINT64_C(450359962737049601);
	unsigned int i;

	msprint_write_header(file, " (none)", "./prog", "B");
	for (i = 0; i < 60; i++)
		msprint_write_snapshot(file, i, i, row * (1 + i / 3) - i % 3, 0, 0, "empty");
}

/* Sums beyond 64 bits are printed and drawn as doubles. */
static void write_overflow(FILE *file)
{
	msprint_write_header(file, " (none)", "./prog", "B");
	msprint_write_snapshot(file, 0, 0, UINT64_MAX, 0, 0, "empty");
	msprint_write_snapshot(file, 1, 1, UINT64_MAX, 1, 0, "detailed");
	fprintf(file, "n3: %" PRIu64 " " ROOT " n0: 5 0x1: f\n n0: 18446744073709551616 0x2: g\n"
		" n0: %" PRIu64 " 0x3: h\n", UINT64_MAX, UINT64_MAX);
	msprint_write_snapshot(file, 2, 2, INT64_MAX, INT64_MAX, INT64_MAX, "empty");
	msprint_write_snapshot(file, 3, UINT64_MAX, INT64_MAX, 1, 0, "empty");
}

/* Percentages exactly or almost halfway between two hundredths. */
static void write_rounding(FILE *file)
{
	static const unsigned int totals[] = { 800, 1600, 20000, 40000, 3, 7, 99999 };
	unsigned int i;
	unsigned int j;

	msprint_write_header(file, " (none)", "./prog", "B");
	for (i = 0; i < 7; i++) {
		msprint_write_snapshot(file, i, i, totals[i], 0, 0, "detailed");
		fprintf(file, "n101: %u " ROOT, totals[i]);
		for (j = 0; j <= 100; j++)
			fprintf(file, " n0: %u 0x%X: f\n",
				j <= totals[i] ? (j % 2 ? j : totals[i] - j) : 0, j);
	}
}

/* Comments, which are everything from the first # on, anywhere in a line. */
static void write_comments(FILE *file)
{
	fprintf(file, "# before\n\n   \t\ndesc: a # b\ndesc: second #\ncmd: ./prog #1 x\n"
		"time_unit: ms\n# all\n   # that\nsnapshot=0\n\ntime=0\nmem_heap_B=10# ten\n"
		"mem_heap_extra_B=0 \nmem_stacks_B=0\nheap_tree=detailed\n#\nn2: 10 " ROOT
		"\n \t n0:5 0x1: main::{lambda(int)#1}::operator()(int) const (a.cc:1)\n"
		"# here\n n0:   5   blanks 100%% %%s %%n \\ \xc3\xa9\xff (b.c:2)\r\n");
}

static void write_no_desc(FILE *file)
{
	fprintf(file, "cmd:\ntime_unit:    B\n");
	msprint_write_snapshot(file, 0, 0, 0, 0, 0, "empty");
}

static void write_no_newline(FILE *file)
{
	fprintf(file, "desc: x\ncmd:   two  blanks \t\ntime_unit: i\nsnapshot=0\ntime=7\n"
		"mem_heap_B=3\nmem_heap_extra_B=1\nmem_stacks_B=2\nheap_tree=empty");
}

/*
 * ms_print marks the snapshot whose index in the file equals the number in the peak's "snapshot=" line. If there are
 * several peaks, the last one counts.
 */
static void write_odd_peaks(FILE *file)
{
	static const char *const trees[] = { "peak", "empty", "peak", "peaked", "detailed peak" };
	unsigned int i;

	msprint_write_header(file, " (none)", "./prog", "B");
	for (i = 0; i < 5; i++) {
		msprint_write_snapshot(file, i + 1, i * 10, 100 + i, 0, 0, trees[i]);
		if (trees[i][0] != 'e')
			fprintf(file, "n0: %u " ROOT, i);
	}
}

/* Hidden nodes before, between and after visible ones, with visible and hidden children. */
static void write_hidden(FILE *file)
{
	msprint_write_header(file, " (none)", "./prog", "B");
	msprint_write_snapshot(file, 0, 5, 99000, 1000, 0, "detailed");
	fprintf(file, "n6: 99000 " ROOT
		" n0: 1 0x1: tiny first\n"
		" n2: 50000 0x2: big\n"
		"  n1: 49000 0x3: bigger\n"
		"   n0: 999 0x4: just below\n"
		"  n1: 1000 0x5: just at\n"
		"   n0: 1000 0x6: also\n"
		" n2: 900 0x7: hidden with children\n"
		"  n1: 600 0x8: one\n"
		"   n0: 2000 0x9: larger than what it is in\n"
		"  n0: 300 0xA: two\n"
		" n0: 40000 0xB: visible, then hidden only\n"
		" n0: 80 in 2 places, all below massif's threshold (1.00%%)\n"
		" n0: 7 0xC: last\n");
	msprint_write_snapshot(file, 1, 9, 0, 0, 0, "empty");
}

static void write_deep(FILE *file)
{
	unsigned int i;

	msprint_write_header(file, " (none)", "./prog", "B");
	msprint_write_snapshot(file, 0, 5, 1000, 0, 0, "peak");
	fprintf(file, "n1: 1000 " ROOT);
	for (i = 1; i < 1000; i++)
		fprintf(file, "%*sn%u: %u 0x%X: f\n", i, "", 1 + (i % 3 == 0), 1001 - i, i);
	for (i = 0; i < 334; i++)
		fprintf(file, "n0: %u 0x1: side\n", i * 7 % 20);
}

static void write_many(FILE *file)
{
	uint64_t state = 7;
	unsigned int i;

	msprint_write_header(file, " --max-snapshots=1000", "./prog", "i");
	for (i = 0; i < 1000; i++) {
		msprint_write_snapshot(file, i, i * UINT64_C(123457),
				       msprint_random_below(&state, 1000000), i, i * 3,
				       i % 50 == 49 ? "detailed" : "empty");
		if (i % 50 == 49)
			fprintf(file, "n1: 10 " ROOT " n0: 10 0x1: f (x.c:1)\n");
	}
}

/* Numbers in formats that Massif never writes but that both our ms_print and Valgrind's accept. */
static void write_odd_numbers(FILE *file)
{
	static const char *const values[] = {
		"007", "12 ", "00001234567", "9007199254740993", "96824165905116985",
		"9223372036854775808", "18446744073709551615", "0", "00",
	};
	const unsigned int count = sizeof(values) / sizeof(values[0]);
	unsigned int i;

	msprint_write_header(file, " (none)", "./prog", "B");
	for (i = 0; i < count * 2; i++)
		fprintf(file, "snapshot=%s\ntime=%u\nmem_heap_B=%s\nmem_heap_extra_B=%s\n"
			"mem_stacks_B=%s\nheap_tree=empty\n", values[i % count], i,
			values[i % count], values[(i * 5 + 1) % count],
			values[(i / 3 + count - 1) % count]);
}

static void write_long_line(FILE *file)
{
	unsigned int i;

	msprint_write_header(file, " (none)", "./prog", "B");
	msprint_write_snapshot(file, 0, 5, 1000, 0, 0, "detailed");
	fprintf(file, "n1: 1000 " ROOT " n0: 1000 0x1: ");
	for (i = 0; i < 600000; i++)
		fputc('a' + i % 26, file);
	fprintf(file, " (long.cc:1)\n");
}

static const struct {
	const char *name;
	void (*write)(FILE *file);
} files[] = {
	{ "start", write_start }, { "rising", write_rising }, { "all-zero", write_all_zero },
	{ "ties", write_ties }, { "gaps", write_gaps }, { "rows", write_rows },
	{ "exact-rows", write_exact_rows }, { "exact-peak", write_exact_peak },
	{ "overflow", write_overflow }, { "rounding", write_rounding },
	{ "comments", write_comments }, { "no-desc", write_no_desc },
	{ "no-newline", write_no_newline }, { "odd-peaks", write_odd_peaks },
	{ "hidden", write_hidden }, { "deep", write_deep }, { "many", write_many },
	{ "odd-numbers", write_odd_numbers }, { "long-line", write_long_line },
};

#define MOST_OPTIONS 3

static const char *const option_sets[][MOST_OPTIONS] = {
	{}, { "--threshold=0" }, { "--threshold=0.0" }, { "--threshold=100%" },
	{ "--threshold=50" }, { "--threshold=.5" }, { "--threshold=2.345%" },
	{ "--threshold=1.2.3" }, { "--threshold=010" }, { "--x=4", "--y=4" }, { "--x=5" },
	{ "--x=1000" }, { "--y=1000" }, { "--x=0010", "--y=7" }, { "--x=20", "--x=100" },
	{ "--x=33", "--threshold=1" },
};

#define OPTION_SETS (sizeof(option_sets) / sizeof(option_sets[0]))

static bool same_with(const char *path, size_t set)
{
	const char *args[MOST_OPTIONS + 2] = { path };
	int status;
	int i;

	for (i = 0; i < MOST_OPTIONS; i++)
		args[i + 1] = option_sets[set][i];
	return msprint_same(args, &status) && !status;
}

/*
 * This fixture is empty. It exists only because a time limit can be set for a test with a fixture, but not for a plain
 * TEST().
 */
FIXTURE(golden) {
};

FIXTURE_SETUP(golden)
{
}

FIXTURE_TEARDOWN(golden)
{
}

TEST_F_TIMEOUT(golden, every_file_with_every_option, 600)
{
	FILE *file;
	size_t set;
	size_t i;

	if (msprint_missing())
		SKIP(return, "%s", msprint_missing());
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		file = fopen(files[i].name, "w");
		ASSERT_NE(NULL, file);
		files[i].write(file);
		ASSERT_EQ(0, fclose(file));
		for (set = 0; set < OPTION_SETS; set++) {
			EXPECT_TRUE(same_with(files[i].name, set)) {
				TH_LOG("%s %s", files[i].name, option_sets[set][0] ?: "");
			}
		}
	}
}

TEST_F_TIMEOUT(golden, labels_of_every_size, 600)
{
	static const char *const units[] = { "B", "i", "ms" };
	FILE *file;
	size_t unit;
	size_t i;

	if (msprint_missing())
		SKIP(return, "%s", msprint_missing());
	for (unit = 0; unit < 3; unit++) {
		for (i = 0; i < sizeof(label_values) / sizeof(label_values[0]); i++) {
			file = fopen("label", "w");
			ASSERT_NE(NULL, file);
			write_label(file, units[unit], label_values[i]);
			ASSERT_EQ(0, fclose(file));
			EXPECT_TRUE(same_with("label", 0)) {
				TH_LOG("%" PRIu64 " %s", label_values[i], units[unit]);
			}
		}
	}
}

TEST_F_TIMEOUT(golden, random_files, 600)
{
	uint64_t state = 1;
	FILE *file;
	size_t i;

	if (msprint_missing())
		SKIP(return, "%s", msprint_missing());
	for (i = 0; i < RANDOM_FILES; i++) {
		file = fopen("random", "w");
		ASSERT_NE(NULL, file);
		msprint_write_random(file, &state);
		ASSERT_EQ(0, fclose(file));
		EXPECT_TRUE(same_with("random", i % OPTION_SETS)) {
			TH_LOG("random file %zu", i);
		}
	}
}

/* A file with more data than ms_print keeps in memory, spread over many trees. */
static void write_large(FILE *file, const char *after)
{
	unsigned int i;
	unsigned int j;

	msprint_write_header(file, " (none)", "./prog", "B");
	for (i = 0; i < 60; i++) {
		msprint_write_snapshot(file, i, i, 1000000, 0, 0, i % 3 ? "detailed" : "empty");
		if (i % 3 == 0)
			continue;
		fprintf(file, "n9000: 1000000 " ROOT);
		for (j = 0; j < 9000; j++)
			fprintf(file, " n0: %u 0x%X: a_function_of_some_length (a_file.c:%u)\n",
				j % 100, j, i);
	}
	fputs(after, file);
}

/*
 * A file larger than ms_print's memory limit. It contains many trees, which are so small that one buffer holds several
 * of them.
 */
static void write_large_number(FILE *file, const char *after)
{
	unsigned int i;

	msprint_write_header(file, " (none)", "./prog", "B");
	for (i = 0; i < 60000; i++) {
		msprint_write_snapshot(file, i, i, 1000000 + i, 0, 0, i % 4 ? "detailed" : "empty");
		if (i % 4)
			fprintf(file, "n1: %u " ROOT " n0: %u 0x%X: a_function (a_file.c:%u)\n",
				i, i, i, i);
	}
	fputs(after, file);
}

/*
 * A file larger than ms_print's memory limit. Its only tree is so deep that most of the output consists of the
 * indentation of lines.
 */
static void write_large_tree(FILE *file, const char *after)
{
	unsigned int i;

	msprint_write_header(file, " (none)", "./prog", "B");
	msprint_write_snapshot(file, 0, 1, 10, 0, 0, "empty");
	msprint_write_snapshot(file, 1, 2, 10, 0, 0, "detailed");
	fprintf(file, "n1: 10 " ROOT " n0: 10 0x1: f\n");
	msprint_write_snapshot(file, 2, 3, 10, 0, 0, "detailed");
	fprintf(file, "n1: 10 " ROOT);
	for (i = 0; i < 5000; i++)
		fprintf(file, "n1: 10 0x%X: f\n", i);
	fprintf(file, "n0: 10 0x0: end\n");
	msprint_write_snapshot(file, 3, 4, 10, 0, 0, "empty");
	msprint_write_snapshot(file, 4, 5, 10, 0, 0, "peak");
	fprintf(file, "n1: 10 " ROOT " n0: 10 0x1: f\n");
	fputs(after, file);
}

TEST_F_TIMEOUT(golden, more_than_is_kept_in_memory, 600)
{
	static void (*const writers[])(FILE *file, const char *after) = {
		write_large, write_large_number, write_large_tree,
	};
	static const char *const ends[] = { "", "nonsense\n" };
	const char *const args[] = { "--threshold=0", "large", NULL };
	FILE *file;
	int status;
	size_t i;

	if (msprint_missing())
		SKIP(return, "%s", msprint_missing());
	for (i = 0; i < 6; i++) {
		file = fopen("large", "w");
		ASSERT_NE(NULL, file);
		writers[i / 2](file, ends[i % 2]);
		ASSERT_EQ(0, fclose(file));
		EXPECT_TRUE(msprint_same(args, &status));
		EXPECT_EQ(i % 2, status != 0);
	}
}

/*
 * The script is run by perl, which has deep call stacks and is always available, because Valgrind's ms_print needs it.
 */
static const char script[] =
	"my @a; push @a, 'x' x ($_ * 7) for 1 .. 1500; my %h = map { $_ => [1 .. 9] } 1 .. 400;"
	"@a = (); my $s = join ',', sort keys %h; $s =~ s/(\\d+)/<$1>/g;";

TEST_F_TIMEOUT(golden, files_of_massif, 600)
{
	static const char *const units[] = { "i", "ms", "B" };
	char option[64];
	size_t set;
	size_t i;

	if (msprint_missing())
		SKIP(return, "%s", msprint_missing());
	if (access("/usr/bin/valgrind", X_OK))
		SKIP(return, "/usr/bin/valgrind is not there: install Debian's package valgrind");
	for (i = 0; i < 3; i++) {
		snprintf(option, sizeof(option), "--time-unit=%s", units[i]);
		struct msprint_run run = msprint_run("/usr/bin/valgrind", (const char *const[]){
			"-q", "--tool=massif", "--massif-out-file=massif.out", "--detailed-freq=4",
			option, "/usr/bin/perl", "-e", script, NULL });

		EXPECT_EQ(0, run.status) {
			TH_LOG("%s", run.err);
		}
		msprint_run_free(&run);
		for (set = 0; set < OPTION_SETS; set++) {
			EXPECT_TRUE(same_with("massif.out", set)) {
				TH_LOG("%s %s", units[i], option_sets[set][0] ?: "");
			}
		}
	}
}

TEST_HARNESS_MAIN
