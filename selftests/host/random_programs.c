// SPDX-License-Identifier: GPL-2.0
/*
 * Random programs with random options under Valgrind's Massif and under massif-ctl: all snapshots, trees and
 * times are equal.
 *
 * MASSIF_RANDOM_SEED is the master seed, MASSIF_RANDOM_N the number of programs (default 200),
 * MASSIF_RANDOM_FIRST the number of the first program; `make check-random` sets them. If the results for a
 * program differ, both are kept in a directory named after its number.
 */

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/ctl_run.h"
#include "selftests/lib/diff_run.h"
#include "selftests/lib/random_case.h"

#define SEED	 20220412
#define PROGRAMS 200
#define BATCHES	 20
#define WORKERS	 2
/*
 * A time limit in seconds that is never reached. How long a batch takes depends on how many programs are requested, and
 * the test runner limits the total time.
 */
#define NO_LIMIT 1000000

static uint64_t setting(const char *name, uint64_t otherwise)
{
	const char *value = getenv(name);

	return value && *value ? strtoull(value, NULL, 0) : otherwise;
}

static bool is_equal(uint64_t seed, unsigned int number)
{
	struct random_case the;
	char directory[32];
	bool equal;

	random_case_make(&the, seed, number);
	snprintf(directory, sizeof(directory), "program-%u", number);
	if (mkdir(directory, 0755) || chdir(directory))
		return false;
	equal = diff_run(&the.scenario);
	if (equal) {
		ctl_remove_files("massif.out.");
		ctl_remove_files("log.");
	} else {
		fprintf(stderr, "# make check-random SEED=%" PRIu64 " FIRST=%u N=1\n", seed, number);
		random_case_print(&the, stderr);
	}
	if (chdir("..") || (equal && rmdir(directory)))
		return false;
	return equal;
}

/* Tests every WORKERS-th program; returns the number of programs whose file differs from Massif's. */
static int work(uint64_t seed, unsigned int number, unsigned int end)
{
	int different = 0;

	for (; number < end; number += WORKERS)
		different += !is_equal(seed, number);
	return different;
}

FIXTURE(random) {
	uint64_t seed;
	unsigned int first, end;
};

FIXTURE_VARIANT(random) {
	unsigned int batch;
};

FIXTURE_SETUP(random)
{
	uint64_t first = setting("MASSIF_RANDOM_FIRST", 0);
	uint64_t programs = setting("MASSIF_RANDOM_N", PROGRAMS);

	self->seed = setting("MASSIF_RANDOM_SEED", SEED);
	self->first = first + programs * variant->batch / BATCHES;
	self->end = first + programs * (variant->batch + 1) / BATCHES;
}

FIXTURE_TEARDOWN(random)
{
}

#define BATCH(n) FIXTURE_VARIANT_ADD(random, batch_##n) { .batch = n }

BATCH(0);
BATCH(1);
BATCH(2);
BATCH(3);
BATCH(4);
BATCH(5);
BATCH(6);
BATCH(7);
BATCH(8);
BATCH(9);
BATCH(10);
BATCH(11);
BATCH(12);
BATCH(13);
BATCH(14);
BATCH(15);
BATCH(16);
BATCH(17);
BATCH(18);
BATCH(19);

TEST_F_TIMEOUT(random, equal, NO_LIMIT)
{
	pid_t workers[WORKERS];
	int status;

	if (!diff_can_run())
		SKIP(return, "valgrind is not installed");
	for (int i = 0; i < WORKERS; i++) {
		workers[i] = fork();
		ASSERT_GE(workers[i], 0);
		if (!workers[i])
			_exit(work(self->seed, self->first + i, self->end));
	}
	for (int i = 0; i < WORKERS; i++) {
		ASSERT_EQ(waitpid(workers[i], &status, 0), workers[i]);
		EXPECT_EQ(status, 0);
	}
}

TEST_HARNESS_MAIN
