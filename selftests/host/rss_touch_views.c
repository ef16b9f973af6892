// SPDX-License-Identifier: GPL-2.0
// Which code touched pages first, in tables, diff, budgets and exports: of made-up processes, so that massif.ko is not needed.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"
#include "selftests/lib/touches_recording.h"

#define PAGE 4096ull

FIXTURE(views) {
	struct ctl_result result;
};

#define RUN(...) (ctl_result_free(&self->result), CTL_RUN(&self->result, __VA_ARGS__), ctl_exit_code(&self->result))
#define HAS(text) (strstr(self->result.out, text) != NULL)

/* Writes massif.NAME: of the largest sample and, one page less each, the last one. @sampled: as without massif.ko. */
static bool write_recording(const char *name, uint64_t alpha, uint64_t beta, bool sampled)
{
	struct mf_residency_touch touches[2][5];
	struct mf_residency_sample sample = { .time_ms = 5 };
	struct mf_residency_detail details[2];

	for (uint64_t i = 0; i < 2; i++) {
		const struct mf_residency_touch all[] = {
			{ MF_BAND_LIVE, TOUCHES_ALPHA, PAGE }, { MF_BAND_ANONYMOUS, TOUCHES_ALPHA, (alpha - i) * PAGE },
			{ MF_BAND_ANONYMOUS, TOUCHES_BETA, (beta - i) * PAGE }, { MF_BAND_FILES, TOUCHES_LIBRARY, 3 * PAGE },
			{ MF_BAND_MASSIF, TOUCHES_UNKNOWN, 100 * PAGE },
		};

		memcpy(touches[i], all, sizeof(all));
		memset(&details[i], 0, sizeof(details[i]));
		sample.time_ms = 5 + i;
		sample.bands[MF_BAND_LIVE] = PAGE;
		sample.bands[MF_BAND_ANONYMOUS] = (alpha + beta - 2 * i) * PAGE;
		sample.bands[MF_BAND_FILES] = 3 * PAGE;
		sample.bands[MF_BAND_MASSIF] = 100 * PAGE;
		details[i].sample = sample;
		details[i].counted = mf_residency_rss(&sample);
		details[i].touches = touches[i];
		details[i].n_touches = sampled ? 0 : 5;
	}
	return touches_recording_write(name, &(struct mf_residency){
		.samples = (struct mf_residency_sample[]){ details[0].sample, details[1].sample }, .n_samples = 2,
		.peak = details[0], .last = details[1], .moments = &details[1], .n_moments = 1 }, 1, 0);
}

FIXTURE_SETUP(views)
{
	setenv("LC_ALL", "C.UTF-8", 1);
	ctl_remove_files("massif.");
	ASSERT_TRUE(write_recording("massif.old", 10, 2, false));
	ASSERT_TRUE(write_recording("massif.new", 5, 20, false));
	ASSERT_TRUE(write_recording("massif.sampled", 5, 20, true));
}

FIXTURE_TEARDOWN(views)
{
	ctl_result_free(&self->result);
	ctl_remove_files("massif.");
	ctl_remove_files("out.");
}

/* A table names the first function of the program, not that of the C library which it called; a tree has both. */
TEST_F(views, name_functions_of_the_program)
{
	ASSERT_EQ(0, RUN("massif-ctl", "show", "--rss", "massif.new"));
	EXPECT_TRUE(HAS("\n  80.00 KB   80.00 KB  80.00%  touches_beta (touches_recording.c:")) TH_LOG("%s", self->result.out);
	EXPECT_TRUE(HAS("\n  20.00 KB   24.00 KB  20.00%  touches_alpha (touches_recording.c:"));
	/* Nothing but the C library. */
	EXPECT_TRUE(HAS("\n  12.00 KB   12.00 KB 100.00%  qsort ("));
	ASSERT_EQ(0, RUN("massif-ctl", "show", "--rss", "--tree", "massif.new"));
	EXPECT_TRUE(HAS("qsort ")) TH_LOG("%s", self->result.out);
	EXPECT_TRUE(HAS("touches_beta (touches_recording.c:"));
	/* An allocation function of the program is left out, too. */
	ASSERT_EQ(0, RUN("massif-ctl", "show", "--rss", "--alloc-fn=touches_beta", "massif.new"));
	EXPECT_FALSE(HAS("touches_beta")) TH_LOG("%s", self->result.out);
	EXPECT_TRUE(HAS("\n  80.00 KB   80.00 KB  80.00%  touches_gamma (touches_recording.c:"));
	ASSERT_EQ(0, RUN("massif-ctl", "show", "--rss", "--all-calls", "massif.new"));
	EXPECT_TRUE(HAS("\n  80.00 KB   92.00 KB  80.00%  qsort (")) TH_LOG("%s", self->result.out);
}

