// SPDX-License-Identifier: GPL-2.0
// Samples of the resident set in what other programs read (pprof, flame graphs), and in massif-ctl diff: the sums are those
// of the export as JSON, and those that the program has counted itself.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

#include "ctl/message/quantity.h"
#include "recording/reader.h"
#include "selftests/lib/ctl_run.h"

FIXTURE(exports) {
	struct ctl_result result;
	char *said; /* what the program printed */
	char text[256];
};

/* Runs @argv; returns its exit status, and keeps its output until the next run. */
#define RUN(...) (ctl_result_free(&self->result), CTL_RUN(&self->result, __VA_ARGS__), ctl_exit_code(&self->result))
#define HAS(text) (strstr(self->result.out, text) != NULL)

FIXTURE_SETUP(exports)
{
	setenv("LC_ALL", "C.UTF-8", 1);
	setenv("COLUMNS", "120", 1);
	ctl_remove_files("massif.");
	ctl_remove_files("out.");
}

FIXTURE_TEARDOWN(exports)
{
	free(self->said);
	ctl_result_free(&self->result);
	ctl_remove_files("massif.");
	ctl_remove_files("out.");
}

static bool record(FIXTURE_DATA(exports) *self, const char *name, const char *shape)
{
	char option[64];

	snprintf(option, sizeof(option), "--record=%s", name);
	if (RUN("massif-ctl", "record", "-q", "--rss=yes", option, "--massif-out-file=massif.out", ctl_target("rss_shapes"),
		shape, "700"))
		return false;
	free(self->said);
	self->said = strdup(self->result.out);
	return RUN("massif-ctl", "export", "--to=json", "-o", "out.json", name) == 0;
}

/* Returns what jq finds in the export, as a number. */
static uint64_t from_export(FIXTURE_DATA(exports) *self, const char *query)
{
	return RUN("jq", "-r", query, "out.json") ? UINT64_MAX : strtoull(self->result.out, NULL, 10);
}

/* Returns the number that the program has printed after @word. */
static uint64_t told(FIXTURE_DATA(exports) *self, const char *word)
{
	const char *at = strstr(self->said, word);

	return at ? strtoull(at + strlen(word), NULL, 10) : UINT64_MAX;
}

/* Of the samples that "go tool pprof -raw" prints, adds up the numbers of the column @column. */
static uint64_t column_of(const char *raw, unsigned int column)
{
	const char *at = strstr(raw, "\nSamples:\n");
	uint64_t sum = 0;

	at = at ? strchr(at + 10, '\n') : NULL;
	for (; at && strncmp(at, "\nLocations", 10) != 0; at = strchr(at + 1, '\n')) {
		char *next = (char *)at + 1;
		unsigned long long number = 0;

		for (unsigned int i = 0; i <= column; i++)
			number = strtoull(next, &next, 10);
		sum += number;
	}
	return sum;
}

/* What each moment's numbers are in the export as JSON. */
static const struct {
	const char *option, *pinned, *untouched, *resident;
} moments[] = {
	{ "--at=peak", "[.residency.peak.sites[][3]] | add", "[.residency.peak.sites[][2]] | add",
	  "[.residency.peak.sites[] | .[1] - .[2]] | add" },
	{ "--at=end", "[.residency.last.sites[][3]] | add", "[.residency.last.sites[][2]] | add",
	  "[.residency.last.sites[] | .[1] - .[2]] | add" },
};

