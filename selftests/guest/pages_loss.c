// SPDX-License-Identifier: GPL-2.0
// Stops or kills massif-ctl: the program must run as fast as before, losses are reported, and a resync corrects the
// model.

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/ctl_run.h"
#include "selftests/lib/process_state.h"

#define DUMP   "loss.intervals"
#define REPORT "loss.out"
#define SAID   "loss.stderr"
#define PAIRS  "20000"

FIXTURE(loss)
{
	int in, out; /* the test's ends of the pipes that are connected to the program's standard input and output */
	pid_t ctl;
};

static int in_pipe[2], out_pipe[2];

static void connect_pipes(void)
{
	dup2(in_pipe[0], 0);
	dup2(out_pipe[1], 1);
	if (!freopen(SAID, "w", stderr))
		_exit(125);
	close(in_pipe[1]);
	close(out_pipe[0]);
}

FIXTURE_SETUP(loss)
{
	unlink(DUMP);
	unlink(REPORT);
	setenv("MASSIF_DUMP_INTERVALS", DUMP, 1);
	setenv("MASSIF_RING_KIB", "512", 1);
	ASSERT_EQ(pipe2(in_pipe, O_CLOEXEC), 0);
	ASSERT_EQ(pipe2(out_pipe, O_CLOEXEC), 0);
	self->in = in_pipe[1];
	self->out = out_pipe[0];
	self->ctl = -1;
}

FIXTURE_TEARDOWN(loss)
{
	if (self->ctl > 0) {
		kill(self->ctl, SIGKILL);
		waitpid(self->ctl, NULL, 0);
	}
	close(self->in);
	close(self->out);
}

/* Starts pages_pairs with three series of mmap/munmap pairs, under massif-ctl if @profiled. */
static void start(FIXTURE_DATA(loss) *self, bool profiled, const char *third)
{
	const char *argv[] = {"massif-ctl", "--pages-as-heap", "--time-unit=ms",
			      "--massif-out-file=" REPORT, ctl_target("pages_pairs"), "200", PAIRS,
			      third, NULL};

	self->ctl = ctl_start(connect_pipes, profiled ? argv : argv + 4);
	close(in_pipe[0]);
	close(out_pipe[1]);
}

/* Returns the time per mmap/munmap pair, in ns, in the program's next series of pairs, or -1 if it does not answer. */
static long next(FIXTURE_DATA(loss) *self, bool go)
{
	char line[32];
	size_t at = 0;

	if (go && write(self->in, "g", 1) != 1)
		return -1;
	while (at < sizeof(line) - 1 && read(self->out, line + at, 1) == 1)
		if (line[at++] == '\n')
			break;
	line[at] = '\0';
	return at ? atol(line) : -1;
}

static void stop(FIXTURE_DATA(loss) *self)
{
	kill(self->ctl, SIGSTOP);
	while (process_state(self->ctl) != 'T')
		usleep(1000);
}

static int end(FIXTURE_DATA(loss) *self)
{
	int status = -1;

	waitpid(self->ctl, &status, 0);
	self->ctl = -1;
	return status;
}

/*
 * Measures the time per mmap/munmap pair in three cases: with massif-ctl stopped, with massif-ctl running, and without
 * massif-ctl.
 */
