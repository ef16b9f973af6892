// SPDX-License-Identifier: GPL-2.0
// massif-ctl doctor without the module: heap mode works, pages mode does not, and the output says what to do.

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"


#define SECONDS 250 /* timeout of a test, long enough for slow debug kernels */

static struct ctl_result result;

FIXTURE(doctor) {
	int none;
};

FIXTURE_SETUP(doctor)
{
}

FIXTURE_TEARDOWN(doctor)
{
	ctl_result_free(&result);
}

#define EXPECT_SAYS(words) EXPECT_NE(NULL, strstr(result.out, words)) { TH_LOG("%s", result.out); }

TEST_F_TIMEOUT(doctor, heap_mode_is_well, SECONDS)
{
	CTL_RUN(&result, "massif-ctl", "doctor", "--mode=heap");
	EXPECT_EQ(0, ctl_exit_code(&result));
	EXPECT_EQ(result.out, strstr(result.out, "massif-ctl " MASSIF_VERSION ", Linux "));
	EXPECT_SAYS("/libmassif-preload.so\n");
	EXPECT_SAYS("  ok    preloading     a program was profiled\n");
	EXPECT_SAYS("  ok    names          debug information is read by processes without privileges\n");
	EXPECT_SAYS(" instructions ");
	EXPECT_SAYS("  This mode works.\n");
	EXPECT_EQ(NULL, strstr(result.out, "pages mode"));
	EXPECT_STREQ("", result.err);
	ctl_result_free(&result);
}

static void spoil_shim(void)
{
	setenv("MASSIF_PRELOAD", "/nonexistent/shim.so", 1);
}

static void have_another_shim(void)
{
	setenv("MASSIF_PRELOAD", "/bin/true", 1);
}

/*
 * `massif-ctl doctor' profiles a small program as a trial of heap mode. The trial fails if the file that MASSIF_PRELOAD
 * names is not the shim.
 */
TEST_F_TIMEOUT(doctor, heap_mode_is_not, SECONDS)
{
	static const char *const heap[] = { "massif-ctl", "doctor", "--mode=heap", NULL };

	ctl_run(&result, NULL, spoil_shim, heap);
	EXPECT_EQ(1, ctl_exit_code(&result));
	EXPECT_SAYS("  NO    shim           MASSIF_PRELOAD=/nonexistent/shim.so");
	EXPECT_SAYS("unset it or correct it\n");
	ctl_result_free(&result);
	ctl_run(&result, NULL, have_another_shim, heap);
	EXPECT_EQ(1, ctl_exit_code(&result));
	EXPECT_SAYS("  ok    shim ");
	EXPECT_SAYS("  NO    preloading     profiling a program failed: ");
	EXPECT_SAYS("  This mode does not work.\n");
	ctl_result_free(&result);
}

/* The line for a check consists of two spaces, the result, the name of the check, and an explanation. */
TEST_F_TIMEOUT(doctor, pages_mode_without_the_module, SECONDS)
{
	if (!access("/sys/module/massif", F_OK))
		SKIP(return, "the module is loaded here");
	CTL_RUN(&result, "massif-ctl", "doctor", "--mode=pages");
	EXPECT_EQ(1, ctl_exit_code(&result));
	EXPECT_SAYS("pages mode: ");
	EXPECT_SAYS("  NO    module         massif.ko is ");
	EXPECT_SAYS("massif.ko\n");
	EXPECT_SAYS(" lockdown ");
	EXPECT_SAYS(" secure boot ");
	EXPECT_SAYS("  -     session        needs the device\n");
	EXPECT_SAYS("  -     trial          needs all of the above\n");
	EXPECT_SAYS("  This mode does not work.\n");
	ctl_result_free(&result);
	/* massif-ctl doctor exits with status 1 if heap mode or pages mode (or both) does not work. */
	CTL_RUN(&result, "massif-ctl", "doctor");
	EXPECT_EQ(1, ctl_exit_code(&result));
	EXPECT_SAYS("heap mode: ");
	EXPECT_SAYS("pages mode: ");
	ctl_result_free(&result);
}

TEST_F_TIMEOUT(doctor, unknown_words, SECONDS)
{
	CTL_RUN(&result, "massif-ctl", "doctor", "--mode=brain");
	EXPECT_EQ(2, ctl_exit_code(&result));
	EXPECT_NE(NULL, strstr(result.err, "--mode=brain"));
	ctl_result_free(&result);
	CTL_RUN(&result, "massif-ctl", "doctor", "me");
	EXPECT_EQ(2, ctl_exit_code(&result));
	ctl_result_free(&result);
}

TEST_HARNESS_MAIN
