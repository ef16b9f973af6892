// SPDX-License-Identifier: GPL-2.0
// massif-ctl notices when a process's address space is gone, without keeping a descriptor open in that process.

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"
#include "selftests/lib/refuse_call.h"

#define ARGS(...) ((const char *const[]){ __VA_ARGS__, NULL })

FIXTURE(space) {
	struct ctl_result result, alone;
	char target[4096];
};

FIXTURE_SETUP(space)
{
	ctl_remove_files("massif.out");
	unsetenv("MASSIF_OPTS");
	snprintf(self->target, sizeof(self->target), "%s", ctl_target("heap_space"));
}

FIXTURE_TEARDOWN(space)
{
	ctl_result_free(&self->result);
	ctl_result_free(&self->alone);
	ctl_remove_files("massif.out");
}

static void refuse_inotify(void)
{
	if (refuse_call(SYS_inotify_init1, 0, 0))
		_exit(97);
}

static void refuse_watches(void)
{
	if (refuse_call(SYS_inotify_add_watch, 0, 0))
		_exit(97);
}

/* Makes madvise(MADV_DONTFORK) fail, so that the shim cannot use the shared page that massif-ctl passes to it. */
static void refuse_advice(void)
{
	if (refuse_call(SYS_madvise, 2, MADV_DONTFORK))
		_exit(97);
}

/* If massif-ctl has no inotify watches, it polls the processes. The results are the same. */
FIXTURE_VARIANT(space) {
	void (*before)(void);
};

FIXTURE_VARIANT_ADD(space, watched) { NULL };
FIXTURE_VARIANT_ADD(space, without_inotify) { refuse_inotify };
FIXTURE_VARIANT_ADD(space, without_watches) { refuse_watches };
FIXTURE_VARIANT_ADD(space, without_mappings) { refuse_advice };

static const char *const traces[] = { "--trace-children=no", "--trace-children=yes" };

/* Each process has the same open descriptors as without massif, and each process that is profiled writes a file. */
TEST_F_TIMEOUT(space, descriptors, 60)
{
	static const struct {
		const char *way;
		size_t files[2];
	} ways[] = {
		{ "leaf", { 1, 1 } }, { "executed", { 1, 1 } }, { "forked", { 2, 2 } }, { "forked_twice", { 3, 3 } },
		{ "forked_low", { 3, 3 } }, { "forked_executed", { 1, 2 } },
	};

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		ctl_run(&self->alone, NULL, variant->before, ARGS(self->target, ways[i].way));
		EXPECT_EQ(3, ctl_exit_code(&self->alone));
		for (size_t j = 0; j < 2; j++) {
			TH_LOG("%s %s", ways[i].way, traces[j]);
			ctl_run(&self->result, NULL, variant->before,
				ARGS("massif-ctl", "-q", traces[j], "--massif-out-file=massif.out.%p", self->target,
				     ways[i].way));
			EXPECT_EQ(3, ctl_exit_code(&self->result));
			EXPECT_STREQ(self->alone.out, self->result.out);
			EXPECT_EQ(ways[i].files[j], ctl_find_files("massif.out.", NULL));
			ctl_remove_files("massif.out.");
			ctl_result_free(&self->result);
		}
		ctl_result_free(&self->alone);
	}
}

/*
 * A process executes a program that cannot be profiled. It uses a system call that the shim does not see, so the exec
 * is not announced to massif-ctl. No file is written for the program, and massif-ctl says so.
 */
TEST_F_TIMEOUT(space, unannounced, 60)
{
	static const char *const ways[] = { "forked_bare", "newborn_bare", "leaderless_bare", "executed_bare" };
	char path[4096];

	snprintf(path, sizeof(path), "%s", ctl_target("ctl_static_waits"));
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		for (size_t j = 0; j < 2; j++) {
			/*
			 * With "executed_bare", the child first executes an intermediate program, which then executes
			 * the static one. Without --trace-children, the intermediate program is not profiled.
			 */
			bool follows = j || i < 3;

			TH_LOG("%s %s", ways[i], traces[j]);
			ctl_run(&self->result, NULL, variant->before,
				ARGS("massif-ctl", "-v", traces[j], "--massif-out-file=massif.out.%p", self->target,
				     ways[i], path));
			EXPECT_EQ(0, ctl_exit_code(&self->result));
			EXPECT_EQ(1, ctl_find_files("massif.out.", NULL));
			if (follows)
				EXPECT_NE(NULL, strstr(self->result.err, "executed a program that heap mode cannot "
									 "profile; no file is written"));
			ctl_remove_files("massif.out.");
			ctl_result_free(&self->result);
		}
	}
}

/* Many programs run at the same time, and each ends almost immediately: each still writes a file. */
TEST_F_TIMEOUT(space, short_programs, 120)
{
	static const char script[] = "for i in 1 2 3; do for j in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do\n"
				     "\"$0\" leaf & \"$0\" leaf & done; wait; done >/dev/null";
	char name[256];
	size_t n = 0;

	ctl_run(&self->result, NULL, variant->before,
		ARGS("massif-ctl", "-q", "--trace-children=yes", "--massif-out-file=massif.out.%p", "/bin/sh", "-c",
		     script, self->target));
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ("", self->result.err);
	while (ctl_find_files("massif.out.", name)) {
		char *text = ctl_read_file(name);

		EXPECT_TRUE(ctl_is_massif_file(text));
		n += strstr(text, " leaf\ntime_unit") != NULL;
		free(text);
		unlink(name);
	}
	EXPECT_EQ(120, n);
}

TEST_HARNESS_MAIN
