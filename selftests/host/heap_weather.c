// SPDX-License-Identifier: GPL-2.0
// Threads, thread cancellation, all kinds of children, libraries being loaded and unloaded, and signals, all at the
// same time. Nothing crashes or deadlocks, and the sums are correct. MASSIF_STORM is the duration in seconds.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"
#include "selftests/lib/massif_text.h"

#define SECONDS "6"

FIXTURE(weather) {
	struct ctl_result result;
};

FIXTURE_SETUP(weather)
{
	ctl_remove_files("massif.out.");
	ctl_remove_files("xt.");
}

FIXTURE_TEARDOWN(weather)
{
	ctl_result_free(&self->result);
}

FIXTURE_VARIANT(weather) {
	const char *option; /* an option for massif-ctl, in addition to those that all variants use */
};

FIXTURE_VARIANT_ADD(weather, as_usual) { "--depth=30" };
/* With --ignore-fn, massif-ctl filters every new stack. */
FIXTURE_VARIANT_ADD(weather, ignoring) { "--ignore-fn=nothing" };
FIXTURE_VARIANT_ADD(weather, following) { "--trace-children=yes" };
FIXTURE_VARIANT_ADD(weather, counting_frees) { "--xtree-memory=full" };

/* Returns whether any snapshot in the massif.out file @text has at least 1 GB of heap, but less than 2 GB. */
static bool is_large(const char *text)
{
	const char *at = text;

	while ((at = strstr(at, "\nmem_heap_B=1"))) {
		at += strlen("\nmem_heap_B=");
		if (strspn(at, "0123456789") == 10)
			return true;
	}
	return false;
}

TEST_F_TIMEOUT(weather, nothing_is_lost, 4000)
{
	const char *seconds = getenv("MASSIF_STORM");
	char name[256], other[300];
	size_t files = 0, summed = 0;
	unsigned long children = 0;

	CTL_RUN(&self->result, "massif-ctl", "-q", "--time-unit=B", "--detailed-freq=1", "--threshold=0",
		"--xtree-memory=allocs", "--xtree-memory-file=xt.%p", variant->option,
		ctl_target("heap_weather"), seconds ? seconds : SECONDS);
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ("", self->result.err);
	TH_LOG("%.*s", (int)strcspn(self->result.out, "\n"), self->result.out);
	EXPECT_EQ(1, sscanf(self->result.out, "%*u threads cancelled, %*u libraries loaded, %lu", &children));
	EXPECT_LT(0, children);
	while (ctl_find_files("massif.out.", name)) {
		char *text = ctl_read_file(name), *xtree;

		snprintf(other, sizeof(other), "xt.%s", name + strlen("massif.out."));
		xtree = ctl_read_file(other);
		ASSERT_NE(NULL, xtree);
		EXPECT_TRUE(ctl_is_massif_file(text));
		/*
		 * Find the processes that end by allocating 1 GiB, which triggers a final snapshot: the program itself,
		 * and any descendants that allocate after fork(). In their profiles, the final snapshot must agree with
		 * the execution tree.
		 */
		if (is_large(text)) {
			EXPECT_TRUE(massif_text_sums_agree(text, xtree)) {
				TH_LOG("%s", name);
			}
			summed++;
		}
		free(text);
		free(xtree);
		unlink(name);
		unlink(other);
		files++;
	}
	/*
	 * In each round, the target program creates seven children, one of which forks a grandchild. Four of these
	 * processes write a file: the child that allocates, the idle child, the child that forks, and the grandchild.
	 * The program itself writes a file, too.
	 */
	EXPECT_LE(children / 7 * 4 + 1, files);
	EXPECT_LE(children / 7 * 2 + 1, summed);
}

TEST_HARNESS_MAIN
