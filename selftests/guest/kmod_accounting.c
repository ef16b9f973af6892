// SPDX-License-Identifier: GPL-2.0
// Checks that replaying the records reproduces /proc/PID/maps and total_vm exactly, whatever a program does.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "selftests/lib/kmod_model.h"
#include "selftests/lib/kmod_session.h"
#include "selftests/lib/torture_run.h"

#define PAGE	4096ul
#define REMOVED	1024	/* REMOVED_MAX in kmod/mapping.c */

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

FIXTURE(removal)
{
	struct kmod_session session;
	struct kmod_model model;
	bool announced;		/* the kernel has a function that removes mappings for mmap as well as for munmap */
	int unsure;		/* number of UNMAP records without a total */
	int resyncs;		/* number of resyncs after a loss */
};

FIXTURE_VARIANT(removal)
{
	int mappings;		/* number of mappings that are removed at once, twice */
};

FIXTURE_VARIANT_ADD(removal, at_the_limit) { REMOVED };
FIXTURE_VARIANT_ADD(removal, of_one_more) { REMOVED + 1 };
FIXTURE_VARIANT_ADD(removal, of_ten_times_as_many) { 10 * REMOVED };

FIXTURE_SETUP(removal)
{
	struct massif_hook_info hook = { .size = sizeof(hook) };

	kmod_model_init(&self->model);
	ASSERT_EQ(0, kmod_session_open(&self->session, 16 << 20, 0));
	while (!ioctl(self->session.fd, MASSIF_IOC_HOOK, &hook)) {
		self->announced |= !strcmp(hook.name, "vms_complete_munmap_vmas");
		hook.index++;
	}
}

FIXTURE_TEARDOWN(removal)
{
	kmod_session_close(&self->session);
	kmod_model_destroy(&self->model);
}

/* Makes @count mappings that cannot be merged. Returns the address of the first. */
static char *map_many(int count)
{
	char *at = mmap(NULL, count * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < count; i += 2)
		if (mmap(at + i * PAGE, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
			return NULL;
	return at;
}

static int remove_many(void *arg)
{
	int count = *(int *)arg;
	char *at = map_many(count);

	if (!at || munmap(at, count * PAGE))
		return errno;
	at = map_many(count);
	if (!at || mmap(at, count * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != at)
		return errno;
	/* An ordinary change, whose total is known again. */
	return munmap(at, PAGE) ? errno : 0;
}

static int note_removal(const struct massif_record *rec, void *arg)
{
	const struct massif_rec_resync *resync = (const void *)rec;
	FIXTURE_DATA(removal) *self = arg;

	if (rec->type == MASSIF_REC_UNMAP && rec->flags & MASSIF_RF_NO_TOTAL)
		self->unsure++;
	if (rec->type == MASSIF_REC_RESYNC_BEGIN && resync->reason == MASSIF_RESYNC_LOST &&
	    resync->part & MASSIF_RESYNC_FIRST)
		self->resyncs++;
	return kmod_model_apply(rec, &self->model);
}

/*
 * On kernels that announce a removal, the module counts the mapped pages of the range before they are removed, but only
 * if the range does not have too many mappings. Otherwise a resync follows.
 */
TEST_F_TIMEOUT(removal, of_many_mappings, 120)
{
	int unsure = self->announced && variant->mappings > REMOVED ? 2 : 0, mappings = variant->mappings, status;
	pid_t pid = kmod_session_call(&self->session, remove_many, &mappings);

	ASSERT_LT(0, pid);
	ASSERT_EQ(0, kmod_session_drain(&self->session, 100 * 1000, note_removal, self));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(unsure, self->unsure);
	EXPECT_EQ(unsure, self->resyncs);
	EXPECT_EQ(0, self->model.lost);
	EXPECT_EQ(0, self->model.wrong) {
		TH_LOG("%s", self->model.first_wrong);
	}
	EXPECT_LT(mappings, self->model.targets[0].compared);
}

TEST_HARNESS_MAIN
