// SPDX-License-Identifier: GPL-2.0
// Checks that the runner of guest tests notices kernel warnings even if the test itself passes.
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"

/*
 * Name of the nested test. The test "runner" (this file) writes it, and then runs it with run-batch.sh as the only test
 * of a nested batch. tests.conf lists both tests.
 */
#define INNER	"runner_inner"

/*
 * This test triggers a kernel warning on purpose. The warning must neither appear in the log of the batch that runs
 * this test, nor stop a debug kernel.
 */
static const char begin[] = "cat /proc/sys/kernel/panic_on_warn > panic_on_warn; echo 0 > /proc/sys/kernel/panic_on_warn";
static const char end[] = "dmesg -C; cat panic_on_warn > /proc/sys/kernel/panic_on_warn";

static const char test[] =
	"mkdir -p build/selftests/guest results && cat > build/selftests/guest/" INNER " << END\n"
	"#!/bin/sh\n"
	"insmod $MASSIF_WARN what=$MASSIF_WHAT && rmmod massif_warn && printf 'TAP version 13\\n1..1\\nok 1 content\\n'\n"
	"END\n"
	"chmod +x build/selftests/guest/" INNER;

static const char batch[] =
	"MASSIF_BUILD=$PWD/build MASSIF_RESULTS=$PWD/results "
	"$MASSIF_SRC/selftests/tools/run-batch.sh guest " INNER " > frames; echo $? > status; "
	"$MASSIF_SRC/selftests/tools/report.pl summary frames > report";

FIXTURE(runner) {
	char module[PATH_MAX];
};

FIXTURE_SETUP(runner)
{
	struct utsname name;

	ASSERT_EQ(0, uname(&name));
	snprintf(self->module, sizeof(self->module), "%s/kmod/%s/selftests/massif_warn.ko", getenv("MASSIF_BUILD"),
		 name.release);
	ASSERT_EQ(0, setenv("MASSIF_WARN", self->module, 1));
	ASSERT_EQ(0, system(begin));
}

FIXTURE_TEARDOWN(runner)
{
	EXPECT_EQ(0, system(end));
}

FIXTURE_VARIANT(runner)
{
	const char *what;
	int status;		/* expected exit status of the batch; 75: the kernel can no longer be trusted */
	const char *line;	/* a pattern that a line of run-batch.sh's output must match */
	const char *summary;
};

FIXTURE_VARIANT_ADD(runner, nothing) { "nothing", 0, "^end\t0", "^1 passed, 0 failed" };
FIXTURE_VARIANT_ADD(runner, warning) { "warn", 75, "^kernel\t.*WARNING:.*massif_warn", "1 failed" };
FIXTURE_VARIANT_ADD(runner, refcount) { "refcount", 75, "^kernel\t.*refcount_t", "1 failed" };

/* Returns whether any line of @file matches @pattern, an extended regular expression. */
static int fits(const char *pattern, const char *file)
{
	char command[256];

	snprintf(command, sizeof(command), "grep -qE '%s' %s", pattern, file);
	return system(command) == 0;
}

TEST_F_TIMEOUT(runner, notices_the_kernel, 60)
{
	FILE *file;
	int status = -1, reported;

	ASSERT_EQ(0, setenv("MASSIF_WHAT", variant->what, 1));
	ASSERT_EQ(0, system(test));
	reported = system(batch);
	file = fopen("status", "r");
	ASSERT_NE(NULL, file);
	EXPECT_EQ(1, fscanf(file, "%d", &status));
	fclose(file);
	EXPECT_EQ(variant->status, status);
	EXPECT_EQ(variant->status == 0, reported == 0);
	EXPECT_TRUE(fits(variant->line, "frames"));
	EXPECT_TRUE(fits(variant->summary, "summary"));
	/* The test itself passed; the batch failed only because of the kernel's warning. */
	EXPECT_TRUE(fits("content", "frames"));
}

TEST_HARNESS_MAIN
