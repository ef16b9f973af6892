// SPDX-License-Identifier: GPL-2.0
// Memory mapped by exec (code, data, BSS, heap, stack, vdso) is shown with the name of the file or the kernel's name.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"
#include "selftests/lib/ctl_run.h"

/*
 * Adds up the bytes of those lines of @report's last tree in which the text after the address begins with @text.
 * Returns the sum.
 */
static uint64_t bytes_of(const char *report, const char *text)
{
	const char *tree = NULL, *line;
	uint64_t sum = 0;

	for (line = report; (line = strstr(line, "(page allocation syscalls)")); line++)
		tree = line;
	for (line = tree; line && (line = strchr(line, '\n')); ) {
		uint64_t bytes;
		int at = 0;

		line++;
		if (sscanf(line, " n%*d: %" SCNu64 " 0x%*x: %n", &bytes, &at) != 1 || !at)
			break;
		if (!strncmp(line + at, text, strlen(text)))
			sum += bytes;
	}
	return sum;
}

#define OPTIONS "-q", "--pages-as-heap=yes", "--time-unit=B", "--detailed-freq=1", "--threshold=0", \
		"--massif-out-file=report", "--max-snapshots=1000", "--depth=3"

TEST(code_data_bss_and_the_stack)
{
	long image, stack, grown;
	struct ctl_result result;
	char words[4096];
	char *report;

	CTL_RUN(&result, "massif-ctl", OPTIONS, ctl_target("pages_segments"));
	ASSERT_EQ(ctl_exit_code(&result), 0) TH_LOG("%s", result.err);
	ASSERT_EQ(sscanf(result.out, "image %ld stack %ld grown %ld", &image, &stack, &grown), 3);
	ctl_result_free(&result);
	report = ctl_read_file("report");
	ASSERT_NE(report, NULL);

	EXPECT_GT(image, 6 << 20);
	EXPECT_GT(grown, 600000);
	snprintf(words, sizeof(words), "[exec] (in %s)", ctl_target("pages_segments"));
	EXPECT_EQ(bytes_of(report, words), image);
	/* Only the recursion grows the stack, so "[stack]" still has its initial size. */
	EXPECT_EQ(bytes_of(report, "[stack]"), stack);
	EXPECT_GE(bytes_of(report, "grow (pages_segments.c"), grown);
	EXPECT_GT(bytes_of(report, "[vdso]"), 0);
	EXPECT_GT(bytes_of(report, "[vvar]"), 0);
	EXPECT_EQ(bytes_of(report, "[anon]"), 0);
	free(report);
}

TEST_HARNESS_MAIN
