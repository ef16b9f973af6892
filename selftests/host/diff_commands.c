// SPDX-License-Identifier: GPL-2.0
// A program runs monitor commands on itself at fixed points. Each file that they write equals Massif's.

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"
#include "selftests/lib/massif_text.h"

#define VALGRIND "/usr/bin/valgrind"

static const char *const files[] = {
	"commands.snapshot", "commands.detailed", "commands.short",    "commands.all",
	"commands.blanks",   "massif.vgdb.out",	  "commands.xt.ms",    "commands.xt.1.ms",
	"commands.xt.2.ms",  "massif.out",
};

#define N_FILES (sizeof(files) / sizeof(files[0]))

/* Removes the wall-clock time from execution trees. */
static void forget_time(char *text)
{
	if (strncmp(text, "time_unit: ms", strlen("time_unit: ms")) != 0)
		return;
	for (char *time = text; (time = strstr(time, "\ntime=")); time++) {
		char *digits = time + strlen("\ntime=");

		memmove(digits, digits + strspn(digits, "0123456789"),
			strlen(digits + strspn(digits, "0123456789")) + 1);
	}
}

/* Reads the output files in the current directory and normalizes them for the comparison. */
static void collect(char *texts[N_FILES])
{
	for (size_t i = 0; i < N_FILES; i++) {
		char *text = ctl_read_file(files[i]);

		texts[i] = text ? massif_text_normalise(text) : NULL;
		if (texts[i])
			forget_time(texts[i]);
		free(text);
	}
}

static void remove_files(void)
{
	ctl_remove_files("commands.");
	ctl_remove_files("massif.");
}

TEST(files_are_massifs)
{
	static char *ours[N_FILES], *theirs[N_FILES];
	struct ctl_result result;
	char target[4096], *saved;

	if (access(VALGRIND, X_OK))
		SKIP(return, "valgrind is not installed");
	snprintf(target, sizeof(target), "%s", ctl_target("diff_requests"));
	remove_files();
	CTL_RUN(&result, VALGRIND, "-q", "--tool=massif", "--time-unit=B", "--threshold=0",
		"--run-libc-freeres=no", "--run-cxx-freeres=no", "--massif-out-file=massif.out", target,
		"commands");
	EXPECT_EQ(0, ctl_exit_code(&result));
	ctl_result_free(&result);
	collect(theirs);
	remove_files();
	CTL_RUN(&result, "massif-ctl", "-q", "--time-unit=B", "--threshold=0",
		"--massif-out-file=massif.out", target, "commands");
	EXPECT_EQ(0, ctl_exit_code(&result));
	EXPECT_NE(NULL, strstr(result.err, "'/dev/null/commands'"));
	saved = ctl_saved_file(result.err);
	EXPECT_NE(NULL, saved);
	EXPECT_EQ(0, saved ? unlink(saved) : -1);
	free(saved);
	ctl_result_free(&result);
	collect(ours);
	EXPECT_EQ(-1, access("commands.nothing", F_OK));
	remove_files();
	for (size_t i = 0; i < N_FILES; i++) {
		ASSERT_NE(NULL, theirs[i]);
		ASSERT_NE(NULL, ours[i]);
		EXPECT_STREQ(theirs[i], ours[i]);
		free(ours[i]);
		free(theirs[i]);
	}
}

TEST_HARNESS_MAIN
