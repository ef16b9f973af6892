// SPDX-License-Identifier: GPL-2.0
// massif-ctl diff: sites that grow, shrink, come and go, matched across builds, with exact sums.

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "ctl/options/number.h"
#include "selftests/lib/ctl_run.h"

/* Two builds of one program; the lines differ, and so do the sizes. Nothing is freed before the end. */
#define OLD_BUILD						\
	"#include <stdlib.h>\n"					\
	"void *volatile sink;\n"				\
	"static void grow(void) { sink = malloc(1024); }\n"	\
	"static void shrink(void) { sink = malloc(4096); }\n"	\
	"static void stay(void) { sink = malloc(2048); }\n"	\
	"static void go(void) { sink = malloc(512); }\n"	\
	"int main(void) { grow(); shrink(); stay(); go(); }\n"
#define NEW_BUILD						\
	"#include <stdlib.h>\n\n\n\n"				\
	"void *volatile sink;\n"				\
	"static void come(void) { sink = malloc(3072); }\n"	\
	"static void stay(void) { sink = malloc(2048); }\n"	\
	"static void shrink(void) { sink = malloc(1024); }\n"	\
	"static void grow(void) { sink = malloc(8192); }\n"	\
	"int main(void) { come(); grow(); shrink(); stay(); }\n"

FIXTURE(diff) {
	struct ctl_result result;
};

/* Runs @argv; returns its exit status, and keeps its output until the next run. */
#define RUN(...) (ctl_result_free(&self->result), CTL_RUN(&self->result, __VA_ARGS__), ctl_exit_code(&self->result))
#define HAS(text) (strstr(self->result.out, text) != NULL)

static bool record(FIXTURE_DATA(diff) *self, const char *text, const char *option)
{
	ctl_write_file("program.c", text, 0644);
	return !RUN("cc", "-O0", "-g", "-o", "program", "program.c") &&
	       !RUN("massif-ctl", "record", "-q", option, "--massif-out-file=massif.out", "./program");
}

FIXTURE_SETUP(diff)
{
	ctl_remove_files("massif.");
	setenv("LC_ALL", "C.UTF-8", 1);
	ASSERT_TRUE(record(self, OLD_BUILD, "--record=massif.old"));
	ASSERT_TRUE(record(self, NEW_BUILD, "--record=massif.new"));
}

FIXTURE_TEARDOWN(diff)
{
	ctl_result_free(&self->result);
	ctl_remove_files("massif.");
	ctl_remove_files("program");
}

TEST_F_TIMEOUT(diff, of_two_builds, 120)
{
	EXPECT_EQ(1, RUN("massif-ctl", "diff", "massif.old", "massif.new"));
	EXPECT_TRUE(HAS("\n  +7.000 KB   1.000 KB   8.000 KB  grow (program.c)\n"));
	EXPECT_TRUE(HAS("\n  -3.000 KB   4.000 KB   1.000 KB  shrink (program.c)\n"));
	EXPECT_TRUE(HAS("\n  +3.000 KB        0 B   3.000 KB  come (program.c) (came)\n"));
	EXPECT_TRUE(HAS("\n     -512 B      512 B        0 B  go (program.c) (went)\n"));
	EXPECT_FALSE(HAS("stay"));
	EXPECT_TRUE(HAS("\n        0 B   2.000 KB   2.000 KB  1 more\n"));
	EXPECT_TRUE(HAS("\n  +6.500 KB   7.500 KB   14.00 KB  in all\n"));
	EXPECT_TRUE(HAS("\n          0          4          4  allocations (+0.00%)\n"));
	EXPECT_TRUE(HAS("\nThe peak or the end has grown.\n"));
	EXPECT_EQ(1, RUN("massif-ctl", "diff", "--inclusive", "massif.old", "massif.new"));
	EXPECT_TRUE(HAS("\n  +6.500 KB   7.500 KB   14.00 KB  main (program.c)\n")) {
		TH_LOG("%s", self->result.out);
	}
	EXPECT_TRUE(HAS("\n  +7.000 KB   1.000 KB   8.000 KB  grow (program.c)\n"));
	EXPECT_TRUE(HAS("\n  +6.500 KB   7.500 KB   14.00 KB  in all\n"));
	/* The other way round it has shrunk, and a recording equals itself. */
	EXPECT_EQ(0, RUN("massif-ctl", "diff", "massif.new", "massif.old"));
	EXPECT_TRUE(HAS("\nNeither the peak nor the end has grown.\n"));
	EXPECT_EQ(0, RUN("massif-ctl", "diff", "massif.old", "massif.old"));
	EXPECT_TRUE(HAS("\n        0 B   7.500 KB   7.500 KB  4 more\n"));
}

