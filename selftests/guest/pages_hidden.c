// SPDX-License-Identifier: GPL-2.0
// Stacks are complete and have symbol names even if they contain frames from files that cannot be found at their path,
// because the files were deleted or replaced or are in another mount namespace.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/ctl_run.h"

#define REPORT "hidden.out"

FIXTURE(hidden)
{
	struct ctl_result result;
	char *report;
};

FIXTURE_VARIANT(hidden)
{
	const char *how;
};

FIXTURE_VARIANT_ADD(hidden, deleted){"deleted"};
FIXTURE_VARIANT_ADD(hidden, replaced){"replaced"};
FIXTURE_VARIANT_ADD(hidden, another_namespace){"namespace"};

FIXTURE_SETUP(hidden)
{
	memset(self, 0, sizeof(*self));
	unlink(REPORT);
}

FIXTURE_TEARDOWN(hidden)
{
	ctl_result_free(&self->result);
	free(self->report);
}

/* Returns the next line after @line in the tree, or NULL if there is none. */
static const char *below(const char *line)
{
	const char *next = strchr(line, '\n');

	return next && strchr(next, 'n') ? next + 1 : NULL;
}

TEST_F_TIMEOUT(hidden, is_unwound_through, 60)
{
	static const char *const chain[] = {"map (pages_hidden.c:", "call_in_a (libpages_code_a.c:",
					    "library_call (libpages_code_a.c:", "map_through (pages_hidden.c:",
					    "main (pages_hidden.c:"};
	const char *line;

	CTL_RUN(&self->result, "massif-ctl", "--pages-as-heap", "--detailed-freq=1",
		"--threshold=0", "--time-unit=B", "--massif-out-file=" REPORT,
		ctl_target("pages_hidden"), variant->how);
	EXPECT_EQ(ctl_exit_code(&self->result), 0) {
		TH_LOG("%s", self->result.err);
	}
	self->report = ctl_read_file(REPORT);
	ASSERT_NE(self->report, NULL);
	line = strstr(self->report, ": map (pages_hidden.c:");
	ASSERT_NE(line, NULL);
	for (size_t i = 0; i < sizeof(chain) / sizeof(chain[0]); i++) {
		ASSERT_NE(line, NULL);
		EXPECT_NE(memmem(line, strcspn(line, "\n"), chain[i], strlen(chain[i])), NULL) {
			TH_LOG("%zu: %.*s", i, (int)strcspn(line, "\n"), line);
		}
		line = below(line);
	}
	EXPECT_EQ(strstr(self->report, "no unwind information"), NULL);
	EXPECT_EQ(strstr(self->report, "a guess"), NULL);
}

TEST_HARNESS_MAIN
