// SPDX-License-Identifier: GPL-2.0
// Programs with resource limits that also apply to the session's memory: address space, data, and locked memory.

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"

FIXTURE(limits) {
	struct ctl_result alone, result;
	char *text;
};

FIXTURE_SETUP(limits)
{
	ctl_remove_files("massif.out");
	unsetenv("MASSIF_OPTS");
}

FIXTURE_TEARDOWN(limits)
{
	ctl_remove_files("massif.out");
	ctl_result_free(&self->alone);
	ctl_result_free(&self->result);
	free(self->text);
}

static void run_both(struct _test_data_limits *self, void (*before)(void), const char *trace,
		     const char *what)
{
	const char *target = ctl_target("heap_limits");

	ctl_run(&self->alone, NULL, before, (const char *const[]){ target, what, NULL });
	ctl_run(&self->result, NULL, before,
		(const char *const[]){ "massif-ctl", "-q", "--time-unit=B", trace,
				       "--massif-out-file=massif.out.%p", target, what, NULL });
}

/* Compares the runs. The one with massif has left @files profiles. */
static void compare(struct __test_metadata *_metadata, struct _test_data_limits *self, size_t files)
{
	char name[256];

	EXPECT_EQ(3, ctl_exit_code(&self->alone));
	EXPECT_EQ(3, ctl_exit_code(&self->result));
	EXPECT_STREQ(self->alone.out, self->result.out);
	EXPECT_STREQ("", self->result.err);
	EXPECT_EQ(NULL, strstr(self->alone.out, "no block")) {
		TH_LOG("%s", self->alone.out);
	}
	EXPECT_EQ(files, ctl_find_files("massif.out", NULL));
	while (ctl_find_files("massif.out", name)) {
		free(self->text);
		self->text = ctl_read_file(name);
		ASSERT_NE(NULL, self->text);
		EXPECT_TRUE(ctl_is_massif_file(self->text));
		unlink(name);
	}
}

/* The program can allocate as much as its own limit allows, and programs that it executes see that limit. */
TEST_F(limits, of_its_own)
{
	run_both(self, NULL, "--trace-children=no", "address_space");
	compare(_metadata, self, 1);
}

/* Addresses that the kernel refuses are refused; one address may be that of the new limit and of the old one. */
TEST_F(limits, at_odd_addresses)
{
	run_both(self, NULL, "--trace-children=no", "addresses");
	compare(_metadata, self, 1);
}

TEST_F(limits, of_what_it_spawns)
{
	run_both(self, NULL, "--trace-children=no", "spawned");
	compare(_metadata, self, 1);
}

TEST_F(limits, of_a_child_that_shares_its_memory)
{
	run_both(self, NULL, "--trace-children=no", "of_vfork");
	compare(_metadata, self, 1);
}

/* Only the initial stack can grow, and need do so before an exec. */
TEST_F(limits, of_what_a_coroutine_executes)
{
	run_both(self, NULL, "--trace-children=no", "execute_on_small_stack");
	compare(_metadata, self, 1);
}

/* An exec that fails does not limit other threads meanwhile. */
TEST_F(limits, of_a_thread_while_another_executes)
{
	run_both(self, NULL, "--trace-children=no", "execute_beside_thread");
	compare(_metadata, self, 1);
}

/* After an exec, the session of the new program is created with a size that fits the limit. */
TEST_F(limits, of_what_it_executes)
{
	run_both(self, NULL, "--trace-children=yes", "address_space");
	compare(_metadata, self, 3);
}

/*
 * Limits the address space to 2 GiB. The limit is meant to keep the session small, so that the machine does not run out
 * of memory if all of the session's memory is locked by mistake.
 */
static void limit_address_space(void)
{
	const struct rlimit limit = { 2u << 30, 2u << 30 }, lock = { RLIM_INFINITY, RLIM_INFINITY };

	setrlimit(RLIMIT_AS, &limit);
	setrlimit(RLIMIT_MEMLOCK, &lock);
}

static void lock(struct __test_metadata *_metadata, struct _test_data_limits *self, void (*prepare)(void),
		 const char *what)
{
	run_both(self, prepare, "--trace-children=no", what);
	if (ctl_exit_code(&self->alone) == 4)
		SKIP(return, "this user may not lock so much memory");
	compare(_metadata, self, 1);
}

/* mlockall() must not make the kernel allocate all pages of the session's memory, most of which are never used. */
TEST_F(limits, locked_memory)
{
	lock(_metadata, self, limit_address_space, "locked");
}

TEST_F(limits, locked_memory_is_refused)
{
	lock(_metadata, self, NULL, "lock_refused");
}

TEST_F(limits, locked_memory_without_descriptors)
{
	lock(_metadata, self, NULL, "lock_without_descriptors");
}

TEST_F(limits, locked_memory_while_another_thread_unmaps)
{
	lock(_metadata, self, NULL, "lock_while_unmapping");
}

FIXTURE(room) {
	struct ctl_result alone, result;
};

/*
 * Who sets the resource limit: the program itself, or its parent. The parent sets either the soft limit alone or both
 * limits. If the hard limit is higher than the soft limit, the shim raises the soft limit.
 */