/* Numbers since the start, instead of the bytes of a moment. The exit status is still that of the bytes. */
TEST_F_TIMEOUT(diff, of_counts, 120)
{
	static const struct {
		const char *value, *title, *row, *all;
	} counts[] = {
		{ "--value=calls", "  place: blocks allocated\n",
		  "\n         +1          0          1  come (program.c) (came)\n",
		  "\n          0          4          4  in all\n" },
		{ "--value=allocated", "  place: bytes allocated\n",
		  "\n  +7.000 KB   1.000 KB   8.000 KB  grow (program.c)\n",
		  "\n  +6.500 KB   7.500 KB   14.00 KB  in all\n" },
		{ "--value=live-blocks", "  place: blocks live at the end\n",
		  "\n         -1          1          0  go (program.c) (went)\n",
		  "\n          0          4          4  in all\n" },
		{ "--value=temporary", "  place: temporary blocks\n", "\n          0          0          0  in all\n", "" },
		{ "--value=bytes", "  place\n", "\n  +7.000 KB   1.000 KB   8.000 KB  grow (program.c)\n", "" },
	};

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		EXPECT_EQ(1, RUN("massif-ctl", "diff", counts[i].value, "massif.old", "massif.new"));
		EXPECT_TRUE(HAS(counts[i].title) && HAS(counts[i].row) && HAS(counts[i].all)) {
			TH_LOG("%s: %s", counts[i].value, self->result.out);
		}
	}
	/* Of the stacks through one function only. */
	EXPECT_EQ(1, RUN("massif-ctl", "diff", "--value=calls", "--through=grow", "massif.old", "massif.new"));
	EXPECT_TRUE(HAS("\n          0          1          1  in all\n")) TH_LOG("%s", self->result.out);
	EXPECT_EQ(2, RUN("massif-ctl", "diff", "--value=calls", "massif.old", "massif.out"));
	EXPECT_NE(NULL, strstr(self->result.err, "--value: a file has no calls"));
	EXPECT_EQ(2, RUN("massif-ctl", "diff", "--value=x", "massif.old", "massif.new"));
}

/* From 7,680 to 14,336 bytes in 4 blocks with 8 bytes of overhead each: 86.31 per cent more. */
TEST_F_TIMEOUT(diff, tolerance, 120)
{
	EXPECT_EQ(1, RUN("massif-ctl", "diff", "--tolerance=86.3", "massif.old", "massif.new"));
	EXPECT_EQ(0, RUN("massif-ctl", "diff", "--tolerance=86.4", "massif.old", "massif.new"));
}

TEST_F_TIMEOUT(diff, hides_small_changes, 120)
{
	EXPECT_EQ(1, RUN("massif-ctl", "diff", "--min=3K", "massif.old", "massif.new"));
	EXPECT_TRUE(HAS("shrink"));
	EXPECT_FALSE(HAS(" go "));
	EXPECT_EQ(1, RUN("massif-ctl", "diff", "--min=3073", "massif.old", "massif.new"));
	EXPECT_TRUE(HAS("grow"));
	EXPECT_FALSE(HAS("shrink"));
	EXPECT_TRUE(HAS(" 4 more\n"));
}

