// SPDX-License-Identifier: GPL-2.0
// The summary line at the end of a profile: program, peak, the time of the peak, the bytes left, and the file. Its
// format is fixed, and its numbers are those of the file and of ms_print's graph.

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"

#define FILE_NAME "massif.out.line"

#define AMOUNT "(([0-9]+ B)|([0-9.]{5} [KMGTPE]B))"
#define LINE                                                                                       \
	"massif-ctl: ([^ ]+) \\(pid ([0-9]+)\\): peak " AMOUNT " at ([^;]+); " AMOUNT               \
	" held at the end; wrote ([^\n]+)\n"

enum { NAME = 1, PID, PEAK, WHEN = 6, HELD, FILE_WRITTEN = 10, PARTS };

/* The parts of the summary line, numbered like the groups of the regular expression LINE. */
struct line {
	char parts[PARTS][128];
};

static bool parse(const char *text, struct line *line)
{
	regmatch_t matches[PARTS + 1];
	regex_t regex;
	bool found;

	if (regcomp(&regex, "^" LINE "$", REG_EXTENDED))
		return false;
	found = !regexec(&regex, text, PARTS + 1, matches, 0);
	regfree(&regex);
	if (!found)
		fprintf(stderr, "# not the line: %s\n", text);
	for (int i = 0; found && i < PARTS; i++)
		snprintf(line->parts[i], sizeof(line->parts[i]), "%.*s",
			 (int)(matches[i].rm_eo - matches[i].rm_so), text + matches[i].rm_so);
	return found;
}

FIXTURE(line) {
	struct ctl_result result;
	struct line line;
	char *file;
};

FIXTURE_SETUP(line)
{
	ctl_remove_files("massif.out");
}

FIXTURE_TEARDOWN(line)
{
	ctl_remove_files("massif.out");
	ctl_result_free(&self->result);
	free(self->file);
}

FIXTURE_VARIANT(line) {
	const char *target, *args[4], *unit;
	/* the expected parts of the summary line; @when contains only the beginning of the time of the peak */
	const char *peak, *held, *when;
};

#define ROW(name, ...) FIXTURE_VARIANT_ADD(line, name) { __VA_ARGS__ }

/*
 * The peak is 10 * 1008 + 2000 + 2 * 4000 bytes (the requested sizes, rounded up to multiples of 16) plus 8 bytes for
 * each of the 13 blocks. Then the ten blocks are freed.
 */
ROW(bytes, "heap_example", { NULL }, "B", "19.71 KB", "9.789 KB", "19.71 KB allocated and freed");
ROW(milliseconds, "heap_example", { NULL }, "ms", "19.71 KB", "9.789 KB", "");
ROW(nothing_at_all, "ends", { "return", "0", "0" }, "B", "0 B", "0 B", "0 B allocated and freed");
ROW(nothing_in_time, "ends", { "return", "0", "0" }, "ms", "0 B", "0 B", "");
ROW(one_byte, "ends", { "return", "0", "1", "1" }, "B", "24 B", "24 B", "24 B allocated and freed");
ROW(below_a_thousand, "ends", { "return", "0", "1", "976" }, "B", "984 B", "984 B", "984 B allocated");
ROW(a_thousand, "ends", { "return", "0", "1", "992" }, "B", "0.977 KB", "0.977 KB", "0.977 KB alloc");
ROW(megabytes, "ends", { "return", "0", "300" }, "B", "286.1 MB", "286.1 MB", "286.1 MB allocated");
ROW(gigabytes, "ends", { "return", "0", "3", "1000000000" }, "B", "2.794 GB", "2.794 GB", "2.794 GB");

static bool begins(const char *text, const char *with)
{
	return !with || strncmp(text, with, strlen(with)) == 0;
}

TEST_F(line, says)
{
	char unit[32], name[256];
	const char *target = ctl_target(variant->target);

	snprintf(unit, sizeof(unit), "--time-unit=%s", variant->unit);
	CTL_RUN(&self->result, "massif-ctl", unit, "--massif-out-file=" FILE_NAME ".%p", target,
		variant->args[0], variant->args[1], variant->args[2], variant->args[3]);
	ASSERT_TRUE(parse(self->result.err, &self->line));
	EXPECT_STREQ(variant->target, self->line.parts[NAME]);
	EXPECT_STREQ(variant->peak, self->line.parts[PEAK]);
	EXPECT_STREQ(variant->held, self->line.parts[HELD]);
	EXPECT_TRUE(begins(self->line.parts[WHEN], variant->when));
	if (strcmp(variant->unit, "ms") == 0)
		EXPECT_NE(NULL, strstr(self->line.parts[WHEN], "s"));
	snprintf(name, sizeof(name), FILE_NAME ".%s", self->line.parts[PID]);
	EXPECT_STREQ(name, self->line.parts[FILE_WRITTEN]);
	self->file = ctl_read_file(self->line.parts[FILE_WRITTEN]);
	EXPECT_NE(NULL, self->file);
}

/* The largest size in ms_print's graph equals the peak in the summary line. */
TEST(is_as_ms_print)
{
	static const char *const blocks[] = { "1", "900", "1100", "9000", "11000", "1000000" };
	char ms_print[4096];
	const char *build = getenv("MASSIF_BUILD");

	snprintf(ms_print, sizeof(ms_print), "%s/ms_print", build ? build : "build");
	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
		struct ctl_result result, printed;
		char amount[128] = "", *at;
		struct line line;
		int used = 0;
		char unit[8] = "", number[16] = "";

		CTL_RUN(&result, "massif-ctl", "--time-unit=B", "--massif-out-file=" FILE_NAME,
			ctl_target("ends"), "return", "0", "1", blocks[i]);
		ASSERT_TRUE(parse(result.err, &line));
		CTL_RUN(&printed, ms_print, FILE_NAME);
		at = strchr(printed.out, '^');
		ASSERT_NE(NULL, at);
		while (at > printed.out && *at != '\n')
			at--;
		EXPECT_EQ(1, sscanf(at, "%15[^^]%n", number, &used));
		while (--at > printed.out && *at != '\n')
			;
		EXPECT_EQ(1, sscanf(at, "%7s", unit));
		snprintf(amount, sizeof(amount), "%s %s", number + strspn(number, " \n"), unit);
		EXPECT_STREQ(amount, line.parts[PEAK]);
		ctl_result_free(&result);
		ctl_result_free(&printed);
		ctl_remove_files("massif.out");
	}
}

TEST_HARNESS_MAIN
