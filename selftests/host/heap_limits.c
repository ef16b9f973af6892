// SPDX-License-Identifier: GPL-2.0
// Programs that limit themselves, where the session takes what they have not: address space, and
// memory that they lock.

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

static void compare(struct __test_metadata *_metadata, struct _test_data_limits *self)
{
	char name[256];

	EXPECT_EQ(3, ctl_exit_code(&self->alone));
	EXPECT_EQ(3, ctl_exit_code(&self->result));
	EXPECT_STREQ(self->alone.out, self->result.out);
	EXPECT_STREQ("", self->result.err);
	EXPECT_EQ(NULL, strstr(self->alone.out, "no block")) {
		TH_LOG("%s", self->alone.out);
	}
	while (ctl_find_files("massif.out", name)) {
		free(self->text);
		self->text = ctl_read_file(name);
		ASSERT_NE(NULL, self->text);
		EXPECT_TRUE(ctl_is_massif_file(self->text));
		unlink(name);
	}
}

/* It has as much as it wanted, and what it executes finds the limit that it set. */
TEST_F(limits, of_its_own)
{
	run_both(self, NULL, "--trace-children=no", "address_space");
	EXPECT_EQ(1, ctl_find_files("massif.out", NULL));
	compare(_metadata, self);
}

/* There, profiles are as small as the limit. */
TEST_F(limits, of_what_it_executes)
{
	run_both(self, NULL, "--trace-children=yes", "address_space");
	EXPECT_EQ(3, ctl_find_files("massif.out", NULL));
	compare(_metadata, self);
}

/* So that the session, if it were locked, did not take all that there is. */
static void limit_address_space(void)
{
	const struct rlimit limit = { 2u << 30, 2u << 30 }, lock = { RLIM_INFINITY, RLIM_INFINITY };

	setrlimit(RLIMIT_AS, &limit);
	setrlimit(RLIMIT_MEMLOCK, &lock);
}

/* The session would be filled with pages, all of it. */
TEST_F(limits, locked_memory)
{
	run_both(self, limit_address_space, "--trace-children=no", "locked");
	if (ctl_exit_code(&self->alone) == 4)
		SKIP(return, "this user may not lock so much memory");
	compare(_metadata, self);
}

TEST_HARNESS_MAIN
