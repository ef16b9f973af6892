// SPDX-License-Identifier: GPL-2.0
// The suggestions that massif-ctl prints at the end of a run.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"

#define OUT "--massif-out-file=h.out"

FIXTURE(hints) {
	struct ctl_result result;
};

FIXTURE_SETUP(hints)
{
}

FIXTURE_TEARDOWN(hints)
{
	ctl_result_free(&self->result);
	ctl_remove_files("h.out");
}

#define RUN(...) do {						\
	ctl_result_free(&self->result);				\
	CTL_RUN(&self->result, "massif-ctl", OUT, __VA_ARGS__);	\
} while (0)

#define UNMATCHED(option) \
	"massif-ctl: " option ": no function of this name allocated anything; names are as in the report, C++ " \
	"functions with their arguments\n"

#define EXPECT_SAYS(says, words) do {						\
	EXPECT_EQ(says, strstr(self->result.err, words) != NULL) {		\
		TH_LOG("%s", self->result.err);					\
	}									\
} while (0)

/* The functions of the target program are leaf, inner and main; malloc is a built-in allocation function. */
TEST_F(hints, names_that_match_nothing)
{
	RUN("--time-unit=B", "--alloc-fn=inner", "--alloc-fn=no_such", "--ignore-fn=none_such",
	    ctl_target("ctl_hints"));
	EXPECT_SAYS(true, UNMATCHED("--alloc-fn=no_such"));
	EXPECT_SAYS(true, UNMATCHED("--ignore-fn=none_such"));
	EXPECT_SAYS(false, "--alloc-fn=inner:");
	RUN("--time-unit=B", "--ignore-fn=inner", "--alloc-fn=leaf", ctl_target("ctl_hints"));
	EXPECT_SAYS(false, "no function of this name");
	/* main allocates only through other functions, so --alloc-fn=main matches nothing. */
	RUN("--time-unit=B", "--alloc-fn=main", ctl_target("ctl_hints"));
	EXPECT_SAYS(true, UNMATCHED("--alloc-fn=main"));
	RUN("-q", "--time-unit=B", "--alloc-fn=no_such", ctl_target("ctl_hints"));
	EXPECT_STREQ("", self->result.err);
}

/*
 * Tests different numbers of --alloc-fn options that match no function: the number that massif-ctl prints individually,
 * one more than that, and ten times as many.
 */
TEST_F(hints, many_names_that_match_nothing)
{
	static const struct {
		size_t given;
		/* the line that counts the --alloc-fn names not printed individually; NULL: there is no such line */
		const char *rest;
	} cases[] = {
		{ 5, NULL },
		{ 6, "massif-ctl: the same applies to 1 more --alloc-fn\n" },
		{ 50, "massif-ctl: the same applies to 45 more --alloc-fn\n" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *argv[64] = { "massif-ctl", OUT, "--time-unit=B" };
		char words[50][32];
		size_t n = 3, lines = 0;

		for (size_t j = 0; j < cases[i].given; j++) {
			snprintf(words[j], sizeof(words[j]), "--alloc-fn=no_%zu", j);
			argv[n++] = words[j];
		}
		argv[n++] = "true";
		ctl_result_free(&self->result);
		ctl_run(&self->result, NULL, NULL, argv);
		for (const char *at = self->result.err; (at = strstr(at, "no function of this name")); at++)
			lines++;
		EXPECT_EQ(5, lines);
		if (cases[i].rest) {
			EXPECT_SAYS(true, cases[i].rest);
		} else {
			EXPECT_SAYS(false, "the same applies");
		}
	}
}

/*
 * If milliseconds are the default time unit, a hint is printed for a short run, which occupies a single column of the
 * graph. No hint is printed if --time-unit is given or the run is longer.
 */
TEST_F(hints, short_run)
{
	static const char hint[] = "massif-ctl: the run was short; --time-unit=B spreads the snapshots";

	if (!access("/proc/sys/kernel/perf_event_paranoid", R_OK)) {
		RUN("-v", "true");
		if (!strstr(self->result.err, "time is in ms"))
			SKIP(return, "time is in instructions here");
	}
	/* On a busy machine, even this program can run for longer. */
	for (int i = 0; i < 20 && !(self->result.err && strstr(self->result.err, hint)); i++)
		RUN("true");
	EXPECT_SAYS(true, hint);
	RUN("sleep", "0.2");
	EXPECT_SAYS(false, hint);
	RUN("--time-unit=ms", "true");
	EXPECT_SAYS(false, hint);
	RUN("--time-unit=B", "true");
	EXPECT_SAYS(false, hint);
}

/*
 * The hint is printed if most of the memory is used by programs that a script has started. It is not printed if most of
 * it is used by the script itself or by its forked children, because those have profiles.
 */
TEST_F(hints, programs_that_start_others)
{
	static const char hint[] = "massif-ctl: programs that this one started used most of the memory; "
				   "--trace-children=yes profiles them, too\n";
	static const char large[] = "perl -e '$x = q(x) x 50000000'";
	char script[256];

	snprintf(script, sizeof(script), "%s; :", large);
	RUN("--time-unit=B", "sh", "-c", script);
	EXPECT_SAYS(true, hint);
	RUN("--time-unit=B", "--trace-children=yes", "sh", "-c", script);
	EXPECT_SAYS(false, hint);
	RUN("-q", "--time-unit=B", "sh", "-c", script);
	EXPECT_SAYS(false, hint);
	RUN("--time-unit=B", "perl", "-e", "$x = q(x) x 50000000; system 'true'");
	EXPECT_SAYS(false, hint);
	RUN("--time-unit=B", "perl", "-e", "fork or do { $x = q(x) x 50000000; exit }; wait");
	EXPECT_SAYS(false, hint);
}

TEST_HARNESS_MAIN