TEST_F(views, diff)
{
	EXPECT_EQ(0, RUN("massif-ctl", "diff", "massif.old", "massif.new"));
	EXPECT_TRUE(HAS("\n     change        old        new  place: resident pages that they touched first\n")) {
		TH_LOG("%s", self->result.out);
	}
	EXPECT_TRUE(HAS("\n  +72.00 KB   8.000 KB   80.00 KB  touches_beta (touches_recording.c)\n"));
	EXPECT_TRUE(HAS("\n  -20.00 KB   44.00 KB   24.00 KB  touches_alpha (touches_recording.c)\n"));
	EXPECT_TRUE(HAS("\n  +52.00 KB   64.00 KB   116.0 KB  in all\n"));
	EXPECT_EQ(0, RUN("massif-ctl", "diff", "--at=end", "--by=function", "massif.old", "massif.new"));
	EXPECT_TRUE(HAS("\n  +72.00 KB   4.000 KB   76.00 KB  touches_beta\n")) TH_LOG("%s", self->result.out);
	/* Both recordings must have it. */
	EXPECT_EQ(0, RUN("massif-ctl", "diff", "massif.sampled", "massif.new"));
	EXPECT_TRUE(HAS("resident set, in the largest sample"));
	EXPECT_FALSE(HAS("touched first")) TH_LOG("%s", self->result.out);
	/* No blocks keep free memory, so there is no table of them, and one empty line in its place. */
	EXPECT_FALSE(HAS("in pages that their blocks keep"));
	EXPECT_FALSE(HAS("\n\n\n")) TH_LOG("%s", self->result.out);
}

/* --through selects stacks of first touches, also if no block was allocated through such a function. */
TEST_F(views, selected)
{
	EXPECT_EQ(0, RUN("massif-ctl", "diff", "--through=touches_beta", "massif.old", "massif.new"));
	EXPECT_TRUE(HAS("\n  +72.00 KB   8.000 KB   80.00 KB  touches_beta (touches_recording.c)\n")) {
		TH_LOG("%s%s", self->result.out, self->result.err);
	}
	EXPECT_TRUE(HAS("\n  +72.00 KB   8.000 KB   80.00 KB  in all\n"));
	EXPECT_FALSE(HAS("touches_alpha"));
	ASSERT_EQ(0, RUN("massif-ctl", "show", "--rss", "--through=touches_alpha", "massif.new"));
	EXPECT_TRUE(HAS("\n  20.00 KB   24.00 KB 100.00%  touches_alpha (touches_recording.c:")) TH_LOG("%s", self->result.out);
	EXPECT_FALSE(HAS("touches_beta"));
	ASSERT_NE(0, RUN("massif-ctl", "show", "--rss", "--through=touches_delta", "massif.new"));
	EXPECT_NE(NULL, strstr(self->result.err, "no such stack has a function of this name")) TH_LOG("%s", self->result.err);
}

/* Checks that the budget @words holds with @pages pages, and not with a byte less. */
static void at_the_limit(struct __test_metadata *_metadata, FIXTURE_DATA(views) *self, const char *words, uint64_t pages)
{
	const uint64_t limits[] = { pages * PAGE, pages * PAGE - 1, pages * PAGE / 10 };
	char text[256];

	for (int i = 0; i < 3; i++) {
		snprintf(text, sizeof(text), "%s %llu\n", words, (unsigned long long)limits[i]);
		ctl_write_file("massif.budget", text, 0644);
		EXPECT_EQ(i ? 1 : 0, RUN("massif-ctl", "check", "--budget=massif.budget", "massif.new")) {
			TH_LOG("%s%s%s", text, self->result.out, self->result.err);
		}
	}
}

