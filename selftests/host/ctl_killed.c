// SPDX-License-Identifier: GPL-2.0
// The program is killed with SIGKILL: the file exists, is complete up to that moment, and can be read by ms_print.

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"

#define FILE_NAME "massif.out.killed"

static char ms_print[4096];

FIXTURE(killed) {
	pid_t pid, program;
	char *text;
};

FIXTURE_SETUP(killed)
{
	const char *build = getenv("MASSIF_BUILD");

	snprintf(ms_print, sizeof(ms_print), "%s/ms_print", build ? build : "build");
	ctl_remove_files("massif.out");
}

FIXTURE_TEARDOWN(killed)
{
	EXPECT_EQ(0, ctl_find_files(".massif-", NULL));
	ctl_remove_files("massif.out");
	free(self->text);
}

/* Starts ctl_grow with @count and waits until it is ready. */
static bool start(struct _test_data_killed *self, const char *count)
{
	const char *argv[] = { ctl_path(), "-q", "--time-unit=B", "--detailed-freq=2",
			       "--massif-out-file=" FILE_NAME, ctl_target("ctl_grow"), count,
			       NULL };
	char line[64] = "";
	int ends[2];

	if (pipe(ends))
		return false;
	self->pid = fork();
	if (self->pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		execv(argv[0], (char *const *)argv);
		_exit(99);
	}
	close(ends[1]);
	if (read(ends[0], line, sizeof(line) - 1) <= 0)
		return false;
	close(ends[0]);
	return sscanf(line, "ready %d", &self->program) == 1;
}

/* Kills the program and reads the file. Returns whether massif-ctl ended with the same signal. */
static bool kill_it(struct _test_data_killed *self)
{
	int status;

	kill(self->program, SIGKILL);
	if (waitpid(self->pid, &status, 0) != self->pid)
		return false;
	free(self->text);
	self->text = ctl_read_file(FILE_NAME);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

/*
 * Fifty blocks make fifty snapshots, none of which is culled, plus one at the end. The last two contain all
 * blocks; the last one has a tree and is the peak, although nothing was freed.
 */
TEST_F(killed, has_everything)
{
	struct ctl_result printed;
	const char *tree;

	ASSERT_TRUE(start(self, "50"));
	ASSERT_TRUE(kill_it(self));
	ASSERT_NE(NULL, self->text);
	EXPECT_TRUE(ctl_is_massif_file(self->text));
	EXPECT_EQ(51, atoi(ctl_last(self->text, "snapshot=")));
	EXPECT_EQ(50000, atoi(ctl_last(self->text, "mem_heap_B=")));
	EXPECT_EQ(50 * (8 + 8), atoi(ctl_last(self->text, "mem_heap_extra_B=")));
	EXPECT_EQ(atoi(ctl_last(self->text, "time=")), 50000 + 50 * (8 + 8));
	tree = ctl_last(self->text, "heap_tree=");
	EXPECT_EQ(tree, strstr(self->text, "heap_tree=peak\n") + strlen("heap_tree="));
	EXPECT_NE(NULL, strstr(tree, ": 50000 (heap allocation functions) "));
	EXPECT_NE(NULL, strstr(tree, ": 50000 0x"));
	EXPECT_NE(NULL, strstr(tree, ": grow (ctl_grow.c:"));
	EXPECT_NE(NULL, strstr(tree, ": main (ctl_grow.c:"));

	CTL_RUN(&printed, ms_print, FILE_NAME);
	EXPECT_EQ(0, ctl_exit_code(&printed));
	EXPECT_STREQ("", printed.err);
	EXPECT_NE(NULL, strstr(printed.out, "(50,000B) (heap allocation functions) "));
	EXPECT_NE(NULL, strstr(printed.out, ", 51 (peak)]"));
	ctl_result_free(&printed);
}

/* The file is complete not only after SIGKILL, but also if another signal kills the program. */
TEST_F(killed, by_others_too)
{
	int status;

	ASSERT_TRUE(start(self, "50"));
	kill(self->program, SIGTERM);
	ASSERT_EQ(self->pid, waitpid(self->pid, &status, 0));
	EXPECT_EQ(SIGTERM, WTERMSIG(status));
	self->text = ctl_read_file(FILE_NAME);
	ASSERT_NE(NULL, self->text);
	EXPECT_EQ(51, atoi(ctl_last(self->text, "snapshot=")));
	EXPECT_EQ(50000, atoi(ctl_last(self->text, "mem_heap_B=")));
	EXPECT_EQ(ctl_last(self->text, "heap_tree="),
		  strstr(self->text, "heap_tree=peak\n") + strlen("heap_tree="));
}

/* The program is killed at an arbitrary moment, possibly while the shim is counting an event. */
TEST_F_TIMEOUT(killed, at_any_moment, 120)
{
	for (long i = 0; i < 25; i++) {
		const struct timespec moment = { .tv_nsec = i * 1700000 };
		struct ctl_result printed;

		ASSERT_TRUE(start(self, NULL));
		nanosleep(&moment, NULL);
		ASSERT_TRUE(kill_it(self));
		ASSERT_NE(NULL, self->text);
		ASSERT_TRUE(ctl_is_massif_file(self->text));
		CTL_RUN(&printed, ms_print, FILE_NAME);
		ASSERT_EQ(0, ctl_exit_code(&printed));
		ASSERT_STREQ("", printed.err);
		ctl_result_free(&printed);
	}
}

/*
 * Children that massif-ctl follows are killed while they are starting. At whatever point they are killed, their
 * massif.out files must be readable.
 */
TEST_F_TIMEOUT(killed, while_they_begin, 120)
{
	struct ctl_result result, printed;
	DIR *directory = opendir(".");
	const struct dirent *entry;
	unsigned int files = 0;
	char target[4096];

	snprintf(target, sizeof(target), "%s", ctl_target("heap_children"));
	ctl_remove_files("k.");
	ctl_run(&result, NULL, NULL,
		(const char *[]){ "massif-ctl", "--trace-children=yes", "--massif-out-file=k.%p", target, "killed_early",
				  ctl_target("ctl_zero"), NULL });
	EXPECT_EQ(7, ctl_exit_code(&result)) {
		TH_LOG("%s", result.err);
	}
	ctl_result_free(&result);
	ASSERT_NE(NULL, directory);
	while ((entry = readdir(directory))) {
		if (strncmp(entry->d_name, "k.", 2))
			continue;
		files++;
		CTL_RUN(&printed, ms_print, entry->d_name);
		EXPECT_EQ(0, ctl_exit_code(&printed)) {
			TH_LOG("%s", printed.err);
		}
		ctl_result_free(&printed);
	}
	closedir(directory);
	ctl_remove_files("k.");
	EXPECT_LT(10, files);
}

TEST_HARNESS_MAIN
