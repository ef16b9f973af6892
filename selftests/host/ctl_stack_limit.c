// SPDX-License-Identifier: GPL-2.0
// A program with a low stack limit (ulimit -s) and its children are profiled, and their files contain symbol names,
// because massif-ctl, which has the same limit, switches to a larger stack.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"

FIXTURE(stack_limit) {
	struct ctl_result alone, result;
	char *text;
};

FIXTURE_VARIANT(stack_limit) {
	unsigned int kib;
};

/* With a lower limit, the kernel or the dynamic linker cannot start a shell. */
FIXTURE_VARIANT_ADD(stack_limit, of_256_kib) { 256 };
FIXTURE_VARIANT_ADD(stack_limit, of_64_kib) { 64 };
FIXTURE_VARIANT_ADD(stack_limit, of_32_kib) { 32 };

FIXTURE_SETUP(stack_limit)
{
	unsetenv("MASSIF_OPTS");
	ctl_remove_files("massif.out");
	ctl_remove_files("xtmemory");
}

FIXTURE_TEARDOWN(stack_limit)
{
	ctl_result_free(&self->alone);
	ctl_result_free(&self->result);
	free(self->text);
	ctl_remove_files("massif.out");
	ctl_remove_files("xtmemory");
}

static unsigned int kib;

static void limit_stack(void)
{
	const struct rlimit limit = { kib * 1024, kib * 1024 };

	setrlimit(RLIMIT_STACK, &limit);
}

TEST_F_TIMEOUT(stack_limit, is_no_obstacle, 120)
{
	char script[1024], name[256];
	int with_names = 0;

	kib = variant->kib;
	/* Two programs under test: a shell that forks and execs, and a C++ program with inlined calls. */
	snprintf(script, sizeof(script), "ulimit -s; (%s >/dev/null; exit 5); echo $?; ulimit -s",
		 ctl_target("heap_map"));
	ctl_run(&self->alone, NULL, limit_stack, (const char *const[]){ "/bin/sh", "-c", script, NULL });
	ctl_run(&self->result, NULL, limit_stack,
		(const char *const[]){ "massif-ctl", "-q", "--time-unit=B", "--trace-children=yes",
				       "--read-inline-info=yes", "--xtree-memory=full",
				       "--xtree-memory-file=xtmemory.%p", "--massif-out-file=massif.out.%p",
				       "/bin/sh", "-c", script, NULL });
	EXPECT_EQ(ctl_exit_code(&self->alone), ctl_exit_code(&self->result));
	EXPECT_STREQ(self->alone.out, self->result.out);
	EXPECT_STREQ("", self->result.err);
	/* Three processes write profiles: the shell, its subshell and the program. */
	EXPECT_EQ(3, ctl_find_files("massif.out", NULL));
	EXPECT_EQ(3, ctl_find_files("xtmemory", NULL));
	while (ctl_find_files("massif.out", name)) {
		free(self->text);
		self->text = ctl_read_file(name);
		ASSERT_NE(NULL, self->text);
		EXPECT_TRUE(ctl_is_massif_file(self->text));
		with_names += strstr(self->text, "(heap_map.cc:") != NULL;
		unlink(name);
	}
	EXPECT_EQ(1, with_names);
}

TEST_HARNESS_MAIN
