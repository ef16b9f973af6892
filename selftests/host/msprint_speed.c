// SPDX-License-Identifier: GPL-2.0
// For a 100 MB file, our ms_print prints the same output as Valgrind's (the reference), and is at least 30 times as
// fast.

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/ctl_run.h"
#include "selftests/lib/msprint_oracle.h"

#define SIZE	     (100 * 1000 * 1000)
#define TIMES_FASTER 30
#define RUNS	     6 /* of ours, for one of the reference: the times of short runs vary more; the fastest counts */
#define ROUNDS	     2 /* of which the better one counts, because the machine is shared */

static const char separator[] = "#-----------\nsnapshot=";

/* Profiles perl, the interpreter that runs Valgrind's ms_print, on a small script. */
static char *make_real_profile(void)
{
	struct ctl_result result;

	CTL_RUN(&result, "massif-ctl", "--time-unit=B", "--massif-out-file=real.out", "perl",
		"-MPOSIX", "-MFile::Find", "-e",
		"my %h; for (1 .. 3000) { $h{$_} = [1 .. $_ % 50]; }");
	ctl_result_free(&result);
	return ctl_read_file("real.out");
}

/*
 * Appends a copy of the snapshot at @from. The copy gets the number @number and a time later than that of every
 * lower-numbered snapshot.
 */
static void write_snapshot(FILE *file, const char *from, const char *end, unsigned long number)
{
	const char *time = strstr(from, "\ntime=");
	const char *rest = time ? strchr(time + 1, '\n') : NULL;

	if (!rest || rest > end)
		abort();
	fprintf(file, "%s%lu\n#-----------\ntime=%lu%.*s", separator, number, number * 1000,
		(int)(end - rest), rest);
}

/* Writes @profile to @path, repeating its snapshots until the file is at least SIZE bytes long. */
static bool write_large(const char *path, const char *profile)
{
	const char *first = strstr(profile, separator);
	FILE *file = fopen(path, "w");
	unsigned long number = 0;

	if (!first || !file)
		return false;
	fprintf(file, "%.*s", (int)(first - profile), profile);
	for (const char *at = first, *next; ftell(file) < SIZE; at = *next ? next : first) {
		next = strstr(at + 1, separator);
		if (!next)
			next = at + strlen(at);
		write_snapshot(file, at, next, number++);
	}
	return fclose(file) == 0;
}

/* Returns the CPU time of one run in seconds; wall-clock time would depend on other users of the machine. */
static double run_once(const char *program, const char *path)
{
	struct rusage usage;
	int status, null;
	pid_t pid;

	pid = fork();
	if (!pid) {
		null = open("/dev/null", O_WRONLY);
		dup2(null, STDOUT_FILENO);
		execl(program, program, path, NULL);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid || status)
		abort();
	return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* Returns how many times as fast ours is as the reference, and prints both times. */
static double compare_once(const char *path)
{
	double ours = run_once(msprint_ours(), path), reference, now;

	/* Some runs before and some after, because the speed of a machine changes. */
	for (int i = 0; i < RUNS / 2 - 1; i++) {
		now = run_once(msprint_ours(), path);
		ours = now < ours ? now : ours;
	}
	reference = run_once(MSPRINT_REFERENCE, path);
	for (int i = 0; i < RUNS / 2; i++) {
		now = run_once(msprint_ours(), path);
		ours = now < ours ? now : ours;
	}
	printf("# ours %.3f s, reference %.3f s: %.1f times as fast\n", ours, reference, reference / ours);
	fflush(stdout);
	return reference / ours;
}

/*
 * This fixture is empty. It exists only because a time limit can be set for a test with a fixture, but not for a plain
 * TEST().
 */
FIXTURE(speed) {
};

FIXTURE_SETUP(speed)
{
}

FIXTURE_TEARDOWN(speed)
{
}

TEST_F_TIMEOUT(speed, large_file, 560)
{
	static const char path[] = "large.out";
	const char *const args[] = { path, NULL };
	double times = 0;
	char *profile;

	if (msprint_missing())
		SKIP(return, "%s", msprint_missing());
	profile = make_real_profile();
	ASSERT_NE(profile, NULL);
	ASSERT_TRUE(write_large(path, profile));
	free(profile);
	EXPECT_TRUE(msprint_same(args, NULL));
	for (int i = 0; i < ROUNDS; i++) {
		double now = compare_once(path);

		times = now > times ? now : times;
	}
	EXPECT_LE(TIMES_FASTER, times);
	unlink(path);
}

TEST_HARNESS_MAIN
