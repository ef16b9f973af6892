// SPDX-License-Identifier: GPL-2.0
// Checks that replaying the records reproduces /proc/PID/maps and total_vm exactly, whatever a program does.
#include <stdio.h>
#include <stdlib.h>

#include "kselftest_harness.h"
#include "selftests/lib/torture_run.h"

FIXTURE(accounting)
{
	struct torture_run run;
};

FIXTURE_SETUP(accounting)
{
	ASSERT_EQ(0, torture_run_open(&self->run));
}

FIXTURE_TEARDOWN(accounting)
{
	torture_run_close(&self->run);
}

FIXTURE_VARIANT(accounting)
{
	char *words[8];		/* arguments of torture */
	int saved;		/* number of exits and execs at which torture saves /proc/self/maps */
	uint64_t moments;	/* minimum number of times that torture must save /proc/self/maps while it runs */
	uint64_t totals;	/* minimum number of records whose total_vm must have been compared with the model */
};

#define VARIANT(name, ...) FIXTURE_VARIANT_ADD(accounting, name) { __VA_ARGS__ }

VARIANT(alone_1,	{ "1", "1500" },				1, 8, 1500);
VARIANT(alone_2,	{ "2", "1500" },				1, 8, 1500);
VARIANT(fork,		{ "4", "500", "fork" },				2, 9, 800);
VARIANT(vfork,		{ "5", "300", "vfork" },			1, 8, 400);
VARIANT(storm,		{ "16", "100", "storm" },			73, 8, 3000);
VARIANT(exec,		{ "6", "300", "exec" },				3, 24, 1000);
VARIANT(exec_by_thread,	{ "17", "200", "exec-by-thread" },		3, 24, 600);
VARIANT(threads_1,	{ "7", "500", "threads=1" },			1, 12, 1000);
VARIANT(threads_2,	{ "7", "500", "threads=2" },			1, 12, 1500);
VARIANT(threads_4,	{ "8", "500", "threads=4" },			1, 12, 1500);
VARIANT(threads_8,	{ "9", "400", "threads=8" },			1, 12, 2000);
VARIANT(threads_fork,	{ "10", "80", "threads=4", "storm" },		89, 12, 3000);
VARIANT(share,		{ "11", "200", "share" },			2, 10, 1500);
VARIANT(traced,		{ "12", "200", "traced" },			2, 8, 500);
VARIANT(killed,		{ "13", "100", "killed" },			1, 8, 300);
VARIANT(everything,	{ "9", "200", "threads=4", "fork", "vfork", "share", "exec" },
									9, 45, 2000);

TEST_F_TIMEOUT(accounting, replays_exactly, 250)
{
	char *argv[12] = { torture_run_program("torture") };
	int i;

	for (i = 0; i < 8; i++)
		argv[i + 1] = variant->words[i];
	ASSERT_EQ(0, torture_run(&self->run, argv, 240 * 1000));
	EXPECT_TRUE(torture_run_exact(&self->run)) TH_LOG("%s", self->run.wrong);
	EXPECT_EQ(variant->saved, self->run.saved);
	EXPECT_LE(variant->moments, self->run.moments);
	EXPECT_LE(variant->totals, self->run.totals);
	fprintf(stderr, "# %llu totals, %llu moments, %llu ends\n",
		(unsigned long long)self->run.totals, (unsigned long long)self->run.moments,
		(unsigned long long)self->run.saved);
}

FIXTURE(program)
{
	struct torture_run run;
};

FIXTURE_SETUP(program)
{
	ASSERT_EQ(0, torture_run_open(&self->run));
}

FIXTURE_TEARDOWN(program)
{
	torture_run_close(&self->run);
}

TEST_F_TIMEOUT(program, bin_true, 60)
{
	char *argv[] = { "/bin/true", NULL };

	ASSERT_EQ(0, torture_run(&self->run, argv, 50 * 1000));
	EXPECT_TRUE(torture_run_exact(&self->run)) TH_LOG("%s", self->run.wrong);
	EXPECT_LE(12, self->run.totals);
}

/*
 * Unlike torture, torture_i386 does not record how often it copies /proc/self/maps to a file, so the test sets the
 * counts that torture_run_exact() expects. The program makes seven copies while it runs, and its child makes one. Each
 * of the two also makes a copy when it exits.
 */
TEST_F_TIMEOUT(program, of_32_bits, 120)
{
	char *argv[] = { torture_run_program("torture_i386"), NULL };
	int status = torture_run(&self->run, argv, 100 * 1000);

	if (status == 127 << 8)
		SKIP(return, "this kernel does not run 32-bit programs");
	ASSERT_EQ(0, status);
	self->run.counts = (struct torture_counts){ .spaces = 1, .saved = 2, .moments = 8 };
	EXPECT_TRUE(torture_run_exact(&self->run)) TH_LOG("%s", self->run.wrong);
	EXPECT_EQ(8, self->run.moments);
	EXPECT_LE(1500, self->run.totals);
	fprintf(stderr, "# %llu totals\n", (unsigned long long)self->run.totals);
}

TEST_HARNESS_MAIN
