// SPDX-License-Identifier: GPL-2.0
// massif-ctl check: budgets of the resident set, at their limit, one below it and far below it; what is said of those that
// are over, and of recordings without samples.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

#include "recording/reader.h"
#include "selftests/lib/ctl_run.h"

FIXTURE(check) {
	struct ctl_result result;
	struct mf_recording recording;
	const struct mf_residency *residency;
};

/* Runs @argv; returns its exit status, and keeps its output until the next run. */
#define RUN(...) (ctl_result_free(&self->result), CTL_RUN(&self->result, __VA_ARGS__), ctl_exit_code(&self->result))
#define CHECK(...) RUN("massif-ctl", "check", __VA_ARGS__, "massif.rec")
#define HAS(text) (strstr(self->result.out, text) != NULL)
#define SAYS(text) (strstr(self->result.err, text) != NULL)

FIXTURE_SETUP(check)
{
	setenv("LC_ALL", "C.UTF-8", 1);
	ctl_remove_files("massif.");
}

FIXTURE_TEARDOWN(check)
{
	mf_recording_release(&self->recording);
	ctl_result_free(&self->result);
	ctl_remove_files("massif.");
}

static bool record(FIXTURE_DATA(check) *self, const char *shape)
{
	struct mf_error err;

	mf_recording_release(&self->recording);
	if (RUN("massif-ctl", "record", "-q", "--rss=yes", "--record=massif.rec", "--massif-out-file=massif.out",
		ctl_target("rss_shapes"), shape, "700") ||
	    mf_recording_read("massif.rec", &self->recording, &err))
		return false;
	self->residency = self->recording.processes[0]->profile.residency;
	return self->residency != NULL;
}

/* Checks that @words hold with the limit @value, and not with less. */
static void at_the_limit(struct __test_metadata *_metadata, FIXTURE_DATA(check) *self, const char *words, uint64_t value)
{
	const uint64_t limits[] = { value, value - 1, value / 10 };
	char text[256];

	for (size_t i = 0; i < (value ? 3 : 1); i++) {
		snprintf(text, sizeof(text), "%s %" PRIu64 "\n", words, limits[i]);
		ctl_write_file("massif.budget", text, 0644);
		EXPECT_EQ(i ? 1 : 0, CHECK("--budget=massif.budget")) {
			TH_LOG("%s%s%s", text, self->result.out, self->result.err);
		}
		EXPECT_TRUE(HAS(i ? "\n0 kept, 1 over\n" : "\n1 kept, 0 over\n"));
	}
}

static uint64_t sum_of_sites(const struct mf_residency_detail *detail, bool pinned)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < detail->n_sites; i++)
		sum += pinned ? detail->sites[i].pinned : detail->sites[i].untouched;
	return sum;
}

TEST_F_TIMEOUT(check, at_the_limit_and_below_it, 120)
{
	static const char *const shapes[] = { "fragments", "untouched", "mappings", "stacks" };
	static const struct {
		const char *name;
		enum mf_band first, last;
	} measures[] = {
		{ "overhead", MF_BAND_OVERHEAD, MF_BAND_OVERHEAD }, { "free", MF_BAND_FREE_PARTS, MF_BAND_FREE_PAGES },
		{ "anonymous", MF_BAND_ANONYMOUS, MF_BAND_ANONYMOUS }, { "stacks", MF_BAND_STACKS, MF_BAND_STACKS },
		{ "files", MF_BAND_FILES, MF_BAND_FILES }, { "shared", MF_BAND_SHARED, MF_BAND_SHARED },
	};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		ASSERT_TRUE(record(self, shapes[i]));
		for (int last = 0; last < 2; last++) {
			const struct mf_residency_detail *detail = last ? &self->residency->last : &self->residency->peak;
			const uint64_t *bands = detail->sample.bands;
			char words[64];

			for (size_t k = 0; k < sizeof(measures) / sizeof(measures[0]); k++) {
				uint64_t sum = bands[measures[k].first];

				sum += measures[k].last != measures[k].first ? bands[measures[k].last] : 0;
				snprintf(words, sizeof(words), "%s%s", measures[k].name, last ? "-end" : "");
				at_the_limit(_metadata, self, words, sum);
			}
			at_the_limit(_metadata, self, last ? "rss-end" : "rss",
				     mf_residency_rss(&detail->sample) - bands[MF_BAND_MASSIF]);
			at_the_limit(_metadata, self, last ? "pinned-end" : "pinned", sum_of_sites(detail, true));
			at_the_limit(_metadata, self, last ? "untouched-end" : "untouched", sum_of_sites(detail, false));
		}
	}
}

