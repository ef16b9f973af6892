// SPDX-License-Identifier: GPL-2.0
// massif-ctl show --rss: the sentence that says what the resident set consists of, with numbers that the program has counted
// itself, the advice, and that the tables are aligned and fit the terminal.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

#include "ctl/message/quantity.h"
#include "recording/reader.h"
#include "selftests/lib/ctl_run.h"

FIXTURE(show) {
	struct ctl_result result;
	struct mf_recording recording;
	const struct mf_residency_detail *last;
	char *joined; /* what show printed, with lines of the same paragraph joined */
};

/* Runs @argv; returns its exit status, and keeps its output until the next run. */
#define RUN(...) (ctl_result_free(&self->result), CTL_RUN(&self->result, __VA_ARGS__), ctl_exit_code(&self->result))
#define HAS(text) (strstr(self->result.out, text) != NULL)

FIXTURE_SETUP(show)
{
	setenv("LC_ALL", "C", 1); /* bars of # */
	setenv("COLUMNS", "100", 1);
	ctl_remove_files("massif.");
}

FIXTURE_TEARDOWN(show)
{
	mf_recording_release(&self->recording);
	free(self->joined);
	ctl_result_free(&self->result);
	ctl_remove_files("massif.");
}

static bool record(FIXTURE_DATA(show) *self, const char *shape)
{
	struct mf_error err;

	mf_recording_release(&self->recording);
	if (RUN("massif-ctl", "record", "-q", "--rss=yes", "--record=massif.rec", "--massif-out-file=massif.out",
		ctl_target("rss_shapes"), shape, "700") ||
	    mf_recording_read("massif.rec", &self->recording, &err) || !self->recording.processes[0]->profile.residency)
		return false;
	self->last = &self->recording.processes[0]->profile.residency->last;
	return true;
}

/* Runs show --rss --at=end with @option, and joins lines that were wrapped. */
static const char *show(FIXTURE_DATA(show) *self, const char *option)
{
	const char *at;
	char *to;

	free(self->joined);
	self->joined = NULL;
	if (RUN("massif-ctl", "show", "--rss", "--at=end", option, "massif.rec"))
		return "show failed";
	self->joined = strdup(self->result.out);
	to = self->joined;
	for (at = self->result.out; *at; at++) {
		bool is_wrapped = strncmp(at, "\n  ", 3) == 0 && at[3] > ' ' && at[-1] != '\n';

		*to++ = is_wrapped ? ' ' : *at;
		at += is_wrapped ? 2 : 0;
	}
	*to = '\0';
	return self->joined;
}

TEST_F_TIMEOUT(show, says_it_in_a_sentence, 60)
{
	char *wanted, *said;
	uint64_t kept;

	ASSERT_TRUE(record(self, "fragments"));
	said = strstr(self->result.out, "\nfree ");
	ASSERT_NE(NULL, said);
	kept = strtoull(said + strlen("\nfree "), NULL, 10);
	EXPECT_NE(NULL, strstr(show(self, "--by=site"), "\nRSS ")) TH_LOG("%s", self->joined);
	ASSERT_LT(0, asprintf(&wanted, "\nRSS %s: %s live, %s overhead, %s free inside the allocator: %s in pages "
				       "without a live "
				       "block, %s in pages of which live blocks use %.0f %%, mostly those of keep "
				       "(rss_shapes.c:",
			      mf_quantity_bytes(mf_residency_rss(&self->last->sample)).text,
			      mf_quantity_bytes(self->last->sample.bands[MF_BAND_LIVE]).text,
			      mf_quantity_bytes(self->last->sample.bands[MF_BAND_OVERHEAD]).text,
			      mf_quantity_bytes(self->last->sample.bands[MF_BAND_FREE_PARTS] +
						self->last->sample.bands[MF_BAND_FREE_PAGES]).text,
			      mf_quantity_bytes(self->last->sample.bands[MF_BAND_FREE_PAGES]).text,
			      mf_quantity_bytes(self->last->sample.bands[MF_BAND_FREE_PARTS]).text, 33.0));
	EXPECT_NE(NULL, strstr(self->joined, wanted)) TH_LOG("%s in %s", wanted, self->joined);
	free(wanted);
	/* What could be done: the pages are free, the parts of others are not worth it. */
	EXPECT_NE(NULL, strstr(self->joined, "\nThe allocator could give the pages without a live block back: glibc with "
					     "malloc_trim(0), "));
	EXPECT_EQ(NULL, strstr(self->joined, "No allocator can give back"));
	EXPECT_TRUE(HAS(mf_quantity_bytes(kept).text));
	show(self, "--by=function");
	EXPECT_TRUE(HAS("  function\n") && HAS("%  keep\n")) TH_LOG("%s", self->result.out);
	show(self, "--by=library");
	EXPECT_TRUE(HAS("  library\n") && HAS("rss_shapes\n")) TH_LOG("%s", self->result.out);
}

