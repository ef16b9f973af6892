// SPDX-License-Identifier: GPL-2.0
// Tests massif-ctl doctor with the module loaded: for root, all checks pass; for other users, it says what is missing.

#include <grp.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"
#include "selftests/lib/kmod_session.h"

#define USER	1000

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

static void become_user(void)
{
	if (kmod_session_allow() || setgroups(0, NULL) || setgid(USER) || setuid(USER))
		_exit(98);
}

static const char *const doctor[] = { "massif-ctl", "doctor", "--mode=pages", NULL };

#define EXPECT_SAYS(words) EXPECT_NE(NULL, strstr(result.out, words)) { TH_LOG("%s", result.out); }

TEST_F_TIMEOUT(doctor, all_is_well, SECONDS)
{
	ctl_run(&result, NULL, NULL, doctor);
	EXPECT_EQ(0, ctl_exit_code(&result));
	EXPECT_SAYS("massif.ko " MASSIF_VERSION " is loaded\n");
	EXPECT_SAYS("/dev/massif is root:");
	EXPECT_SAYS(" 0660, and this user may open it\n");
	EXPECT_SAYS("hooks are armed and tested\n");
	EXPECT_SAYS("-> mmap_region: ");
	EXPECT_SAYS(", fired in a test\n");
	/* A tracepoint's arguments are checked only if the kernel provides type information (BTF). */
	if (!access("/sys/kernel/btf/vmlinux", R_OK)) {
		EXPECT_SAYS("-> sched_process_exec: tracepoint, arguments as expected\n");
	} else {
		EXPECT_SAYS("-> sched_process_exec: tracepoint\n");
	}
	EXPECT_SAYS("  ok    trial          a program was profiled\n");
	EXPECT_SAYS("This mode works.\n");
	EXPECT_EQ(NULL, strstr(result.out, "NO "));
	EXPECT_STREQ("", result.err);
	ctl_result_free(&result);
}

TEST_F_TIMEOUT(doctor, a_user_may_not_open_it, SECONDS)
{
	CTL_NEEDS_USER(USER);
	ctl_run(&result, NULL, become_user, doctor);
	EXPECT_EQ(1, ctl_exit_code(&result));
	EXPECT_SAYS("  NO    device         /dev/massif is root:");
	EXPECT_SAYS("and this user may not open it: Permission denied\n");
	EXPECT_SAYS("-> run massif-ctl as root; or ");
	EXPECT_SAYS("  -     session ");
	EXPECT_SAYS("This mode does not work.\n");
	ctl_result_free(&result);
}

TEST_F_TIMEOUT(doctor, a_user_may_do_less, SECONDS)
{
	struct stat st;

	CTL_NEEDS_USER(USER);
	ASSERT_EQ(0, stat("/dev/massif", &st));
	ASSERT_EQ(0, chmod("/dev/massif", 0666));
	ctl_run(&result, NULL, become_user, doctor);
	EXPECT_EQ(0, chmod("/dev/massif", st.st_mode & 0777));
	EXPECT_EQ(0, ctl_exit_code(&result)) {
		TH_LOG("%s", result.out);
	}
	EXPECT_SAYS("  note  rights         this user may profile the programs that it starts, and attach to");
	EXPECT_SAYS("  ok    trial          a program was profiled\n");
	ctl_result_free(&result);
}

TEST_HARNESS_MAIN
