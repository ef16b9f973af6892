// SPDX-License-Identifier: GPL-2.0
// Some hostile programs with a fixed seed do the same alone and under massif; make check-hostile has more.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"

#define SEED	 "17"
#define PROGRAMS "10"
#define AT_LEAST 6 /* of them have a compiler here, and do the same twice alone */

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

TEST_F_TIMEOUT(hostile, same_as_alone, 250)
{
	const char *source = getenv("MASSIF_SRC");
	char path[4096];

	snprintf(path, sizeof(path), "%s/selftests/search/check-hostile.sh", source ? source : ".");
	CTL_RUN(&self->result, path, "-n", PROGRAMS, "-s", SEED);
	EXPECT_EQ(0, ctl_exit_code(&self->result)) {
		TH_LOG("%s%s", self->result.out, self->result.err);
	}
	EXPECT_LE(AT_LEAST, ctl_number(self->result.out, "seed " SEED ": ")) {
		TH_LOG("%s%s", self->result.out, self->result.err);
	}
}

TEST_HARNESS_MAIN
