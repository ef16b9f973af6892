// SPDX-License-Identifier: GPL-2.0
// Which processes get the session memory of another process of the same run (MF_JOIN_BORROW).

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"

FIXTURE(borrow) {
	struct ctl_result result;
};

FIXTURE_SETUP(borrow)
{
}

FIXTURE_TEARDOWN(borrow)
{
	ctl_result_free(&self->result);
	ctl_remove_files("massif.out");
}

/*
 * A child with the ids of its parent gets the memory for reading. A child that has given up ids gets nothing, so that it
 * cannot change what the shim in its parent relies on.
 */
TEST_F(borrow, needs_the_ids_of_the_parent)
{
	if (geteuid())
		SKIP(return, "only root can change its ids");
	CTL_RUN(&self->result, "massif-ctl", "-q", "--massif-out-file=massif.out.%p", ctl_target("heap_borrow"));
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ("same: 0 reads only\n"
		     "nobody: -1\n"
		     "group: -1\n"
		     "saved: -1\n"
		     "real: -1\n"
		     "container: -1\n", self->result.out) {
		TH_LOG("%s", self->result.err);
	}
}

TEST_HARNESS_MAIN
