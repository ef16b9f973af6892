// SPDX-License-Identifier: GPL-2.0
// Programs in another root directory, as in a container: with the shim's file there, they are profiled, and names come
// from the files there; without it, the user is told, and the program runs as without massif.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"
#include "selftests/lib/skip.h"

#define ROOT "chroot.tree"

/* Makes a root directory with a shell, and with what else is in $@, at the same paths as here. */
static const char make_tree[] =
	"set -e; rm -rf " ROOT "; mkdir -p " ROOT "/bin " ROOT "/proc\n"
	"for file in $(ldd /bin/sh | grep -o '/[^ ]*') \"$@\"; do\n"
	"mkdir -p " ROOT "$(dirname $file); cp -L $file " ROOT "$file; done\n"
	"cp -L /bin/sh " ROOT "/bin/massif-test-shell\n";

/* The command of the shell: it allocates, and does not need any file. */
#define COMMAND "a=12345678; for i in 1 2 3 4 5 6 7 8; do a=$a$a; done; echo ${#a}; exit 5"

FIXTURE(chroot)
{
	struct ctl_result made, result;
};

FIXTURE_SETUP(chroot)
{
	struct ctl_result allowed;

	ctl_remove_files("massif.out.");
	unsetenv("MASSIF_PRELOAD");
	CTL_RUN(&allowed, "unshare", "-Urm", "mount", "--rbind", "/proc", "/proc");
	ctl_result_free(&allowed);
	if (ctl_exit_code(&allowed))
		SKIP_SETUP("a user namespace is not permitted");
}

FIXTURE_TEARDOWN(chroot)
{
	struct ctl_result removed;

	CTL_RUN(&removed, "rm", "-rf", ROOT);
	ctl_result_free(&removed);
	ctl_result_free(&self->made);
	ctl_result_free(&self->result);
}

TEST_F(chroot, with_the_shim)
{
	char shim[4096], name[256];
	char *text = NULL;
	size_t found = 0;

	snprintf(shim, sizeof(shim), "%s/libmassif-preload.so", getenv("MASSIF_BUILD"));
	CTL_RUN(&self->made, "sh", "-c", make_tree, "sh", shim);
	ASSERT_EQ(0, ctl_exit_code(&self->made)) {
		TH_LOG("%s", self->made.err);
	}
	CTL_RUN(&self->result, "massif-ctl", "--trace-children=yes", "--time-unit=B", "unshare", "-Urm", "sh", "-c",
		"mount --rbind /proc " ROOT "/proc; exec chroot " ROOT " /bin/massif-test-shell -c '" COMMAND "'");
	EXPECT_EQ(5, ctl_exit_code(&self->result));
	EXPECT_STREQ("2048\n", self->result.out);
	EXPECT_EQ(NULL, strstr(self->result.err, "not profiled")) {
		TH_LOG("%s", self->result.err);
	}
	EXPECT_EQ(NULL, strstr(self->result.err, "ld.so"));
	/* The profile is here, and not there. */
	while (ctl_find_files("massif.out.", name) && !found) {
		free(text);
		text = ctl_read_file(name);
		ASSERT_NE(NULL, text);
		found = strstr(text, "cmd: /bin/massif-test-shell -c ") != NULL;
		if (!found)
			unlink(name);
	}
	EXPECT_EQ(1, found) {
		TH_LOG("%s", self->result.err);
	}
	EXPECT_NE(NULL, strstr(text, "(in ")) {
		TH_LOG("%s", text);
	}
	EXPECT_NE(NULL, strstr(text, ROOT "/bin/massif-test-shell"));
	free(text);
}

TEST_F(chroot, without_the_shim)
{
	const char *told;

	CTL_RUN(&self->made, "sh", "-c", make_tree, "sh");
	ASSERT_EQ(0, ctl_exit_code(&self->made)) {
		TH_LOG("%s", self->made.err);
	}
	CTL_RUN(&self->result, "massif-ctl", "--trace-children=yes", "--time-unit=B", "unshare", "-Ur", "chroot", ROOT,
		"/bin/massif-test-shell", "-c", COMMAND "; :");
	EXPECT_EQ(5, ctl_exit_code(&self->result));
	EXPECT_STREQ("2048\n", self->result.out);
	/* The dynamic linker has nothing to complain about. */
	EXPECT_EQ(NULL, strstr(self->result.err, "ld.so"));
	told = strstr(self->result.err, "executes programs in the root directory ");
	EXPECT_NE(NULL, told) {
		TH_LOG("%s", self->result.err);
	}
	EXPECT_NE(NULL, strstr(self->result.err, "/" ROOT ", which are not profiled"));
	EXPECT_EQ(NULL, told ? strstr(told + 1, "executes programs in the root directory ") : NULL);
}

/* The program is executed as soon as massif-ctl has looked, each time. Without an answer, it would wait for ten seconds. */
TEST_F(chroot, without_delay)
{
	time_t begun;

	CTL_RUN(&self->made, "sh", "-c", make_tree, "sh");
	ASSERT_EQ(0, ctl_exit_code(&self->made)) {
		TH_LOG("%s", self->made.err);
	}
	begun = time(NULL);
	CTL_RUN(&self->result, "massif-ctl", "--trace-children=yes", "--time-unit=B", "unshare", "-Ur", "sh", "-c",
		"for i in 1 2 3 4; do chroot " ROOT " /bin/massif-test-shell -c :; done; exit 5");
	EXPECT_EQ(5, ctl_exit_code(&self->result));
	EXPECT_GT(20, time(NULL) - begun);
}

#define PRIVATE "chroot.private"

/* Makes the shim's file unreachable, for root by becoming another user, and executes a program. */
static const char make_private[] =
	"chmod(0, '" PRIVATE "'); use POSIX; POSIX::setuid(65534) unless $<; exec '/bin/sh', '-c', '" COMMAND "'";

/* A shim that the program is not permitted to reach. */
TEST(unreachable)
{
	char *shim = NULL, *here = getcwd(NULL, 0);
	struct ctl_result made, result;

	CTL_RUN(&made, "sh", "-c", "rm -rf " PRIVATE "; mkdir " PRIVATE " && cp $MASSIF_BUILD/libmassif-preload.so " PRIVATE);
	ASSERT_EQ(0, ctl_exit_code(&made));
	ctl_result_free(&made);
	ASSERT_LT(0, asprintf(&shim, "%s/" PRIVATE "/libmassif-preload.so", here));
	setenv("MASSIF_PRELOAD", shim, 1);
	CTL_RUN(&result, "massif-ctl", "--trace-children=yes", "perl", "-e", make_private);
	EXPECT_EQ(5, ctl_exit_code(&result));
	EXPECT_STREQ("2048\n", result.out);
	EXPECT_EQ(NULL, strstr(result.err, "ld.so"));
	EXPECT_NE(NULL, strstr(result.err, " executes programs that are not profiled, because it cannot reach ")) {
		TH_LOG("%s", result.err);
	}
	EXPECT_NE(NULL, strstr(result.err, "libmassif-preload.so: Permission denied"));
	unsetenv("MASSIF_PRELOAD");
	ctl_result_free(&result);
	CTL_RUN(&made, "rm", "-rf", PRIVATE);
	ctl_result_free(&made);
	free(shim);
	free(here);
}

TEST_HARNESS_MAIN
