// SPDX-License-Identifier: GPL-2.0
// Checks that the records account exactly for rare operations, each tested in its own run, and for a sequence of random
// operations, which can have any length.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/torture_run.h"

#define MAP_COUNT	"/proc/sys/vm/max_map_count"
#define HUGE_PAGES	"/proc/sys/vm/nr_hugepages"

static int read_number(const char *path)
{
	char text[32] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int got = read(fd, text, sizeof(text) - 1);

	close(fd);
	return got > 0 ? atoi(text) : -errno;
}

static void write_number(const char *path, int number)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	dprintf(fd, "%d\n", number);
	close(fd);
}

FIXTURE(torture)
{
	struct torture_run run;
	int map_count;
};

FIXTURE_VARIANT(torture)
{
	char *op;		/* operation that must be executed, unless the kernel lacks it */
	char *words[4];		/* arguments of torture */
	int map_count;		/* setting of vm.max_map_count; 0: unchanged */
	int huge_pages;
};

FIXTURE_SETUP(torture)
{
	ASSERT_EQ(0, torture_run_open(&self->run));
	self->map_count = read_number(MAP_COUNT);
	ASSERT_LT(0, self->map_count);
	if (variant->map_count)
		write_number(MAP_COUNT, variant->map_count);
	if (variant->huge_pages)
		write_number(HUGE_PAGES, variant->huge_pages);
}

FIXTURE_TEARDOWN(torture)
{
	write_number(MAP_COUNT, self->map_count);
	if (variant->huge_pages)
		write_number(HUGE_PAGES, 0);
	torture_run_close(&self->run);
}

#define OP(name, op, words, ...) \
	FIXTURE_VARIANT_ADD(torture, name) { op, { "21", words }, __VA_ARGS__ }

OP(userfaultfd,		"fill-faults",		"200");
OP(slow_unmap,		"slow-unmap",		"40");
OP(memfd,		"map-memfd",		"300",	.huge_pages = 8);
OP(refused_by_file,	"refused-by-file",	"300");
OP(huge_pages,		"map-huge",		"300",	.huge_pages = 8);
OP(perf,		"map-perf",		"200");
OP(mseal,		"seal",			"200");
OP(process_madvise,	"advise-process",	"200");
OP(limits,		"at-the-limit",		"200");
OP(max_map_count,	"too-many",		"60",	.map_count = 350);
OP(pr_set_mm,		"move-marks",		"200");
OP(io_uring,		"use-uring",		"60");
OP(own_stacks,		"grow-own-stack",	"300");
OP(main_stack,		"cut-stack",		"300");
/* The module lists the mappings while other threads unmap, so totals must be consistent even then. */
FIXTURE_VARIANT_ADD(torture, remap_many) { "remap-many", { "21", "200", "only=remap-many", "threads=3" } };
FIXTURE_VARIANT_ADD(torture, vdso) { "vdso", { "22", "20", "vdso" } };
FIXTURE_VARIANT_ADD(torture, uprobe) { "uprobe", { "23", "20", "uprobe" } };

TEST_F_TIMEOUT(torture, op, 120)
{
	char only[64], *argv[8] = { torture_run_program("torture") };
	const typeof(self->run.counts.ops[0]) *op;
	int i;

	for (i = 0; i < 4; i++)
		argv[i + 1] = variant->words[i];
	snprintf(only, sizeof(only), "only=%s", variant->op);
	if (!argv[3])
		argv[3] = only;
	ASSERT_EQ(0, torture_run(&self->run, argv, 100 * 1000));
	EXPECT_TRUE(torture_run_exact(&self->run)) TH_LOG("%s", self->run.wrong);
	op = torture_run_op(&self->run, variant->op);
	ASSERT_NE(NULL, op);
	EXPECT_LT(0, op->ran);
	EXPECT_LE(8, self->run.moments);
	fprintf(stderr, "# %llu times, %llu totals, %llu moments\n", (unsigned long long)op->ran,
		(unsigned long long)self->run.totals, (unsigned long long)self->run.moments);
	if (op->refused == op->ran)
		SKIP(return, "this kernel cannot do %s: %s", variant->op, strerror(op->error));
	EXPECT_EQ(0, op->refused) TH_LOG("%s: %s", variant->op, strerror(op->error));
}

FIXTURE(long)
{
	struct torture_run run;
};

FIXTURE_SETUP(long)
{
	ASSERT_EQ(0, torture_run_open(&self->run));
}

FIXTURE_TEARDOWN(long)
{
	torture_run_close(&self->run);
}

/*
 * The first thread of torture executes 2.5 * STEPS operations, and the other two threads execute STEPS operations each.
 */
TEST_F_TIMEOUT(long, random_operations, 36000)
{
	const char *wanted = getenv("MASSIF_TORTURE");
	unsigned long n = wanted ? strtoul(wanted, NULL, 10) : 6000;
	unsigned long long ran = 0;
	char steps[24], *argv[] = { torture_run_program("torture"), "31", steps, "threads=2", NULL };
	size_t i;

	snprintf(steps, sizeof(steps), "%lu", n * 2 / 9 + 16);
	ASSERT_EQ(0, torture_run(&self->run, argv, 35000 * 1000));
	EXPECT_TRUE(torture_run_exact(&self->run)) TH_LOG("%s", self->run.wrong);
	for (i = 0; i < TORTURE_OPS; i++)
		ran += self->run.counts.ops[i].ran;
	EXPECT_LE(n, ran);
	fprintf(stderr, "# %llu operations, %llu totals, %llu moments\n", ran,
		(unsigned long long)self->run.totals, (unsigned long long)self->run.moments);
}

TEST_HARNESS_MAIN