/* Two runs with several processes: all of them together, also by process. heap_example peaks at 20,184 bytes. */
TEST_F_TIMEOUT(diff, of_whole_runs, 120)
{
	/* Short, so that the shell's own peak does not depend on the path of the program. */
	static const char *const scripts[] = { "$0; :", "$0; $0; :" };

	for (int i = 0; i < 2; i++)
		ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--trace-children=yes", "--massif-out-file=massif.out.%p",
				 i ? "--record=massif.two" : "--record=massif.one", "sh", "-c", scripts[i],
				 ctl_target("heap_example")));
	EXPECT_EQ(1, RUN("massif-ctl", "diff", "massif.one", "massif.two"));
	EXPECT_TRUE(HAS("old: 2 processes, each at its own peak\nnew: 3 processes, each at its own peak\n")) {
		TH_LOG("%s", self->result.out);
	}
	EXPECT_TRUE(HAS("\n  +19.71 KB")) TH_LOG("%s", self->result.out);
	EXPECT_TRUE(HAS("\n  +9.766 KB   9.766 KB   19.53 KB  main (heap_example.c)\n"));
	EXPECT_TRUE(HAS("\n  +7.812 KB   7.812 KB   15.62 KB  g (heap_example.c)\n"));
	EXPECT_EQ(0, RUN("massif-ctl", "diff", "massif.two", "massif.one"));
	EXPECT_EQ(1, RUN("massif-ctl", "diff", "--by=process", "massif.one", "massif.two"));
	EXPECT_TRUE(HAS("\n  +19.53 KB   19.53 KB   39.06 KB  heap_example\n")) TH_LOG("%s", self->result.out);
	EXPECT_EQ(1, RUN("massif-ctl", "diff", "--through=g", "massif.one", "massif.two"));
	EXPECT_TRUE(HAS("\n  +7.812 KB   7.812 KB   15.62 KB  in all\n"));
	EXPECT_EQ(0, RUN("massif-ctl", "show", "--through=g", "massif.two"));
	EXPECT_TRUE(HAS("\n  15.62 KB   15.62 KB 100.00%  in all\n"));
	/* --pid compares one process of each. */
	EXPECT_EQ(2, RUN("massif-ctl", "diff", "--pid=1", "massif.one", "massif.two"));
}

/* The command line can have any characters; U+009B begins a command to the terminal, as ESC [ does. */
TEST_F_TIMEOUT(diff, of_a_command_line_with_control_characters, 120)
{
	ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--record=massif.arguments", "--massif-out-file=massif.out", "./program",
			 "\xc2\x9b" "31mred", "\033[31m", "\u00e4"));
	EXPECT_EQ(0, RUN("massif-ctl", "diff", "massif.new", "massif.arguments"));
	EXPECT_TRUE(HAS("old: ./program\nnew: ./program ?31mred ?[31m \u00e4\n")) TH_LOG("%s", self->result.out);
	EXPECT_FALSE(HAS("\xc2\x9b"));
}

TEST_F_TIMEOUT(diff, mistakes_have_a_status_of_their_own, 120)
{
	EXPECT_EQ(2, RUN("massif-ctl", "diff", "massif.old"));
	EXPECT_NE(NULL, strstr(self->result.err, "no second recording specified"));
	EXPECT_EQ(2, RUN("massif-ctl", "diff", "massif.old", "massif.none"));
	EXPECT_NE(NULL, strstr(self->result.err, "cannot read 'massif.none'"));
	EXPECT_EQ(2, RUN("massif-ctl", "diff", "--min=x", "massif.old", "massif.new"));
	EXPECT_NE(NULL, strstr(self->result.err, "it needs a size"));
	EXPECT_EQ(2, RUN("massif-ctl", "diff", "--tolerance=-1", "massif.old", "massif.new"));
	EXPECT_NE(NULL, strstr(self->result.err, "it needs a percentage"));
	EXPECT_STREQ("", self->result.out);
}

static const struct {
	const char *text;
	bool good;
	uint64_t bytes;
} sizes[] = {
	{ "0", true, 0 }, { "1", true, 1 }, { "10K", true, 10240 }, { "1M", true, 1 << 20 }, { "2G", true, 2ull << 30 },
	{ "16777215T", true, 16777215ull << 40 }, { "18446744073709551615", true, UINT64_MAX },
	{ "18446744073709551616" }, { "16777216T" }, { "1KB", true, 1024 }, { "53MB", true, 53 << 20 },
	{ "" }, { "K" }, { "KB" }, { "1B" }, { "1KBB" }, { "1KiB" }, { "1K B" }, { "-1" }, { "1.5M" }, { " 1" },
};

TEST(numbers_of_sizes)
{
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint64_t bytes = 0;

		EXPECT_EQ(sizes[i].good, mf_number_parse_size(sizes[i].text, &bytes)) {
			TH_LOG("'%s'", sizes[i].text);
		}
		if (sizes[i].good)
			EXPECT_EQ(sizes[i].bytes, bytes);
	}
}

TEST_HARNESS_MAIN
