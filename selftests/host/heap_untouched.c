// SPDX-License-Identifier: GPL-2.0
// The shim does not change the program's own state. Each target checks its state, both alone and under massif-ctl with
// every option that makes the shim work differently.

#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"

#define WORDS 6

static const struct {
	const char *target;
	const char *arguments[WORDS];
	const char *said; /* messages of massif-ctl in addition to the program's own output; NULL: none */
} programs[] = {
	{ "untouched_errno", { NULL } },
	{ "untouched_errno", { "no_memory" }, "the profile is incomplete" },
	{ "untouched_fp", { NULL } },
	{ "untouched_names", { NULL } },
	{ "untouched_tsc", { NULL } },
	{ "untouched_calls", { "alone" } },
	{ "untouched_calls", { "threads" } },
	{ "untouched_calls", { "crowd" } },
	{ "untouched_calls", { "load" } },
	{ "untouched_calls", { "fork" }, "3 children are not profiled" },
	{ "untouched_calls", { "exec" } },
	{ "untouched_calls", { "fork_limited" }, "3 children are not profiled" },
	{ "untouched_calls", { "exec_limited" } },
	{ "untouched_calls", { "limits" } },
	{ "untouched_calls", { "lock" } },
	{ "untouched_calls", { "vfork" }, "profile of process" },
	{ "untouched_calls", { "strict" } },
	{ "untouched_calls", { "waits_kill" } },
	{ "untouched_calls", { "waits_fail" } },
	{ "untouched_calls_bare", { "alone" } },
	{ "untouched_calls_bare", { "strict" } },
	{ "untouched_linker", { "callback" } },
	{ "untouched_linker", { "child" }, "profile of process" },
	{ "untouched_linker", { "operator" } },
};

/* Sets of massif-ctl options that each target is run with; a set has at most two options. */
static const char *const modes[][2] = {
	{ "--time-unit=ms" },
	{ "--time-unit=B" },
	{ "--time-unit=B", "--peak-inaccuracy=0.3" },
	{ "--stacks=yes" },
	{ "--ignore-fn=nobody" },
	{ "--xtree-memory=full", "--xtree-memory-file=/dev/null" },
	{ "--heap-extra=real" },
	{ "--trace-children=yes" },
	{ "--heap=no", "--stacks=yes" },
};

FIXTURE(untouched) {
	struct ctl_result alone, profiled;
};

FIXTURE_SETUP(untouched)
{
}

FIXTURE_TEARDOWN(untouched)
{
	ctl_remove_files("massif.out");
}

/* Returns whether the program was profiled. If it was, the file has more than one snapshot. */
static bool is_profile(void)
{
	char *text = ctl_read_file("massif.out.untouched");
	bool ret = text && ctl_is_massif_file(text) && strstr(text, "snapshot=1\n");

	free(text);
	return ret;
}

/* Returns whether @text equals the output of the program alone, plus the expected messages. */
static bool is_said(const char *text, const char *alone, const char *more)
{
	return more ? strstr(text, more) != NULL : !strcmp(text, alone);
}

TEST_F_TIMEOUT(untouched, as_alone, 600)
{
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		const char *argv[WORDS + 8] = { "massif-ctl", "-q",
						"--massif-out-file=massif.out.untouched" };

		argv[5] = ctl_target(programs[i].target);
		memcpy(argv + 6, programs[i].arguments, sizeof(programs[i].arguments));
		ctl_run(&self->alone, NULL, NULL, argv + 5);
		EXPECT_EQ(0, ctl_exit_code(&self->alone)) {
			TH_LOG("%s: %s", programs[i].target, self->alone.err);
		}
		for (size_t k = 0; k < ARRAY_SIZE(modes); k++) {
			argv[3] = modes[k][0];
			argv[4] = modes[k][1] ?: "--depth=30";
			ctl_run(&self->profiled, NULL, NULL, argv);
			EXPECT_TRUE(self->alone.status == self->profiled.status &&
				    !strcmp(self->alone.out, self->profiled.out) &&
				    is_said(self->profiled.err, self->alone.err, programs[i].said) &&
				    is_profile()) {
				TH_LOG("%s %s, %s %s: status %x\n%s%s", programs[i].target,
				       programs[i].arguments[0] ?: "", argv[3], argv[4],
				       self->profiled.status, self->profiled.out,
				       self->profiled.err);
			}
			ctl_result_free(&self->profiled);
			ctl_remove_files("massif.out");
		}
		ctl_result_free(&self->alone);
	}
}

static void set_preload(void)
{
	setenv("LD_PRELOAD", "libm.so.6", 1);
	setenv("AFTER", "that", 1);
}

static void set_preloads(void)
{
	setenv("LD_PRELOAD", "libm.so.6:libdl.so.2", 1);
	setenv("AFTER", "that", 1);
}

static void unset_preload(void)
{
	unsetenv("LD_PRELOAD");
}

/*
 * Checks that the argument and environment strings, the array of pointers to them, and the data that the kernel put
 * after it are unchanged.
 */
TEST_F(untouched, environment)
{
	static void (*const befores[])(void) = { unset_preload, set_preload, set_preloads };

	for (size_t i = 0; i < ARRAY_SIZE(befores); i++) {
		const char *argv[] = { "massif-ctl", "-q", "--massif-out-file=massif.out.untouched",
				       ctl_target("untouched_environ"), "one", "", "three", NULL };

		ctl_run(&self->alone, NULL, befores[i], argv + 3);
		ctl_run(&self->profiled, NULL, befores[i], argv);
		EXPECT_EQ(0, ctl_exit_code(&self->alone));
		EXPECT_EQ(0, ctl_exit_code(&self->profiled));
		EXPECT_STREQ(self->alone.out, self->profiled.out);
		EXPECT_STREQ("", self->profiled.err);
		EXPECT_TRUE(is_profile());
		ctl_result_free(&self->alone);
		ctl_result_free(&self->profiled);
	}
}

TEST_HARNESS_MAIN
