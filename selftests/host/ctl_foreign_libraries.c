// SPDX-License-Identifier: GPL-2.0
// massif-ctl is started with a library in LD_PRELOAD: the program runs with it, and massif-ctl itself without it. It can also
// be started by executing the dynamic linker.

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"

#define OUT "foreign.out"
/* Prints the parent's name, whether it has the library, whether the program has it, and the program's own variables. */
#define LOOK "cat /proc/$PPID/comm; for of in $PPID self; do grep -q libctl_shared /proc/$of/maps && echo yes || echo no; " \
	     "done; env | grep -e ^LD_PRELOAD -e ^MASSIF_LDP | sed 's,=.*/,=,'"

FIXTURE(foreign) {
	struct ctl_result result;
	char *file;
};

FIXTURE_SETUP(foreign)
{
	setenv("LD_PRELOAD", ctl_target("libctl_shared.so"), 1);
}

FIXTURE_TEARDOWN(foreign)
{
	unsetenv("LD_PRELOAD");
	ctl_remove_files("foreign.");
	free(self->file);
	ctl_result_free(&self->result);
}

TEST_F(foreign, libraries_are_the_programs)
{
	CTL_RUN(&self->result, "massif-ctl", "--massif-out-file=" OUT, "sh", "-c", LOOK);
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ("massif-ctl\nno\nyes\nLD_PRELOAD=libctl_shared.so\n", self->result.out);
}

/* Such a library cannot work in the confined processes that read names. */
TEST_F(foreign, libraries_do_not_disturb_names)
{
	/* In this unit, snapshots do not depend on the machine: at the last one, only the blocks of keep() are live. */
	CTL_RUN(&self->result, "massif-ctl", "--massif-out-file=" OUT, "--time-unit=B", "--detailed-freq=1",
		ctl_target("rss_shapes"), "fragments", "0");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_EQ(NULL, strstr(self->result.err, "no symbol names")) TH_LOG("%s", self->result.err);
	self->file = ctl_read_file(OUT);
	ASSERT_NE(NULL, self->file);
	EXPECT_NE(NULL, strstr(self->file, ": keep (rss_shapes.c:"));
}

/* The dynamic linker is executed, and loads massif-ctl: the shim is beside massif-ctl, and not beside the dynamic linker. */
TEST_F(foreign, linker_is_executed)
{
	unsetenv("LD_PRELOAD");
	setenv("XDG_CACHE_HOME", "/no-such-directory", 1);
	CTL_RUN(&self->result, "sh", "-c",
		"exec $(readelf -lW \"$0\" | sed -n 's/.*interpreter: \\(.*\\)].*/\\1/p') \"$0\" "
		"--massif-out-file=" OUT " --time-unit=B --detailed-freq=1 \"$1\" fragments 0",
		ctl_path(), ctl_target("rss_shapes"));
	EXPECT_EQ(0, ctl_exit_code(&self->result)) TH_LOG("%s", self->result.err);
	self->file = ctl_read_file(OUT);
	ASSERT_NE(NULL, self->file);
	EXPECT_NE(NULL, strstr(self->file, ": keep (rss_shapes.c:"));
}

TEST_HARNESS_MAIN
