// SPDX-License-Identifier: GPL-2.0
// Some hostile programs, generated from a fixed seed, behave the same alone and under massif; make check-hostile runs
// more.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"

FIXTURE(hostile) {
	struct ctl_result result;
};

FIXTURE_SETUP(hostile)
{
}

FIXTURE_TEARDOWN(hostile)
{
	ctl_result_free(&self->result);
}

FIXTURE_VARIANT(hostile) {
	const char *seed, *first, *count;
	/*
	 * minimum number of programs that must pass; programs that cannot be compiled here, or whose runs without
	 * massif differ, do not count
	 */
	unsigned long at_least;
};

FIXTURE_VARIANT_ADD(hostile, some) { "17", "0", "10", 6 };
/* Programs that have revealed bugs. */
FIXTURE_VARIANT_ADD(hostile, misaligned) { "9", "68", "1", 1 };
FIXTURE_VARIANT_ADD(hostile, strict) { "5", "147", "1", 1 };

TEST_F_TIMEOUT(hostile, same_as_alone, 250)
{
	const char *source = getenv("MASSIF_SRC");
	char path[4096], label[32];

	snprintf(path, sizeof(path), "%s/selftests/search/check-hostile.sh", source ? source : ".");
	snprintf(label, sizeof(label), "seed %s: ", variant->seed);
	CTL_RUN(&self->result, path, "-n", variant->count, "-s", variant->seed, "-f", variant->first);
	EXPECT_EQ(0, ctl_exit_code(&self->result)) {
		TH_LOG("%s%s", self->result.out, self->result.err);
	}
	EXPECT_LE(variant->at_least, ctl_number(self->result.out, label)) {
		TH_LOG("%s%s", self->result.out, self->result.err);
	}
}

TEST_HARNESS_MAIN