TEST_F(views, budgets)
{
	at_the_limit(_metadata, self, "first-touched", 29);
	at_the_limit(_metadata, self, "first-touched-end", 27);
	at_the_limit(_metadata, self, "function touches_alpha first-touched", 6);
	at_the_limit(_metadata, self, "function touches_alpha first-touched-end", 5);
	/* Also what the functions that it calls touched. */
	at_the_limit(_metadata, self, "function touches_gamma first-touched", 26);
	at_the_limit(_metadata, self, "function qsort first-touched", 23);
	at_the_limit(_metadata, self, "library libc.so* first-touched", 23);
	at_the_limit(_metadata, self, "file touches_recording.c first-touched-end", 24);
	ctl_write_file("massif.budget", "function touches_gamma first-touched 1K\n", 0644);
	EXPECT_EQ(1, RUN("massif-ctl", "check", "--budget=massif.budget", "massif.new"));
	EXPECT_TRUE(HAS("80.00 KB  touches_beta (touches_recording.c:")) TH_LOG("%s", self->result.out);
	EXPECT_EQ(2, RUN("massif-ctl", "check", "--budget=massif.budget", "massif.sampled"));
	EXPECT_NE(NULL, strstr(self->result.err, "massif.ko did not record which code touched the pages")) {
		TH_LOG("%s", self->result.err);
	}
}

/* Returns what jq finds in massif.json. */
static const char *from_json(FIXTURE_DATA(views) *self, const char *query)
{
	return RUN("jq", "-c", query, "massif.json") ? "jq failed" : self->result.out;
}

TEST_F(views, export_as_json)
{
	static const char *const samples[] = { "at_peak", "at_last", "at_moments[0]" };
	char query[512], wanted[512];

	ASSERT_EQ(0, RUN("massif-ctl", "export", "--to=json", "-o", "massif.json", "massif.new"));
	for (size_t i = 0; i < 3; i++) {
		snprintf(query, sizeof(query),
			 ".residency.touches as $t | [$t.%s.bytes[] | [.[0], $t.calls[$t.stacks[.[1]][-1]].function, "
			 "($t.stacks[.[1]] | length), .[2] / 4096]]", samples[i]);
		snprintf(wanted, sizeof(wanted),
			 "[[\"live\",\"touches_gamma\",2,1],[\"anonymous\",\"touches_gamma\",2,%d],[\"anonymous\","
			 "\"touches_gamma\",3,%d],[\"files\",\"qsort\",1,3],[\"massif\",\"0x1234\",1,100]]\n",
			 i ? 4 : 5, i ? 19 : 20);
		EXPECT_STREQ(wanted, from_json(self, query));
	}
	EXPECT_STREQ("1\n", from_json(self, ".residency.touches.at_moments | length"));
	EXPECT_STREQ("4\n", from_json(self, ".residency.touches.stacks | length"));
}

/* pprof itself reads the file: each function with the bytes of the last sample that it touched first. */
TEST_F_TIMEOUT(views, export_for_pprof, 120)
{
	ASSERT_EQ(0, RUN("massif-ctl", "export", "--to=pprof", "-o", "out.pb.gz", "massif.new"));
	ASSERT_EQ(0, RUN("go", "tool", "pprof", "-raw", "out.pb.gz"));
	EXPECT_TRUE(HAS("\nSamples:\nfirst_touched/bytes pinned/bytes resident/bytes inuse_space/bytes"));
	EXPECT_TRUE(HAS("\n      20480          0          0          0: ")) TH_LOG("%s", self->result.out);
	EXPECT_TRUE(HAS("rss_touch_views"));
	ASSERT_EQ(0, RUN("go", "tool", "pprof", "-top", "-sample_index=first_touched", "-unit=B", "-nodefraction=0",
			 "out.pb.gz"));
	EXPECT_TRUE(HAS("90112B 81.48%  qsort\n")) TH_LOG("%s", self->result.out);
	EXPECT_TRUE(HAS("77824B 70.37%  touches_beta\n"));
	EXPECT_TRUE(HAS("98304B 88.89%  touches_gamma\n"));
	ASSERT_EQ(0, RUN("massif-ctl", "export", "--to=pprof", "-o", "out.pb.gz", "massif.sampled"));
	ASSERT_EQ(0, RUN("go", "tool", "pprof", "-raw", "out.pb.gz"));
	EXPECT_TRUE(HAS("\nSamples:\npinned/bytes resident/bytes inuse_space/bytes"));
}

TEST_HARNESS_MAIN