/* The program has counted itself what its function keeps. */
TEST_F_TIMEOUT(check, by_site, 60)
{
	const char *at;
	uint64_t kept;

	ASSERT_TRUE(record(self, "fragments"));
	at = strstr(self->result.out, "\nfree ");
	ASSERT_NE(NULL, at);
	kept = strtoull(at + strlen("\nfree "), NULL, 10);
	at_the_limit(_metadata, self, "function keep pinned-end", kept);
	kept = sum_of_sites(&self->residency->last, true);
	at_the_limit(_metadata, self, "library rss_shapes pinned-end", kept);
	at_the_limit(_metadata, self, "function drop pinned-end", 0);
	ctl_write_file("massif.budget", "function keep pinned-end 1K\n", 0644);
	EXPECT_EQ(1, CHECK("--budget=massif.budget", "--format=tap"));
	EXPECT_TRUE(HAS("TAP version 13\n1..1\nnot ok 1 - rss_shapes: function keep pinned-end 1K\n# measured "));
	EXPECT_TRUE(HAS("  keep (rss_shapes.c:")) TH_LOG("%s", self->result.out);
}

TEST_F_TIMEOUT(check, what_is_over_is_explained, 60)
{
	ASSERT_TRUE(record(self, "fragments"));
	EXPECT_EQ(0, CHECK("--max-rss=100M"));
	EXPECT_EQ(1, CHECK("--max-rss=10M"));
	EXPECT_TRUE(HAS("OVER ")) TH_LOG("%s", self->result.out);
	EXPECT_TRUE(HAS("): rss 10M\n                                     37.27 MB  free pages of the allocator\n")) {
		TH_LOG("%s", self->result.out);
	}
	/* What profiling needs is not the program's. */
	EXPECT_FALSE(HAS("massif's own memory"));
	EXPECT_EQ(1, CHECK("--max-rss=10M", "--format=junit", "-o", "massif.xml"));
	EXPECT_EQ(0, RUN("xmllint", "--xpath", "concat(//failure, //testcase/@name)", "massif.xml"));
	EXPECT_TRUE(HAS("37.27 MB  free pages of the allocator"));
	EXPECT_TRUE(HAS("rss 10M"));
}

TEST_F_TIMEOUT(check, without_samples, 60)
{
	static const char *const files[] = { "massif.rec", "massif.out" };
	static const char *const mistakes[][2] = {
		{ "file f.c rss 1M",
		  "rss is known only of a process as a whole; a file can have pinned, untouched or first-touched" },
		{ "library f stacks-end 1M", "stacks-end is known only of a process as a whole; a library can have" },
		{ "rss -1", "'-1' is not a limit for rss; it needs a size" },
		{ "rss-peak 1", "'rss-peak' is not a measure; use peak, end, " },
	};

	ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--record=massif.rec", "--massif-out-file=massif.out", "perl",
			 "-e", "1"));
	ctl_write_file("massif.budget", "file f.c pinned 1M\n", 0644);
	for (size_t i = 0; i < 2; i++) {
		EXPECT_EQ(2, RUN("massif-ctl", "check", "--max-rss=1G", files[i]));
		EXPECT_TRUE(SAYS(i ? "'rss 1G' cannot be checked: the resident set was not sampled; record with "
				     "massif-ctl record --rss=yes; of a process" :
				     "'rss 1G' cannot be checked for perl (pid ")) {
			TH_LOG("%s", self->result.err);
		}
		EXPECT_EQ(2, RUN("massif-ctl", "check", "--budget=massif.budget", files[i]));
	}
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
		ctl_write_file("massif.budget", mistakes[i][0], 0644);
		EXPECT_EQ(2, CHECK("--budget=massif.budget"));
		EXPECT_TRUE(SAYS(mistakes[i][1])) TH_LOG("%s", self->result.err);
	}
}

/* massif-ctl run checks, too, if there are samples. */
TEST_F_TIMEOUT(check, of_a_run, 60)
{
	EXPECT_EQ(1, RUN("massif-ctl", "run", "--rss=yes", "--record=massif.rec", "--massif-out-file=massif.out",
			 "--max-rss=1M",
			 ctl_target("rss_shapes"), "fragments", "300"));
	EXPECT_TRUE(SAYS(": rss 1M")) TH_LOG("%s", self->result.err);
	EXPECT_EQ(0, RUN("massif-ctl", "run", "-q", "--rss=yes", "--record=massif.rec", "--massif-out-file=massif.out",
			 "--max-rss=1G", ctl_target("rss_shapes"), "fragments", "300"));
	EXPECT_EQ(1, RUN("massif-ctl", "run", "--massif-out-file=massif.out", "--max-rss=1G", "true"));
	EXPECT_TRUE(SAYS("The budget 'rss 1G' needs samples of the resident set: add --rss=yes.")) {
		TH_LOG("%s", self->result.err);
	}
}

TEST_HARNESS_MAIN
