// SPDX-License-Identifier: GPL-2.0
// massif-ctl is killed with SIGKILL at an arbitrary moment. The program must behave as it does without massif-ctl, and
// must not be delayed.

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

#include "selftests/lib/ctl_run.h"

enum {
	SECONDS = 900,
	RUNS = 25,
	/*
	 * additional time that a program may take if massif-ctl is killed; less than the time for which a program waits
	 * if massif-ctl is running but does not answer
	 */
	SLACK_MS = 6000,
};

FIXTURE(orphan) {
	char *expected; /* expected output of the program */
	int duration_ms; /* how long the program runs if massif-ctl is not killed */
};

FIXTURE_SETUP(orphan)
{
	struct ctl_result result;

	/* Orphans become children of this process. */
	ASSERT_EQ(0, prctl(PR_SET_CHILD_SUBREAPER, 1));
	ctl_remove_files("massif.");
	ctl_remove_files("o.");
	CTL_RUN(&result, ctl_target("ctl_orphan"));
	ASSERT_EQ(7, ctl_exit_code(&result));
	self->expected = result.out;
	free(result.err);
}

FIXTURE_TEARDOWN(orphan)
{
	free(self->expected);
	ctl_remove_files("massif.");
	ctl_remove_files(".massif-");
	ctl_remove_files("o.");
}

static int now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int)(now.tv_sec * 1000 + now.tv_nsec / 1000000);
}

static void to_files(void)
{
	dup2(open("o.out", O_WRONLY | O_CREAT | O_TRUNC, 0666), STDOUT_FILENO);
	dup2(open("o.err", O_WRONLY | O_CREAT | O_TRUNC, 0666), STDERR_FILENO);
}

/*
 * Returns whether @pid, which has ended but has not been reaped, was the program rather than a helper process in which
 * massif-ctl reads files.
 */
static bool was_program(pid_t pid)
{
	char path[64], *name;
	bool was;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	name = ctl_read_file(path);
	was = name && !strcmp(name, "ctl_orphan\n");
	free(name);
	return was;
}

/* Reaps all remaining processes. Returns the status of the program. */
static int reap(pid_t ctl)
{
	siginfo_t ended = { 0 };
	int status, found = -1;

	while (!waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT)) {
		bool counts = ended.si_pid != ctl && was_program(ended.si_pid);

		waitpid(ended.si_pid, &status, 0);
		if (counts || (ended.si_pid == ctl && WIFEXITED(status)))
			found = status;
	}
	return found;
}

static const char *const options[][2] = {
	{ "-q", "-q" },
	{ "--ignore-fn=right", "-q" },
	{ "--trace-children=yes", "-q" },
	{ "--ignore-fn=right", "--trace-children=yes" },
	{ "--time-unit=ms", "--xtree-memory=full" },
	{ "--stacks=yes", "--trace-children=yes" },
};

#define N_OPTIONS (sizeof(options) / sizeof(options[0]))

/*
 * Runs the program and kills massif-ctl after @ms milliseconds, unless @ms is negative. Returns whether the program
 * ended just as it does without massif-ctl.
 */
static bool fares_well(struct __test_metadata *_metadata, FIXTURE_DATA(orphan) *self,
		       size_t which, int ms, int *duration_ms)
{
	const char *argv[] = { "massif-ctl", "--command-line-only=yes", "--time-unit=B", options[which][0],
			       options[which][1], ctl_target("ctl_orphan"), NULL };
	int begin = now_ms(), status;
	char *out;
	pid_t pid;
	bool fine;

	pid = ctl_start(to_files, argv);
	if (ms >= 0) {
		const struct timespec moment = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000l };

		nanosleep(&moment, NULL);
		kill(pid, SIGKILL);
	}
	status = reap(pid);
	*duration_ms = now_ms() - begin;
	out = ctl_read_file("o.out");
	fine = WIFEXITED(status) && WEXITSTATUS(status) == 7 && out && !strcmp(out, self->expected);
	/*
	 * The program's exit status is unavailable if massif-ctl is killed before it has started the program, or after
	 * it has reaped the program.
	 */
	if (ms >= 0 && status == -1)
		fine = out && (!*out || !strcmp(out, self->expected));
	if (!fine)
		TH_LOG("%s %s, killed after %d ms: status 0x%x, said \"%s\"", options[which][0],
		       options[which][1], ms, (unsigned int)status, out);
	free(out);
	ctl_remove_files("massif.");
	return fine;
}

static void at_any_moment(struct __test_metadata *_metadata, FIXTURE_DATA(orphan) *self, size_t which)
{
	int alone_ms, ms;

	ASSERT_TRUE(fares_well(_metadata, self, which, -1, &alone_ms));
	for (int i = 0; i < RUNS; i++) {
		ASSERT_TRUE(fares_well(_metadata, self, which, alone_ms * i / RUNS, &ms));
		EXPECT_GT(alone_ms + SLACK_MS, ms) {
			TH_LOG("%s %s, killed after %d of %d ms", options[which][0], options[which][1],
			       alone_ms * i / RUNS, alone_ms);
		}
	}
}

TEST_F_TIMEOUT(orphan, at_any_moment, SECONDS)
{
	for (size_t i = 0; i < N_OPTIONS; i++)
		at_any_moment(_metadata, self, i);
}

TEST_HARNESS_MAIN