TEST_F_TIMEOUT(exports, for_pprof, 120)
{
	static const char *const shapes[] = { "fragments", "untouched" };

	for (size_t i = 0; i < 2; i++) {
		ASSERT_TRUE(record(self, "massif.rec", shapes[i]));
		for (size_t k = 0; k < 2; k++) {
			uint64_t pinned = from_export(self, moments[k].pinned);
			uint64_t resident = from_export(self, moments[k].resident);

			ASSERT_EQ(0, RUN("massif-ctl", "export", "--to=pprof", moments[k].option, "-o", "out.pb.gz",
					 "massif.rec"));
			ASSERT_EQ(0, RUN("go", "tool", "pprof", "-raw", "out.pb.gz"));
			EXPECT_TRUE(HAS("\nSamples:\npinned/bytes resident/bytes alloc_objects/count alloc_space/bytes")) {
				TH_LOG("%s", self->result.out);
			}
			EXPECT_EQ(pinned, column_of(self->result.out, 0));
			EXPECT_EQ(resident, column_of(self->result.out, 1));
		}
	}
	/* Without samples, there are only the types of before. */
	ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--record=massif.rec", "--massif-out-file=massif.out", "true"));
	ASSERT_EQ(0, RUN("massif-ctl", "export", "--to=pprof", "-o", "out.pb.gz", "massif.rec"));
	ASSERT_EQ(0, RUN("go", "tool", "pprof", "-raw", "out.pb.gz"));
	EXPECT_TRUE(HAS("\nSamples:\nalloc_objects/count alloc_space/bytes"));
}

/* The sites with the bytes that the program has counted. */
TEST_F_TIMEOUT(exports, name_the_sites, 120)
{
	ASSERT_TRUE(record(self, "massif.rec", "fragments"));
	ASSERT_EQ(0, RUN("massif-ctl", "export", "--to=pprof", "--at=end", "-o", "out.pb.gz", "massif.rec"));
	ASSERT_EQ(0, RUN("go", "tool", "pprof", "-top", "-sample_index=pinned", "-unit=B", "out.pb.gz"));
	snprintf(self->text, sizeof(self->text), " %" PRIu64 "B ", told(self, "\nfree "));
	EXPECT_TRUE(HAS(self->text)) TH_LOG("%s in %s", self->text, self->result.out);
	ASSERT_EQ(0, RUN("go", "tool", "pprof", "-top", "-sample_index=resident", "-unit=B", "out.pb.gz"));
	EXPECT_TRUE(HAS(" 400000B ")) TH_LOG("%s", self->result.out);
	ASSERT_EQ(0, RUN("massif-ctl", "export", "--to=collapsed", "--value=pinned", "--at=end", "massif.rec"));
	snprintf(self->text, sizeof(self->text), "main;fragments;keep %" PRIu64 "\n", told(self, "\nfree "));
	EXPECT_TRUE(HAS(self->text)) TH_LOG("%s in %s", self->text, self->result.out);
}

TEST_F_TIMEOUT(exports, for_flame_graphs, 120)
{
	ASSERT_TRUE(record(self, "massif.rec", "untouched"));
	for (size_t i = 0; i < 2; i++) {
		const char *queries[] = { moments[i].pinned, moments[i].untouched, moments[i].resident };
		static const char *const values[] = { "--value=pinned", "--value=untouched", "--value=resident" };

		for (size_t k = 0; k < 3; k++) {
			uint64_t wanted = from_export(self, queries[k]);

			ASSERT_EQ(0, RUN("massif-ctl", "export", "--to=collapsed", values[k], moments[i].option, "-o",
					 "out.folded", "massif.rec"));
			ASSERT_EQ(0, RUN("awk", "{ n += $NF } END { printf \"%.0f\\n\", n }", "out.folded"));
			EXPECT_EQ(wanted, strtoull(self->result.out, NULL, 10)) TH_LOG("%s", values[k]);
			ASSERT_EQ(0, RUN("massif-ctl", "export", "--to=speedscope", values[k], moments[i].option, "-o",
					 "out.speedscope", "massif.rec"));
			ASSERT_EQ(0, RUN("jq", "[.profiles[0].weights[]] | add", "out.speedscope"));
			EXPECT_EQ(wanted, strtoull(self->result.out, NULL, 10)) TH_LOG("%s", values[k]);
		}
	}
	EXPECT_EQ(1, RUN("massif-ctl", "export", "--to=pprof", "--value=pinned", "massif.rec"));
	EXPECT_NE(NULL, strstr(self->result.err, "only collapsed and speedscope"));
	EXPECT_EQ(1, RUN("massif-ctl", "export", "--to=collapsed", "--value=pinned", "massif.out"));
	EXPECT_NE(NULL, strstr(self->result.err, "no samples of the resident set")) TH_LOG("%s", self->result.err);
}

