// SPDX-License-Identifier: GPL-2.0
// A process that outlives the program is added to the recording that has the program, whose name is relative.

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "recording/reader.h"
#include "selftests/lib/ctl_run.h"

#define SECONDS 30

FIXTURE(daemon) {
	struct ctl_result result;
	struct mf_recording recording;
	struct mf_error err;
};

FIXTURE_SETUP(daemon)
{
	ctl_remove_files("massif.daemon.");
}

FIXTURE_TEARDOWN(daemon)
{
	mf_recording_release(&self->recording);
	ctl_result_free(&self->result);
	ctl_remove_files("massif.daemon.");
}

TEST_F_TIMEOUT(daemon, is_recorded, 2 * SECONDS)
{
	CTL_RUN(&self->result, "massif-ctl", "record", "-q", "--record=massif.daemon.rec",
		"--massif-out-file=massif.daemon.out.%p", "--trace-children=yes", "sh", "-c", "sleep 1 &");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	for (int i = 0; i < SECONDS * 10 && self->recording.n_processes < 2; i++) {
		mf_recording_release(&self->recording);
		ASSERT_EQ(0, mf_recording_read("massif.daemon.rec", &self->recording, &self->err)) {
			TH_LOG("%s", self->err.text);
		}
		usleep(100000);
	}
	ASSERT_EQ(2, self->recording.n_processes);
	EXPECT_NE(NULL, strstr(self->recording.processes[1]->facts.cmd, "sleep 1"));
}

TEST_HARNESS_MAIN
