// SPDX-License-Identifier: GPL-2.0
// The shim's own build flags take precedence over the user's, so the shim works whatever CFLAGS are given to make.

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"
#include "selftests/lib/skip.h"

#define SHIM "libmassif-preload.so"

FIXTURE(flags) {
	struct ctl_result result;
};

FIXTURE_SETUP(flags)
{
	if (!getenv("MASSIF_SRC") || !getenv("MASSIF_BUILD"))
		SKIP_SETUP("the folders of source and build are not known");
}

FIXTURE_TEARDOWN(flags)
{
	ctl_result_free(&self->result);
	unsetenv("MASSIF_PRELOAD");
	unlink("f.out");
}

FIXTURE_VARIANT(flags) {
	const char *cflags;
};

FIXTURE_VARIANT_ADD(flags, none) { .cflags = "-O0" };
FIXTURE_VARIANT_ADD(flags, some) { .cflags = "-O1 -g" };
FIXTURE_VARIANT_ADD(flags, all) { .cflags = "-O3 -fno-plt -fomit-frame-pointer" };

/* Extracts the summary line, without the pid. */
static void take_line(struct ctl_result *result, char *line, size_t size)
{
	const char *peak = strstr(result->err, ": peak ");

	snprintf(line, size, "%.*s", peak ? (int)strcspn(peak, "\n") : 4, peak ? peak : "none");
}

static void profile(FIXTURE_DATA(flags) *self, char *line, size_t size)
{
	ctl_result_free(&self->result);
	CTL_RUN(&self->result, "massif-ctl", "--time-unit=B", "--massif-out-file=f.out", "sqlite3", ":memory:",
		"create table t(x); with recursive c(x) as (select 1 union all select x + 1 from c where x < 300) "
		"insert into t select x from c; select count(*) from t");
	take_line(&self->result, line, size);
}

TEST_F_TIMEOUT(flags, profile_is_the_same, 200)
{
	char source[PATH_MAX], folder[PATH_MAX], out[PATH_MAX + 32], shim[PATH_MAX + 64];
	char cflags[128], expected[512], line[512];

	profile(self, expected, sizeof(expected));
	ASSERT_NE(NULL, strstr(expected, "; wrote f.out"));
	ASSERT_NE(NULL, getcwd(folder, sizeof(folder)));
	snprintf(source, sizeof(source), "%s", getenv("MASSIF_SRC"));
	snprintf(out, sizeof(out), "O=%s/f.build", folder);
	snprintf(shim, sizeof(shim), "%s/f.build/" SHIM, folder);
	snprintf(cflags, sizeof(cflags), "CFLAGS=%s", variant->cflags);
	ctl_result_free(&self->result);
	CTL_RUN(&self->result, "make", "-s", "-C", source, out, cflags, shim);
	ASSERT_EQ(0, ctl_exit_code(&self->result)) {
		TH_LOG("%s", self->result.err);
	}
	setenv("MASSIF_PRELOAD", shim, 1);
	profile(self, line, sizeof(line));
	EXPECT_STREQ("300\n", self->result.out);
	EXPECT_STREQ(expected, line);
}

TEST_HARNESS_MAIN
