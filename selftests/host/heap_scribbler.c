// SPDX-License-Identifier: GPL-2.0
// Programs that write into the memory that they share with massif-ctl: massif-ctl ends as the program does, with a profile of
// what can still be read.

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"

FIXTURE(scribbler) {
	struct ctl_result result;
};

FIXTURE_VARIANT(scribbler) {
	const char *way;
};

FIXTURE_VARIANT_ADD(scribbler, snapshots) { "snapshots" };

FIXTURE_SETUP(scribbler)
{
	ctl_remove_files("massif.");
}

FIXTURE_TEARDOWN(scribbler)
{
	ctl_result_free(&self->result);
	ctl_remove_files("massif.");
}

TEST_F_TIMEOUT(scribbler, does_not_harm_massif_ctl, 120)
{
	CTL_RUN(&self->result, "massif-ctl", "record", "-v", "-v", "--stats=yes", "--record=massif.rec",
		"--massif-out-file=massif.out", ctl_target("scribbler"), variant->way);
	EXPECT_EQ(0, ctl_exit_code(&self->result)) TH_LOG("%s", self->result.err);
	EXPECT_EQ(1, ctl_find_files("massif.out", NULL));
	ctl_result_free(&self->result);
	CTL_RUN(&self->result, "massif-ctl", "show", "massif.rec");
	EXPECT_EQ(0, ctl_exit_code(&self->result)) TH_LOG("%s", self->result.err);
}

TEST_HARNESS_MAIN
