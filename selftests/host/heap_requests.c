// SPDX-License-Identifier: GPL-2.0
// Client requests in difficult situations (the program's registers and code, threads and signals, libraries that come
// and go, unwritable code), and blocks that are temporarily excluded.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"
#include "selftests/lib/refuse_call.h"

#define SNAPSHOT "heap_requests.snapshot"

FIXTURE(requests) {
	struct ctl_result result;
	char *text;
};

FIXTURE_SETUP(requests)
{
	ctl_remove_files("massif.out");
	unlink(SNAPSHOT);
}

FIXTURE_TEARDOWN(requests)
{
	ctl_result_free(&self->result);
	free(self->text);
	ctl_remove_files("massif.out");
	unlink(SNAPSHOT);
}

/*
 * Runs @target in such a way that every snapshot has a tree, so that the client requests in @target exercise as much of
 * massif's own code as possible.
 */
static void run(FIXTURE_DATA(requests) *self, void (*before)(void), const char *option,
		const char *target, const char *mode)
{
	char path[4096];
	const char *argv[] = { "massif-ctl", "-q", "--time-unit=B", "--detailed-freq=1",
			       "--threshold=0", "--massif-out-file=massif.out",
			       "--xtree-memory-file=xtmemory.ms", option, path, mode,
			       NULL };

	snprintf(path, sizeof(path), "%s", ctl_target(target));
	ctl_run(&self->result, NULL, before, argv);
	self->text = ctl_read_file("massif.out");
}

/* Returns mem_heap_B of the last snapshot in @text. */
static unsigned long long last_bytes(const char *text)
{
	const char *at = text, *last = NULL;

	while (at && (at = strstr(at, "mem_heap_B=")))
		last = at++;
	return last ? strtoull(last + strlen("mem_heap_B="), NULL, 10) : 0;
}

FIXTURE_VARIANT(requests) {
	const char *target;
};

FIXTURE_VARIANT_ADD(requests, usual) { "heap_requests" };
FIXTURE_VARIANT_ADD(requests, constants_among_code) { "heap_requests_mixed" };

#define RUN(before, option, mode)                                                         \
	do {                                                                              \
		run(self, before, option, variant->target, mode);                         \
		EXPECT_EQ(0, ctl_exit_code(&self->result));                               \
		EXPECT_STREQ("", self->result.out);                                       \
		ASSERT_NE(NULL, self->text);                                              \
	} while (0)

TEST_F(requests, registers_are_kept)
{
	RUN(NULL, "-q", "registers");
	EXPECT_STREQ("", self->result.err);
	EXPECT_EQ(0, access(SNAPSHOT, F_OK));
}

TEST_F(requests, at_the_end_of_a_page)
{
	RUN(NULL, "-q", "edges");
	/* The program declares twenty blocks of 1001 to 1020 bytes through client requests. */
	EXPECT_EQ(20210, last_bytes(self->text));
}

TEST_F(requests, constants_stay)
{
	RUN(NULL, "-q", "constants");
	EXPECT_NE(NULL, strstr(self->text, "n1: 1234 0x"));
}

TEST_F_TIMEOUT(requests, libraries_come_and_go, 120)
{
	RUN(NULL, "--max-snapshots=1000", "reload");
	/* All client requests were honoured, although the library that made them has been unmapped by now. */
	ASSERT_NE(NULL, strstr(self->text, "heap_requests_make"));
	EXPECT_STREQ("", self->result.err);
}

/* No client request is lost or counted twice. */
TEST_F_TIMEOUT(requests, threads_and_signals, 120)
{
	const char *at;
	char *text;
	int n = 0;

	RUN(NULL, "-q", "storm");
	EXPECT_STREQ("", self->result.err);
	text = ctl_read_file(SNAPSHOT);
	ASSERT_NE(NULL, text);
	EXPECT_NE(NULL, strstr(text, " n1: 12345 0x"));
	/*
	 * The client requests of churn() appear in the snapshot, but with 0 bytes, because all their blocks have been
	 * freed.
	 */
	for (at = text; (at = strstr(at, "churn (heap_requests.c")); at++) {
		const char *line = at;

		while (line > text && line[-1] != '\n')
			line--;
		/*
		 * Skip lines in which churn() is an outer frame: they belong to allocations by a signal handler that
		 * interrupted churn().
		 */
		if (line[1] == ' ')
			continue;
		EXPECT_EQ(0, strncmp(line, " n1: 0 0x", 9));
		n++;
	}
	EXPECT_EQ(2, n);
	EXPECT_NE(NULL, strstr(text, "on_signal (heap_requests.c"));
	free(text);
}

TEST_F(requests, new_blocks_can_be_left_out)
{
	char *text;

	run(self, NULL, "-q", variant->target, "stopped");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_NE(NULL, strstr(self->result.err, "'/dev/null/heap_requests'"));
	text = ctl_read_file(SNAPSHOT);
	ASSERT_NE(NULL, text);
	EXPECT_EQ(100000 + 60000 + 3000 + 500, last_bytes(text));
	free(text);
	EXPECT_EQ(100000 + 3000, last_bytes(self->text));
}

TEST_F(requests, code_can_be_left_alone)
{
	RUN(NULL, "--client-requests=no", "code");
	EXPECT_EQ(0, last_bytes(self->text));
	ctl_result_free(&self->result);
	free(self->text);
	/*
	 * Check that the target program can detect that its code has been patched for client requests. Otherwise, a
	 * report from it that its code is unpatched would prove nothing.
	 */
	run(self, NULL, "--client-requests=yes", variant->target, "code");
	EXPECT_EQ(1, ctl_exit_code(&self->result));
	EXPECT_EQ(77, last_bytes(self->text));
}

/*
 * Massif omits the innermost frame of every stack in an execution tree. For a client request, this frame is the
 * function that makes the request, so massif-ctl keeps it.
 */
TEST_F(requests, execution_trees_have_the_place)
{
	char *text;

	RUN(NULL, "--xtree-memory=allocs", "constants");
	text = ctl_read_file("xtmemory.ms");
	ctl_remove_files("xtmemory");
	ASSERT_NE(NULL, text);
	EXPECT_NE(NULL, strstr(text, "n1: 1234 0x"));
	EXPECT_NE(NULL, strstr(text, ": constants (heap_requests.c"));
	free(text);
}

/* From here on, attempts to make code writable fail. */
static void refuse(void)
{
	if (refuse_call(SYS_mprotect, 2, PROT_WRITE | PROT_EXEC))
		_exit(97);
}

TEST_F(requests, code_that_may_not_be_written)
{
	const char *said;

	RUN(refuse, "--depth=30", "code");
	EXPECT_EQ(0, last_bytes(self->text));
	said = strstr(self->result.err, "client requests are ignored, because the code could not be patched");
	ASSERT_NE(NULL, said);
	EXPECT_NE(NULL, strstr(said, "Permission denied"));
	EXPECT_EQ(NULL, strstr(said + 1, "client requests"));
}

/*
 * Preloads a library that is loaded after the shim. Its constructor makes a client request before any code of the
 * program itself runs.
 */
static void load_another(void)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s", ctl_target("libdiff_requests.so"));
	setenv("LD_PRELOAD", path, 1);
}

TEST_F(requests, before_anything_else)
{
	char *text;

	RUN(load_another, "-q", "nothing");
	text = ctl_read_file(SNAPSHOT);
	ASSERT_NE(NULL, text);
	EXPECT_NE(NULL, strstr(text, "n1: 777 0x"));
	free(text);
}

TEST_HARNESS_MAIN
