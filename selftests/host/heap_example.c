// SPDX-License-Identifier: GPL-2.0
// The usual example for heap profilers: massif-ctl's file equals Massif's byte for byte, and both versions of ms_print
// print the same output for both files.

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"
#include "selftests/lib/massif_text.h"

#define VALGRIND       "/usr/bin/valgrind"
#define THEIR_MS_PRINT "/usr/bin/ms_print"

FIXTURE(example) {
	char *ours, *theirs;
	char our_ms_print[4096];
};

FIXTURE_SETUP(example)
{
	const char *build = getenv("MASSIF_BUILD");

	snprintf(self->our_ms_print, sizeof(self->our_ms_print), "%s/ms_print",
		 build ? build : "build");
}

FIXTURE_TEARDOWN(example)
{
	ctl_remove_files("massif.out");
	free(self->ours);
	free(self->theirs);
}

FIXTURE_VARIANT(example) {
	const char *option;
};

FIXTURE_VARIANT_ADD(example, plain) { "--time-unit=B" };
FIXTURE_VARIANT_ADD(example, every_detail) { "--detailed-freq=1" };
FIXTURE_VARIANT_ADD(example, no_threshold) { "--threshold=0" };
FIXTURE_VARIANT_ADD(example, few_snapshots) { "--max-snapshots=10" };
FIXTURE_VARIANT_ADD(example, shallow) { "--depth=1" };
FIXTURE_VARIANT_ADD(example, no_admin) { "--heap-admin=0" };

static bool run(struct _test_data_example *self, const char *option)
{
	struct ctl_result result;
	bool fine;

	CTL_RUN(&result, VALGRIND, "-q", "--tool=massif", "--time-unit=B", option,
		"--massif-out-file=massif.out.theirs", ctl_target("heap_example"));
	fine = ctl_exit_code(&result) == 0;
	ctl_result_free(&result);
	CTL_RUN(&result, "massif-ctl", "-q", "--time-unit=B", option,
		"--massif-out-file=massif.out.ours", ctl_target("heap_example"));
	fine = fine && ctl_exit_code(&result) == 0 && !*result.err;
	ctl_result_free(&result);
	self->ours = ctl_read_file("massif.out.ours");
	self->theirs = ctl_read_file("massif.out.theirs");
	return fine && self->ours && self->theirs;
}

TEST_F(example, file)
{
	char *ours, *theirs;

	if (access(VALGRIND, X_OK))
		SKIP(return, "valgrind is not installed");
	ASSERT_TRUE(run(self, variant->option));
	ours = massif_text_normalise(self->ours);
	theirs = massif_text_normalise(self->theirs);
	EXPECT_NE(NULL, strstr(ours, "heap_tree=peak"));
	EXPECT_STREQ(theirs, ours);
	free(ours);
	free(theirs);
}

TEST_F(example, report)
{
	static const char *const files[] = { "massif.out.ours", "massif.out.theirs" };
	struct ctl_result ours, theirs;

	if (access(VALGRIND, X_OK) || access(THEIR_MS_PRINT, X_OK))
		SKIP(return, "valgrind and its ms_print are not installed");
	ASSERT_TRUE(run(self, variant->option));
	for (int i = 0; i < 2; i++) {
		CTL_RUN(&ours, self->our_ms_print, files[i]);
		CTL_RUN(&theirs, THEIR_MS_PRINT, files[i]);
		EXPECT_EQ(0, ctl_exit_code(&ours));
		EXPECT_NE(NULL, strstr(ours.out, "useful-heap(B)"));
		EXPECT_STREQ(theirs.out, ours.out);
		ctl_result_free(&ours);
		ctl_result_free(&theirs);
	}
}

TEST_HARNESS_MAIN
