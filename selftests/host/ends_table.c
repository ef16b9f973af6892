// SPDX-License-Identifier: GPL-2.0
// If a process uses the most memory when it ends, its end must be recorded as the peak, with a tree and the correct
// time, in every time unit and however the process ends.
//
// The program first allocates and frees small blocks for a while, so that snapshots become infrequent; it then
// allocates 300 MB between two snapshots.

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/counter_broker.h"
#include "selftests/lib/ctl_run.h"
#include "selftests/lib/massif_text.h"

#define FILE_PREFIX "massif.out.e"
#define CHURN_MS    400
#define TICK_MS     10 /* the longest possible tick of the kernel's clock, with CONFIG_HZ=100 */
#define CHURN	    "400"
#define BLOCKS	    "300"
#define BYTES	    300000000ul
#define LINE_PEAK   ": peak 286.1 MB at "
#define LINE_END    "; 286.1 MB held at the end; wrote " FILE_PREFIX

FIXTURE(ends) {
	struct ctl_result result;
	char *files[2]; /* the text of each file, the one with the largest peak first */
	size_t n;
};

FIXTURE_SETUP(ends)
{
	ctl_remove_files("massif.out");
}

FIXTURE_TEARDOWN(ends)
{
	ctl_remove_files("massif.out");
	ctl_result_free(&self->result);
	for (size_t i = 0; i < self->n; i++)
		free(self->files[i]);
}

FIXTURE_VARIANT(ends) {
	const char *how;
	int code; /* expected exit status, as returned by ctl_exit_code() */
	bool has_stacks; /* true if the C library also allocates blocks when threads are created */
};

#define ROW(name, ...) FIXTURE_VARIANT_ADD(ends, name) { __VA_ARGS__ }

ROW(return, "return", 3);
ROW(exit, "exit", 3);
ROW(exit_now, "_exit", 3);
ROW(quick_exit, "quick_exit", 3);
ROW(abort, "abort", 128 + SIGABRT);
ROW(sigterm, "sigterm", 128 + SIGTERM);
ROW(sigsegv, "sigsegv", 128 + SIGSEGV);
ROW(sigkill, "sigkill", 128 + SIGKILL);
ROW(last_thread, "pthread_exit", 0, true);
ROW(exec, "exec", 0);
ROW(child_return, "child:return", 0);
ROW(child_exit, "child:exit", 0);
ROW(child_exit_now, "child:_exit", 0);
ROW(child_quick_exit, "child:quick_exit", 0);
ROW(child_abort, "child:abort", 0);
ROW(child_sigterm, "child:sigterm", 0);
ROW(child_sigsegv, "child:sigsegv", 0);
ROW(child_sigkill, "child:sigkill", 0);
ROW(child_last_thread, "child:pthread_exit", 0, true);

static bool is_child(const char *how)
{
	return strncmp(how, "child:", 6) == 0;
}

/*
 * Reads the files of the program and of its child, if any, into @self->files. The child's file, which has the larger
 * peak, becomes the first.
 */
static void take_files(struct _test_data_ends *self)
{
	char name[256];

	while (self->n < 2 && ctl_find_files(FILE_PREFIX, name)) {
		self->files[self->n++] = ctl_read_file(name);
		unlink(name);
	}
	if (self->n == 2 && massif_text_peak(self->files[0]) < massif_text_peak(self->files[1])) {
		char *other = self->files[0];

		self->files[0] = self->files[1];
		self->files[1] = other;
	}
}

static void forget(struct _test_data_ends *self)
{
	ctl_result_free(&self->result);
	while (self->n)
		free(self->files[--self->n]);
}

static void expect_end(struct __test_metadata *_metadata, struct _test_data_ends *self,
		       const char *unit, bool has_stacks)
{
	const char *text = self->files[0], *tree = ctl_last(text, "heap_tree=");
	uint64_t peak = massif_text_peak(text);
	long time = atol(ctl_last(text, "time="));

	EXPECT_TRUE(ctl_is_massif_file(text));
	EXPECT_GE(peak, BYTES);
	EXPECT_LE(peak, BYTES + (has_stacks ? 8192 : 0));
	/* The last snapshot is the peak, and its tree shows the blocks. */
	EXPECT_EQ(tree, strstr(text, "heap_tree=peak\n") + strlen("heap_tree="));
	EXPECT_NE(NULL, strstr(tree, ": 300000000 0x"));
	EXPECT_NE(NULL, strstr(tree, ": take (ends.c:"));
	EXPECT_NE(NULL, strstr(tree, ": burst (ends.c:"));
	EXPECT_NE(NULL, strstr(self->result.err, LINE_PEAK));
	EXPECT_NE(NULL, strstr(self->result.err, LINE_END));
	if (strcmp(unit, "--time-unit=ms") == 0) {
		/* Time starts at the first event, and the time of a peak may be up to one tick early. */
		EXPECT_GE(time, CHURN_MS - TICK_MS);
		EXPECT_LE(time, CHURN_MS * 100);
	}
}