/* The sites are those that the question is about; the sentence does not call a small part of the whole "mostly". */
TEST_F_TIMEOUT(show, selected_sites, 60)
{
	ASSERT_TRUE(record(self, "fragments"));
	show(self, "--through=keep");
	EXPECT_NE(NULL, strstr(self->joined, ", mostly those of keep (rss_shapes.c:")) TH_LOG("%s", self->joined);
	EXPECT_TRUE(HAS("100.00%  keep (rss_shapes.c:"));
	EXPECT_FALSE(HAS("_IO_file_doallocate"));
	show(self, "--through=_IO_file_doallocate");
	EXPECT_NE(NULL, strstr(self->joined, " KB beside those of _IO_file_doallocate")) TH_LOG("%s", self->joined);
	EXPECT_FALSE(HAS("mostly"));
	EXPECT_FALSE(HAS("keep (rss_shapes.c:"));
}

TEST_F_TIMEOUT(show, counts_threads_and_files, 60)
{
	ASSERT_TRUE(record(self, "stacks"));
	/* Four threads that were started, and the first. */
	EXPECT_NE(NULL, strstr(show(self, "-q"), " stacks (5 threads); ")) TH_LOG("%s", self->joined);
	EXPECT_NE(NULL, strstr(self->joined, " mapped files (3 files)")) TH_LOG("%s", self->joined);
	EXPECT_NE(NULL, strstr(self->joined, "\nLargest mappings that are not the allocator's\n"));
	EXPECT_NE(NULL, strstr(self->joined, "libc.so.6\n"));
	EXPECT_NE(NULL, strstr(show(self, "--top=1"), " more\n")) TH_LOG("%s", self->joined);
}

/* The stacks of several threads can be in one mapping. */
TEST_F_TIMEOUT(show, counts_threads_in_one_mapping, 60)
{
	const struct mf_residency_area *area = NULL;
	size_t n = 0;

	ASSERT_TRUE(record(self, "neighbours"));
	for (size_t i = 0; i < self->last->n_areas; i++)
		if (self->last->areas[i].threads == 4 && ++n)
			area = &self->last->areas[i];
	ASSERT_EQ(1, n);
	EXPECT_LE(4ul << 20, area->rss);
	EXPECT_NE(NULL, strstr(area->name, " (rss_shapes) and 3 others")) TH_LOG("%s", area->name);
	EXPECT_NE(NULL, strstr(show(self, "-q"), " stacks (5 threads); ")) TH_LOG("%s", self->joined);
	EXPECT_TRUE(HAS(" (rss_shapes) and 3 others\n")) TH_LOG("%s", self->result.out);
}

/*
 * A recording keeps the 256 largest areas, and only the sum of the others. The line "N more" below the table counts the others,
 * too.
 */
TEST_F_TIMEOUT(show, counts_areas_that_are_not_kept, 60)
{
	uint64_t n = 0, bytes = 0, row = 0;
	const char *more;

	ASSERT_TRUE(record(self, "many"));
	for (size_t i = 0; i < self->last->n_areas; i++) {
		const struct mf_residency_area *area = &self->last->areas[i];

		if (area->rss && area->band != MF_BAND_LIVE && area->band != MF_BAND_MASSIF) {
			n += area->areas;
			bytes += area->rss;
			row = row < area->rss && area->n ? area->rss : row;
		}
	}
	EXPECT_GE(256, self->last->n_areas);
	EXPECT_LE(600, n);
	show(self, "--top=1");
	more = strstr(self->result.out, " more\n");
	ASSERT_NE(NULL, more);
	while (more > self->result.out && more[-1] != ' ')
		more--;
	EXPECT_EQ(n - 1, strtoull(more, NULL, 10)) TH_LOG("%s", self->result.out);
	EXPECT_TRUE(HAS(mf_quantity_bytes(bytes - row).text)) TH_LOG("%s", self->result.out);
}

