// SPDX-License-Identifier: GPL-2.0
// In pages mode, if a process's mapped memory is at its maximum when the process ends, the recorded peak equals that
// maximum, no matter how the process ends.

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"
#include "selftests/lib/massif_text.h"

#define FILE_PREFIX "massif.out.e"
#define BYTES	    300000000ul
#define SECONDS	    200

FIXTURE(ends) {
	struct ctl_result result;
};

FIXTURE_SETUP(ends)
{
	ctl_remove_files("massif.out");
}

FIXTURE_TEARDOWN(ends)
{
	ctl_remove_files("massif.out");
}

FIXTURE_VARIANT(ends) {
	const char *how;
	int code; /* expected exit status, as returned by ctl_exit_code() */
	/*
	 * true if the peak may precede the process's end, because the C library maps a thread's arena at twice its size
	 * and then unmaps half of it
	 */
	bool has_more_before;
};

#define ROW(name, ...) FIXTURE_VARIANT_ADD(ends, name) { __VA_ARGS__ }

ROW(return, "return", 3);
ROW(exit_now, "_exit", 3);
ROW(quick_exit, "quick_exit", 3);
ROW(abort, "abort", 128 + SIGABRT);
ROW(sigterm, "sigterm", 128 + SIGTERM);
ROW(sigsegv, "sigsegv", 128 + SIGSEGV);
ROW(sigkill, "sigkill", 128 + SIGKILL);
ROW(last_thread, "pthread_exit", 0, true);
ROW(child_return, "child:return", 0);
ROW(child_exit_now, "child:_exit", 0);
ROW(child_abort, "child:abort", 0);
ROW(child_sigkill, "child:sigkill", 0);

/* Returns the contents of the file with the largest peak. The caller must free them. */
static char *largest(void)
{
	char name[256], *found = NULL;

	while (ctl_find_files(FILE_PREFIX, name)) {
		char *text = ctl_read_file(name);

		unlink(name);
		if (found && massif_text_peak(found) > massif_text_peak(text)) {
			free(text);
			continue;
		}
		free(found);
		found = text;
	}
	return found;
}

/* Each block is so large that the C library creates a mapping just for it. */
TEST_F_TIMEOUT(ends, as_the_peak, SECONDS)
{
	static const char *const units[] = { "--time-unit=B", "--time-unit=ms" };

	for (size_t i = 0; i < 2; i++) {
		const char *tree;
		char *text;

		CTL_RUN(&self->result, "massif-ctl", "--pages-as-heap=yes", units[i], "--max-snapshots=10",
			"--massif-out-file=" FILE_PREFIX ".%p", ctl_target("ends"), variant->how, "50",
			"300");
		EXPECT_EQ(variant->code, ctl_exit_code(&self->result));
		EXPECT_NE(NULL, strstr(self->result.err, " held at the end; wrote " FILE_PREFIX));
		text = largest();
		ASSERT_NE(NULL, text);
		EXPECT_TRUE(ctl_is_massif_file(text));
		EXPECT_LE(BYTES, massif_text_peak(text));
		tree = strstr(text, "heap_tree=peak\n");
		ASSERT_NE(NULL, tree);
		if (!variant->has_more_before)
			EXPECT_EQ(ctl_last(text, "heap_tree="), tree + strlen("heap_tree="));
		EXPECT_NE(NULL, strstr(tree, ": burst (ends.c:"));
		free(text);
		ctl_result_free(&self->result);
	}
}

/* With --end-snapshot=yes, the output files of a shell and of its forked children all end with a detailed snapshot. */
TEST(with_a_tree)
{
	struct ctl_result result;
	char name[256];
	size_t n = 0;

	ctl_remove_files("massif.out");
	CTL_RUN(&result, "massif-ctl", "-q", "--pages-as-heap=yes", "--end-snapshot=yes",
		"--detailed-freq=1000", "--massif-out-file=" FILE_PREFIX ".%p", "sh", "-c",
		"(:); (exit 3); exit 5");
	EXPECT_EQ(5, ctl_exit_code(&result));
	for (; ctl_find_files(FILE_PREFIX, name); n++) {
		char *text = ctl_read_file(name);

		unlink(name);
		ASSERT_NE(NULL, text);
		EXPECT_EQ(NULL, strstr(ctl_last(text, "heap_tree="), "empty\n"));
		free(text);
	}
	EXPECT_LE(2, n);
	ctl_result_free(&result);
}

TEST_HARNESS_MAIN