TEST_F_TIMEOUT(exports, diff, 120)
{
	static const char *const bands[][2] = {
		{ "live", "live blocks" }, { "free-pages", "free pages of the allocator" },
		{ "free-parts", "free, in pages with live blocks" }, { "files", "mapped files" },
	};
	uint64_t old[4], new[4], kept;
	char query[64];

	ASSERT_TRUE(record(self, "massif.new", "fragments"));
	kept = told(self, "\nfree ");
	for (size_t i = 0; i < 4; i++) {
		snprintf(query, sizeof(query), ".residency.last.bands[\"%s\"]", bands[i][0]);
		new[i] = from_export(self, query);
	}
	ASSERT_TRUE(record(self, "massif.old", "untouched"));
	for (size_t i = 0; i < 4; i++) {
		snprintf(query, sizeof(query), ".residency.last.bands[\"%s\"]", bands[i][0]);
		old[i] = from_export(self, query);
	}
	RUN("massif-ctl", "diff", "--at=end", "massif.old", "massif.new");
	EXPECT_TRUE(HAS("\n     change        old        new  resident set, in the last sample\n"));
	for (size_t i = 0; i < 4; i++) {
		snprintf(self->text, sizeof(self->text), " %10s %10s  %s", mf_quantity_bytes(old[i]).text,
			 mf_quantity_bytes(new[i]).text, bands[i][1]);
		EXPECT_TRUE(HAS(self->text)) TH_LOG("%s in %s", self->text, self->result.out);
	}
	snprintf(self->text, sizeof(self->text), " %10s  keep (rss_shapes.c)", mf_quantity_bytes(kept).text);
	EXPECT_TRUE(HAS(self->text)) TH_LOG("%s in %s", self->text, self->result.out);
	EXPECT_FALSE(HAS("several processes"));
	/* With --value=calls, the first table has numbers of blocks; that of free memory that sites keep has bytes as ever. */
	RUN("massif-ctl", "diff", "--at=end", "--value=calls", "massif.old", "massif.new");
	EXPECT_TRUE(HAS("  place: blocks allocated\n") && HAS(self->text)) TH_LOG("%s in %s", self->text, self->result.out);
	/* A recording with itself has not changed; the numbers of one kind can be the main table. */
	EXPECT_EQ(0, RUN("massif-ctl", "diff", "--value=pinned", "--at=end", "massif.new", "massif.new"));
	EXPECT_TRUE(HAS("place: free memory in pages that their blocks keep\n"));
	/* The bands are there, and no second table of what sites keep. */
	EXPECT_FALSE(strstr(strstr(self->result.out, "blocks keep\n") + 1, "blocks keep\n"));
	EXPECT_EQ(0, RUN("massif-ctl", "record", "-q", "--record=massif.rec", "--massif-out-file=massif.out", "true"));
	RUN("massif-ctl", "diff", "massif.rec", "massif.new");
	EXPECT_FALSE(HAS("resident set"));
	EXPECT_EQ(2, RUN("massif-ctl", "diff", "--value=untouched", "massif.rec", "massif.new"));
	EXPECT_NE(NULL, strstr(self->result.err, "record --rss=yes"));
}

/* A process that is killed at once has no sample, unless massif-ctl was quick; the others are compared. */
TEST_F_TIMEOUT(exports, diff_of_a_process_without_samples, 120)
{
	bool found = false;

	for (int i = 0; i < 20 && !found; i++) {
		ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--rss=yes", "--trace-children=yes", "--record=massif.rec",
				 "--massif-out-file=/dev/null", "sh", "-c", "sh -c 'kill -9 $$'; sleep 0.2; :"));
		EXPECT_EQ(0, RUN("massif-ctl", "diff", "--value=resident", "--at=end", "massif.rec", "massif.rec")) {
			TH_LOG("%s", self->result.err);
		}
		EXPECT_TRUE(HAS("place: live blocks on touched pages\n"));
		EXPECT_TRUE(HAS("\nA page that several processes share is counted for each of them.\n"));
		found = HAS("new: 3 processes, each at its own peak; of 1 there is no sample of the resident set\n");
	}
	EXPECT_TRUE(found);
}

TEST_HARNESS_MAIN