TEST_F_TIMEOUT(loss, a_stopped_aggregator_is_not_waited_for, 240)
{
	uint64_t model = 0, kernel = 1, lost = 0, mismatches = 1;
	long alone, running, stopped;
	char *said, *report, *desc;
	FILE *dump;
	int status;

	start(self, true, PAIRS);
	EXPECT_LT(0, next(self, false));
	stop(self);
	/* The program fills the ring and keeps running. */
	stopped = next(self, true);
	EXPECT_LT(0, stopped);
	EXPECT_EQ(process_state(self->ctl), 'T');
	kill(self->ctl, SIGCONT);
	/*
	 * When massif-ctl resumes after being stopped, it reads the ring and receives a resync. After that, everything
	 * works as before.
	 */
	sleep(1);
	running = next(self, true);
	status = end(self);
	EXPECT_LT(0, running);
	EXPECT_TRUE(WIFEXITED(status));
	EXPECT_EQ(WEXITSTATUS(status), 0);

	dump = fopen(DUMP, "r");
	ASSERT_NE(dump, NULL);
	EXPECT_EQ(fscanf(dump, "process %*d model %" SCNu64 " kernel %" SCNu64 " lost %" SCNu64
			       " mismatches %" SCNu64, &model, &kernel, &lost, &mismatches), 4);
	fclose(dump);
	EXPECT_EQ(model, kernel);
	EXPECT_EQ(mismatches, 0);
	EXPECT_GT(lost, 10000);

	/* The loss of records is reported on stderr and in the massif.out file, where ms_print shows it. */
	said = ctl_read_file(SAID);
	report = ctl_read_file(REPORT);
	ASSERT_NE(said, NULL);
	ASSERT_NE(report, NULL);
	EXPECT_NE(strstr(said, "is incomplete"), NULL) {
		TH_LOG("%s", said);
	}
	EXPECT_TRUE(ctl_is_massif_file(report));
	desc = strstr(report, " events lost at ");
	ASSERT_NE(desc, NULL);
	EXPECT_LT(desc, strchr(report, '\n'));
	TH_LOG("%.*s", (int)strcspn(report, "\n"), report);

	ASSERT_EQ(pipe2(in_pipe, O_CLOEXEC), 0);
	ASSERT_EQ(pipe2(out_pipe, O_CLOEXEC), 0);
	close(self->in);
	close(self->out);
	self->in = in_pipe[1];
	self->out = out_pipe[0];
	start(self, false, "1");
	next(self, false);
	alone = next(self, true);
	next(self, true);
	end(self);
	TH_LOG("a pair: %ld ns alone, %ld ns profiled, %ld ns with massif-ctl stopped", alone,
	       running, stopped);
	/*
	 * The manual states the factor by which the program may slow down while massif-ctl is stopped. To allow for a
	 * busy machine, the time that an mmap/munmap pair takes without massif-ctl is added to this limit. If the
	 * program had to wait for massif-ctl, each pair would take seconds.
	 */
	EXPECT_LT(stopped, 3 * running + alone);
	free(said);
	free(report);
}

/* If massif-ctl is killed, its session ends completely, and the program is not affected. */
TEST_F_TIMEOUT(loss, a_killed_aggregator_ends_the_session, 120)
{
	char *refs = NULL;
	int i;

	start(self, true, "1");
	EXPECT_LT(0, next(self, false));
	kill(self->ctl, SIGKILL);
	EXPECT_TRUE(WIFSIGNALED(end(self)));
	for (i = 0; i < 100; i++) {
		free(refs);
		refs = ctl_read_file("/sys/module/massif/refcnt");
		if (refs && !strcmp(refs, "0\n"))
			break;
		usleep(100000);
	}
	EXPECT_STREQ(refs, "0\n");
	free(refs);
	EXPECT_LT(0, next(self, true));
	EXPECT_LT(0, next(self, true));
}

/*
 * massif-ctl is stopped until the program has ended. The report contains everything that fitted into the ring, and
 * massif-ctl says that the report is incomplete.
 */
TEST_F_TIMEOUT(loss, stopped_until_the_program_has_ended, 240)
{
	char *said;
	int status;

	start(self, true, PAIRS);
	EXPECT_LT(0, next(self, false));
	stop(self);
	EXPECT_LT(0, next(self, true));
	EXPECT_LT(0, next(self, true));
	/* The program has ended, so its standard output is at end of file and next() returns -1. */
	EXPECT_EQ(next(self, false), -1);
	EXPECT_EQ(process_state(self->ctl), 'T');
	kill(self->ctl, SIGCONT);
	status = end(self);
	EXPECT_TRUE(WIFEXITED(status));
	EXPECT_EQ(WEXITSTATUS(status), 0);
	said = ctl_read_file(SAID);
	ASSERT_NE(said, NULL);
	EXPECT_NE(strstr(said, "is incomplete"), NULL) {
		TH_LOG("%s", said);
	}
	free(said);
	said = ctl_read_file(REPORT);
	ASSERT_NE(said, NULL);
	EXPECT_TRUE(ctl_is_massif_file(said));
	free(said);
}

TEST_HARNESS_MAIN