enum who {
	PROGRAM,
	PARENT_SOFT,
	PARENT,
};

FIXTURE_VARIANT(room) {
	const char *resource, *threads, *mib;
	enum who who;
	/* KiB that the program can allocate only without massif, because the shim cannot raise the limit */
	unsigned int less;
};

FIXTURE_VARIANT_ADD(room, of_addresses) { "as", "0", "64" };
FIXTURE_VARIANT_ADD(room, of_addresses_64_threads) { "as", "64", "64" };
FIXTURE_VARIANT_ADD(room, of_addresses_65_threads) { "as", "65", "64" };
FIXTURE_VARIANT_ADD(room, of_addresses_640_threads) { "as", "640", "64" };
FIXTURE_VARIANT_ADD(room, of_addresses_of_its_parents) { "as", "65", "512", PARENT_SOFT };
/*
 * The session takes up a quarter of the address space if the limit is 4096 MiB, and half of it if the limit is 1024
 * MiB.
 */
FIXTURE_VARIANT_ADD(room, of_many_addresses_that_cannot_be_raised) { "as", "65", "4096", PARENT, 1024 * 1024 };
FIXTURE_VARIANT_ADD(room, of_addresses_that_cannot_be_raised) { "as", "65", "1024", PARENT, 512 * 1024 };
FIXTURE_VARIANT_ADD(room, of_data) { "data", "0", "64" };
FIXTURE_VARIANT_ADD(room, of_data_64_threads) { "data", "64", "64" };
FIXTURE_VARIANT_ADD(room, of_data_65_threads) { "data", "65", "64" };
FIXTURE_VARIANT_ADD(room, of_data_640_threads) { "data", "640", "64" };
FIXTURE_VARIANT_ADD(room, of_data_of_its_parents) { "data", "65", "64", PARENT_SOFT };
FIXTURE_VARIANT_ADD(room, of_data_that_cannot_be_raised) { "data", "65", "64", PARENT, 1024 };
FIXTURE_VARIANT_ADD(room, of_locked_memory) { "memlock", "0", "4" };
FIXTURE_VARIANT_ADD(room, of_locked_memory_65_threads) { "memlock", "65", "4" };
FIXTURE_VARIANT_ADD(room, of_locked_memory_300_threads) { "memlock", "300", "8" };

FIXTURE_SETUP(room)
{
	unsetenv("MASSIF_OPTS");
}

FIXTURE_TEARDOWN(room)
{
	ctl_result_free(&self->alone);
	ctl_result_free(&self->result);
	ctl_remove_files("massif.out");
}

static int resource_of_parent;
static uint64_t bytes_of_parent;
static bool is_hard;

static void limit_child(void)
{
	struct rlimit limit;

	if (!bytes_of_parent || getrlimit(resource_of_parent, &limit))
		return;
	limit.rlim_cur = bytes_of_parent;
	if (is_hard)
		limit.rlim_max = bytes_of_parent;
	setrlimit(resource_of_parent, &limit);
}

/* The program can use as much memory as without massif, to within 1 %, and sees the same limits. */
TEST_F_TIMEOUT(room, is_what_it_is_alone, 60)
{
	const char *target = ctl_target("heap_limits");
	const char *mib = variant->who == PROGRAM ? variant->mib : NULL;
	unsigned long alone, with;

	resource_of_parent = strcmp(variant->resource, "as") ? RLIMIT_DATA : RLIMIT_AS;
	bytes_of_parent = mib ? 0 : strtoull(variant->mib, NULL, 10) << 20;
	is_hard = variant->who == PARENT;
	ctl_run(&self->alone, NULL, limit_child,
		(const char *const[]){ target, "room", variant->resource, variant->threads, mib, NULL });
	ctl_run(&self->result, NULL, limit_child,
		(const char *const[]){ "massif-ctl", "-q", "--time-unit=B", "--massif-out-file=massif.out.%p", target,
				       "room", variant->resource, variant->threads, mib, NULL });
	if (ctl_exit_code(&self->alone) == 90)
		SKIP(return, "this user's limits are lower than %s MiB", variant->mib);
	EXPECT_EQ(3, ctl_exit_code(&self->alone)) {
		TH_LOG("%s", self->alone.out);
	}
	EXPECT_EQ(3, ctl_exit_code(&self->result)) {
		TH_LOG("%s%s", self->result.out, self->result.err);
	}
	EXPECT_STREQ("", self->result.err);
	EXPECT_EQ(1, ctl_find_files("massif.out", NULL));
	alone = ctl_number(self->alone.out, "room ");
	with = ctl_number(self->result.out, "room ");
	EXPECT_LT(1000, alone);
	EXPECT_GE(alone + alone / 100, with);
	EXPECT_LE(alone, with + alone / 100 + variant->less) {
		TH_LOG("%lu KiB alone, %lu", alone, with);
	}
	EXPECT_STREQ(ctl_last(self->alone.out, "limits "), ctl_last(self->result.out, "limits "));
}

TEST_HARNESS_MAIN
