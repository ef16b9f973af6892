// SPDX-License-Identifier: GPL-2.0
// Runs each fuzzer of selftests/fuzz/ for a few seconds. `make check' builds them; `make fuzz' runs them for
// hours.

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"

#define SECONDS "5"

FIXTURE(fuzzers)
{
	char directory[PATH_MAX];
	struct ctl_result result;
};

FIXTURE_VARIANT(fuzzers)
{
	const char *name;
};

#define FUZZER(fuzzer) FIXTURE_VARIANT_ADD(fuzzers, fuzzer) { .name = #fuzzer }

FUZZER(budgets);
FUZZER(caches);
FUZZER(code);
FUZZER(elf);
FUZZER(msprint);
FUZZER(names);
FUZZER(recording);
FUZZER(ring);
FUZZER(rules);
FUZZER(samples);
FUZZER(store);

/* Inputs that fail are kept in the build directory. */
FIXTURE_SETUP(fuzzers)
{
	const char *build = getenv("MASSIF_BUILD");

	ASSERT_NE(NULL, build);
	snprintf(self->directory, sizeof(self->directory), "%s/fuzz", build);
}

FIXTURE_TEARDOWN(fuzzers)
{
	ctl_result_free(&self->result);
}

TEST_F_TIMEOUT(fuzzers, find_nothing, 120)
{
	char path[PATH_MAX + 32], script[PATH_MAX];

	ASSERT_NE(NULL, getenv("MASSIF_SRC"));
	snprintf(script, sizeof(script), "%s/selftests/fuzz/fuzz.sh", getenv("MASSIF_SRC"));
	snprintf(path, sizeof(path), "%s/%s", self->directory, variant->name);
	if (access(path, X_OK))
		SKIP(return, "it was not built: make check does");
	CTL_RUN(&self->result, script, SECONDS, variant->name);
	EXPECT_EQ(0, ctl_exit_code(&self->result)) {
		TH_LOG("%s\n%s", self->result.out, self->result.err);
	}
	EXPECT_NE(NULL, strstr(self->result.out, variant->name));
	EXPECT_NE(NULL, strstr(self->result.out, "nothing"));
}

TEST_HARNESS_MAIN
