// SPDX-License-Identifier: GPL-2.0
// massif-ctl is killed, or does not run, while it samples the resident set of a program. The program does not wait for a dead
// massif-ctl at its end, and waits a while for one that is late.

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "recording/reader.h"
#include "selftests/lib/ctl_run.h"

#define SECONDS 120
#define RUNS 10
#define LATE_RUNS 3
/* A program that does not know that massif-ctl is dead waits for 500 ms. */
#define LEAST_MS 60

/* Kills massif-ctl, its parent, and prints when it begins to end, in milliseconds. */
#define PROGRAM "use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC sleep); my $ctl = getppid; sleep 0.3; kill 9, $ctl;" \
		"sleep 0.1 while getppid == $ctl; print int(clock_gettime(CLOCK_MONOTONIC) * 1000), \"\\n\";"

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Stops massif-ctl, its parent, for a quarter of a second, and ends meanwhile. */
#define LATE "use Time::HiRes qw(sleep); my $ctl = getppid; sleep 0.3;" \
	     "system(\"(until ! [ -e /proc/$ctl ] || grep -q '^State:.T' /proc/$ctl/status; do :; done;" \
	     " sleep 0.25; kill -CONT $ctl) &\");" \
	     "kill 19, $ctl"

static void start(const char *program)
{
	int out = open("o.out", O_WRONLY | O_CREAT | O_TRUNC, 0666);

	dup2(out, STDOUT_FILENO);
	dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
	execl(ctl_path(), "massif-ctl", "record", "-q", "--rss=yes", "--record=massif.rec", "--massif-out-file=massif.out",
	      "perl", "-e", program, (char *)NULL);
	_exit(1);
}

/* Returns how long the program took from its last line until it had ended, in milliseconds; -1 if it did not run. */
static long run(void)
{
	char *said;
	long ended = 0, begun = 0;

	if (!fork())
		start(PROGRAM);
	/* massif-ctl ends first, then the program, whose parent this process has become. */
	while (wait(NULL) > 0)
		ended = now_ms();
	said = ctl_read_file("o.out");
	begun = said ? atol(said) : 0;
	free(said);
	return begun ? ended - begun : -1;
}

FIXTURE(killed) {
};

FIXTURE_SETUP(killed)
{
	ctl_remove_files("massif.");
	ctl_remove_files("o.");
}

FIXTURE_TEARDOWN(killed)
{
	ctl_remove_files("massif.");
	ctl_remove_files(".massif-");
	ctl_remove_files("o.");
}

TEST_F_TIMEOUT(killed, program_ends_at_once, SECONDS)
{
	long least = 1000000;

	ASSERT_EQ(0, prctl(PR_SET_CHILD_SUBREAPER, 1));
	for (int i = 0; i < RUNS; i++) {
		long took = run();

		ASSERT_LE(0, took);
		least = took < least ? took : least;
	}
	EXPECT_GT(LEAST_MS, least) TH_LOG("%ld ms", least);
}

/*
 * On a busy machine, massif-ctl can be as late. There, it may also be later than the program waits for it, so one of
 * several runs is enough; without the wait, none has the sample.
 */
TEST_F_TIMEOUT(killed, program_waits_for_a_late_massif_ctl, SECONDS)
{
	uint32_t reasons = 0;

	for (int i = 0; i < LATE_RUNS && !(reasons & MF_SAMPLE_END); i++) {
		struct mf_recording recording;
		struct mf_error err;

		if (!fork())
			start(LATE);
		while (wait(NULL) > 0)
			;
		ASSERT_EQ(0, mf_recording_read("massif.rec", &recording, &err)) TH_LOG("%s", err.text);
		ASSERT_NE(NULL, recording.processes[0]->profile.residency);
		reasons = recording.processes[0]->profile.residency->last.sample.reasons;
		mf_recording_release(&recording);
		ctl_remove_files("massif.");
	}
	EXPECT_NE(0, reasons & MF_SAMPLE_END) TH_LOG("reasons %u", reasons);
}

TEST_HARNESS_MAIN