/* The bars of a table begin in the same column, and no line is longer than the terminal is wide. */
TEST_F_TIMEOUT(show, is_aligned, 60)
{
	static const char *const widths[] = { "72", "80", "200" };
	static const char *const shapes[] = { "fragments", "stacks", "mappings" };
	size_t n_bars = 0;

	for (size_t i = 0; i < 3; i++) {
		ASSERT_TRUE(record(self, shapes[i]));
		for (size_t k = 0; k < 3; k++) {
			char *rest, *line;
			size_t column = 0;

			setenv("COLUMNS", widths[k], 1);
			show(self, "-q");
			EXPECT_TRUE(HAS("\nRSS "));
			/* The first two lines are the program's command line, and its process. */
			rest = strstr(self->result.out, "\n\nresident set  ");
			ASSERT_NE(NULL, rest);
			while ((line = strsep(&rest, "\n"))) {
				size_t bar = strcspn(line, "#");

				EXPECT_GE(strtoul(widths[k], NULL, 10), strlen(line)) TH_LOG("%s", line);
				EXPECT_FALSE(*line && line[strlen(line) - 1] == ' ') TH_LOG("'%s'", line);
				if (!line[bar])
					continue;
				n_bars++;
				column = column ?: bar;
				EXPECT_EQ(column, bar) TH_LOG("%s", line);
			}
		}
	}
	EXPECT_LT(30, n_bars);
}

/* When the program has executed another, the resident set is the other's. In most runs, none is sampled before. */
TEST_F_TIMEOUT(show, not_of_what_the_program_executes, 60)
{
	for (int i = 0; i < 10; i++) {
		ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--rss=yes", "--record=massif.rec",
				 "--massif-out-file=massif.out", "sh", "-c", "exec sleep 0.2"));
		if (RUN("massif-ctl", "show", "--rss", "massif.rec"))
			EXPECT_NE(NULL, strstr(self->result.err, "may be none")) TH_LOG("%s", self->result.err);
		EXPECT_EQ(NULL, strstr(self->result.out, "/sleep\n")) TH_LOG("%s", self->result.out);
	}
}

/* show --rss of a recording of several processes prints a line for each, and says which of the numbers must not be added up. */
TEST_F_TIMEOUT(show, lists_processes, 60)
{
	const char *large, *small;

	ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--rss=yes", "--trace-children=yes", "--record=massif.rec",
			 "--massif-out-file=/dev/null", "sh", "-c",
			 "perl -e '$x = \"a\" x 10000000; sleep 1'; perl -e '$x = \"a\" x 20000000; sleep 1; print 1'"));
	ASSERT_EQ(0, RUN("massif-ctl", "show", "massif.rec"));
	EXPECT_NE(NULL, strstr(self->result.out, "\nTheir resident sets were sampled; --rss lists them.\n"));
	ASSERT_EQ(0, RUN("massif-ctl", "show", "--rss", "massif.rec")) TH_LOG("%s", self->result.err);
	EXPECT_EQ(0, strncmp(self->result.out, "   largest    its Pss       last      pid   parent  process\n", 60));
	large = strstr(self->result.out, "x 20000000");
	small = strstr(self->result.out, "x 10000000");
	ASSERT_NE(NULL, large);
	ASSERT_NE(NULL, small);
	EXPECT_LT(large, small);
	EXPECT_NE(NULL, strstr(self->result.out, "\nDo not add them up: a page that several processes share"));
	ASSERT_EQ(0, RUN("massif-ctl", "show", "--rss", "--top=1", "massif.rec"));
	EXPECT_EQ(NULL, strstr(self->result.out, "x 10000000"));
	EXPECT_NE(NULL, strstr(self->result.out, " more\n"));
	/* Numbers need more columns than a narrow terminal has, and a command line still gets 20 after them. */
	setenv("COLUMNS", "40", 1);
	ASSERT_EQ(0, RUN("massif-ctl", "show", "--rss", "massif.rec"));
	EXPECT_NE(NULL, strstr(self->result.out, "  /usr/bin/perl -e $x~\n")) TH_LOG("%s", self->result.out);
	setenv("COLUMNS", "100", 1);
	/* Without samples it says how to get some. */
	ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--trace-children=yes", "--record=massif.rec",
			 "--massif-out-file=/dev/null", "sh", "-c", "/bin/true; /bin/true"));
	EXPECT_NE(0, RUN("massif-ctl", "show", "--rss", "massif.rec"));
	EXPECT_NE(NULL, strstr(self->result.err, "--rss=yes")) TH_LOG("%s", self->result.err);
	ASSERT_EQ(0, RUN("massif-ctl", "show", "massif.rec"));
	EXPECT_EQ(NULL, strstr(self->result.out, "--rss lists them"));
}

TEST_HARNESS_MAIN