TEST_F_TIMEOUT(ends, as_the_peak, 200)
{
	static const char *const units[] = { "--time-unit=B", "--time-unit=ms", "--time-unit=i" };

	for (size_t i = 0; i < 3; i++) {
		bool counts = i == 2;

		if (counts && counter_broker_obstacle(COUNTER_OF_TIME)) {
			TH_LOG("not with %s: %s", units[i],
			       counter_broker_obstacle(COUNTER_OF_TIME));
			continue;
		}
		if (counts)
			counter_broker();
		ctl_run(&self->result, NULL, counts ? counter_broker_begin : NULL,
			(const char *const[]){ "massif-ctl", units[i],
					       "--massif-out-file=" FILE_PREFIX ".%p",
					       ctl_target("ends"), variant->how, CHURN, BLOCKS, NULL });
		EXPECT_EQ(variant->code, ctl_exit_code(&self->result));
		take_files(self);
		ASSERT_EQ(is_child(variant->how) ? 2 : 1, self->n);
		expect_end(_metadata, self, units[i], variant->has_stacks);
		EXPECT_EQ(0, ctl_find_files("massif.out", NULL));
		forget(self);
	}
}

/* Another process sends the program a signal, or massif-ctl receives a signal and forwards it. */
TEST(by_another)
{
	static const struct {
		int signal;
		bool ctl;
	} rows[] = {
		{ SIGTERM, false }, { SIGKILL, false }, { SIGTERM, true }, { SIGINT, true }, { SIGHUP, true },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *argv[] = { ctl_path(), "-q", "--time-unit=ms",
				       "--massif-out-file=" FILE_PREFIX, ctl_target("ends"),
				       "killed", CHURN, BLOCKS, NULL };
		pid_t program = 0, pid;
		char line[64] = "", *text;
		int ends[2], status = 0;

		ASSERT_EQ(0, pipe(ends));
		pid = fork();
		if (pid == 0) {
			dup2(ends[1], STDOUT_FILENO);
			execv(argv[0], (char *const *)argv);
			_exit(99);
		}
		close(ends[1]);
		ASSERT_LT(0, read(ends[0], line, sizeof(line) - 1));
		close(ends[0]);
		ASSERT_EQ(1, sscanf(line, "ready %d", &program));
		kill(rows[i].ctl ? pid : program, rows[i].signal);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_TRUE(WIFSIGNALED(status));
		EXPECT_EQ(rows[i].signal, WTERMSIG(status));
		text = ctl_read_file(FILE_PREFIX);
		ASSERT_NE(NULL, text);
		EXPECT_EQ(BYTES, massif_text_peak(text));
		free(text);
		ctl_remove_files("massif.out");
	}
}

/* The memory held at the end is not the peak, so there is a tree only if one was requested. */
TEST(with_and_without_a_tree)
{
	static const struct {
		const char *option, *how;
		bool tree;
	} rows[] = {
		{ "--end-snapshot=no", "return", false },	 { "--end-snapshot=yes", "return", true },
		{ "--end-snapshot=yes", "_exit", true },	 { "--end-snapshot=no", "sigterm", false },
		{ "--end-snapshot=yes", "child:abort", true },	 { "--end-snapshot=no", "child:abort", false },
		/* If SIGKILL ends the program, the profile always ends with a tree, even with --end-snapshot=no. */
		{ "--end-snapshot=no", "sigkill", true },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ctl_result result;
		char name[256], *text;
		unsigned int n = 0;
		bool is_detailed;

		/* The last of ten blocks is freed, so the end is below the peak. */
		CTL_RUN(&result, "massif-ctl", "-q", "--time-unit=B", "--detailed-freq=1000",
			rows[i].option, "--massif-out-file=" FILE_PREFIX ".%p", ctl_target("ends"),
			rows[i].how, "0", "10", "1000", "drop");
		while (ctl_find_files(FILE_PREFIX, name)) {
			text = ctl_read_file(name);
			unlink(name);
			ASSERT_NE(NULL, text);
			if (strstr(text, "mem_heap_B=9000\n")) {
				n++;
				EXPECT_EQ(9000, ctl_number(ctl_last(text, "mem_heap_B="), ""));
				EXPECT_EQ(10000, massif_text_peak(text));
				is_detailed = strncmp(ctl_last(text, "heap_tree="), "detailed\n", 9) == 0;
				EXPECT_EQ(rows[i].tree, is_detailed)
					TH_LOG("%s %s", rows[i].option, rows[i].how);
			} else {
				EXPECT_EQ(0, strncmp(rows[i].how, "child:", 6));
			}
			free(text);
		}
		EXPECT_EQ(1, n) TH_LOG("%s %s: %s", rows[i].option, rows[i].how, result.err);
		ctl_result_free(&result);
	}
}

TEST_HARNESS_MAIN
