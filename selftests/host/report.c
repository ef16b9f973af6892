// SPDX-License-Identifier: GPL-2.0
// Tests the reporter of the test runner: however a test goes wrong, it counts as a failure.
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"

#define START	"test\thost/some\n"
#define PLAN(n)	"out\tTAP version 13\nout\t1.." #n "\n"

static const struct {
	const char *what;
	const char *frames;
	const char *sum;	// the last line of the report
	const char *says;	// text that must occur in the report, or NULL
} cases[] = {
	{ "all is well",
	  START PLAN(2) "out\tok 1 a\nout\tok 2 b\nend\t0\n",
	  "2 passed, 0 failed", "ok     host/some: b" },
	{ "a case fails",
	  START PLAN(2) "out\tok 1 a\nout\tnot ok 2 b\nend\t1\n",
	  "1 passed, 1 failed", "not ok host/some: b" },
	{ "a failed test's output is shown",
	  START PLAN(1) "out\t# seen once\nout\tnot ok 1 a\nend\t1\n",
	  "0 passed, 1 failed", "# seen once" },
	{ "a skipped case says why, and has the name that it started with",
	  START PLAN(2) "out\tok 1 a\nout\t#  RUN           x.y ...\nout\tok 2 # SKIP no disk\nend\t0\n",
	  "1 passed, 0 failed, 1 skipped", "skip   host/some: x.y  # no disk" },
	{ "a whole test is skipped",
	  START PLAN(1) "out\tok 1 a\nend\t0\ntest\thost/other\nout\t1..0 # SKIP no disk\nend\t4\n",
	  "1 passed, 0 failed, 1 skipped", "# no disk" },
	{ "nothing but skips is no success",
	  START PLAN(1) "out\tok 1 # SKIP no disk\nend\t0\n",
	  "0 passed, 0 failed, 1 skipped", NULL },
	{ "a crash",
	  START PLAN(2) "out\tok 1 a\nend\t139\n",
	  "1 passed, 1 failed", "killed by SIGSEGV" },
	{ "a crash after the last result",
	  START PLAN(1) "out\tok 1 a\nend\t134\n",
	  "1 passed, 1 failed", "killed by SIGABRT" },
	{ "a silent test",
	  START "end\t0\n",
	  "0 passed, 1 failed", "no TAP plan" },
	{ "fewer results than planned",
	  START PLAN(2) "out\tok 1 a\nend\t0\n",
	  "1 passed, 1 failed", "1 results of 2 planned" },
	{ "more results than planned",
	  START PLAN(1) "out\tok 1 a\nout\tok 2 b\nend\t0\n",
	  "2 passed, 1 failed", "2 results of 1 planned" },
	{ "a test that planned nothing",
	  START PLAN(0) "end\t0\n",
	  "0 passed, 1 failed", "it planned no test" },
	{ "a bad status after good results",
	  START PLAN(1) "out\tok 1 a\nend\t3\n",
	  "1 passed, 1 failed", "exit status 3" },
	{ "a bad line in the kernel's log",
	  START PLAN(1) "out\tok 1 a\nkernel\tBUG: here\nend\t0\n",
	  "1 passed, 1 failed", "BUG: here" },
	{ "an error of the runner, as when time is over",
	  START PLAN(1) "out\tok 1 a\nerror\tno end within 9 s\nend\t124\n",
	  "1 passed, 1 failed", "no end within 9 s" },
	{ "a guest that dies during a test",
	  START PLAN(2) "out\tok 1 a\n" START "error\tthe guest died\nend\t125\n",
	  "1 passed, 1 failed", "the guest died" },
	{ "frames that end in the middle",
	  START PLAN(1) "out\tok 1 a\n",
	  "1 passed, 1 failed", "its end was never reported" },
	{ "a test that starts before another's end",
	  START PLAN(1) "out\tok 1 a\ntest\thost/other\n" PLAN(1) "out\tok 1 b\nend\t0\n",
	  "2 passed, 1 failed", "its end was never reported" },
	{ "no test at all", "", "0 passed, 0 failed", "nothing ran" },
};

#define LANES	2

static const char *const lane_names[LANES] = { "/dev/fd/10", "/dev/fd/11" };

// Starts report.pl with LANES pipes as its input. Each pipe is a lane: it carries the output of tests that run one
// after another. Sets @lanes to the write ends of these pipes, and *@output to the read end of a pipe with report.pl's
// output. The caller closes all of them. Returns the pid, which the caller waits for, or -1.
static pid_t start_report(int lanes[LANES], int *output)
{
	char program[PATH_MAX];
	int in[LANES][2], out[2];
	pid_t pid;

	snprintf(program, sizeof(program), "%s/selftests/tools/report.pl", getenv("MASSIF_SRC"));
	for (int i = 0; i < LANES; i++)
		if (pipe2(in[i], O_CLOEXEC))
			return -1;
	if (pipe2(out, O_CLOEXEC))
		return -1;
	pid = fork();
	if (!pid) {
		dup2(out[1], STDOUT_FILENO);
		/*
		 * report.pl opens its two input pipes, which each carry the output of a series of tests, as /dev/fd/10
		 * and /dev/fd/11. Depending on which descriptors were inherited, one of the pipes may already have one
		 * of these numbers, so first move both to higher numbers.
		 */
		for (int i = 0; i < LANES; i++)
			in[i][0] = fcntl(in[i][0], F_DUPFD_CLOEXEC, 10 + LANES);
		for (int i = 0; i < LANES; i++)
			dup2(in[i][0], 10 + i);
		unsetenv("TESTS");
		execl(program, program, "sum", lane_names[0], lane_names[1], NULL);
		_exit(127);
	}
	for (int i = 0; i < LANES; i++) {
		close(in[i][0]);
		lanes[i] = in[i][1];
	}
	close(out[1]);
	*output = out[0];
	return pid;
}

// Reads everything from @fd and closes it. Returns the exit status of @pid, or -1.
static int end_report(pid_t pid, int fd, char *output, size_t size)
{
	ssize_t got, length = 0;
	int status;

	while ((got = read(fd, output + length, size - 1 - length)) > 0)
		length += got;
	output[length] = '\0';
	close(fd);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

// Runs report.pl with two lanes, which are pipes that carry the output of tests. Writes the text @frames to one lane
// and nothing to the other. Reads the output of report.pl into @output and returns its exit status.
static int report(const char *frames, char *output, size_t size)
{
	int lanes[LANES], fd;
	pid_t pid = start_report(lanes, &fd);

	if (pid < 0 || write(lanes[0], frames, strlen(frames)) != (ssize_t)strlen(frames))
		return -1;
	for (int i = 0; i < LANES; i++)
		close(lanes[i]);
	return end_report(pid, fd, output, size);
}

// Copies the last line of @text, without its newline.
static void last_line(const char *text, char *line, size_t size)
{
	size_t length = strlen(text), start;

	if (length && text[length - 1] == '\n')
		length--;
	for (start = length; start && text[start - 1] != '\n'; start--)
		;
	snprintf(line, size, "%.*s", (int)(length - start), text + start);
}

TEST(every_way_to_fail)
{
	char output[8192], line[256];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int status = report(cases[i].frames, output, sizeof(output));
		int good = strstr(cases[i].sum, ", 0 failed") && strncmp(cases[i].sum, "0 ", 2);

		EXPECT_EQ(good ? 0 : 1, status) TH_LOG("%s:\n%s", cases[i].what, output);
		last_line(output, line, sizeof(line));
		EXPECT_STREQ(cases[i].sum, line) TH_LOG("%s", cases[i].what);
		if (cases[i].says)
			EXPECT_NE(NULL, strstr(output, cases[i].says))
				TH_LOG("%s:\n%s", cases[i].what, output);
	}
}

// Two tests run side by side, each in its own lane (a pipe to report.pl). Their output arrives in alternating pieces.
TEST(lanes_side_by_side)
{
	static const struct {
		int lane;
		const char *text;
	} parts[] = {
		{ 0, START PLAN(2) },
		{ 1, "boot\t6.1 6.1.0\ntest\tguest/other\n" PLAN(2) "out\tok 1 a\nou" },
		{ 0, "out\tok 1 a\nout\tnot " },
		{ 1, "t\tok 2 b\nend\t0\n" },
		{ 0, "ok 2 b\nend\t1\n" },
	};
	char output[8192], line[256];
	int lanes[LANES], fd;
	pid_t pid = start_report(lanes, &fd);

	ASSERT_LT(0, pid);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		ASSERT_LT(0, write(lanes[parts[i].lane], parts[i].text, strlen(parts[i].text)));
		usleep(20000);
	}
	close(lanes[0]);
	close(lanes[1]);
	EXPECT_EQ(1, end_report(pid, fd, output, sizeof(output)));
	last_line(output, line, sizeof(line));
	EXPECT_STREQ("3 passed, 1 failed", line) TH_LOG("%s", output);
	EXPECT_NE(NULL, strstr(output, "not ok host/some: b")) TH_LOG("%s", output);
	EXPECT_NE(NULL, strstr(output, "ok     guest/other@6.1: b")) TH_LOG("%s", output);
	// The summary has one line per kernel; each line counts only the guest tests that ran on that kernel.
	EXPECT_NE(NULL, strstr(output, "6.1      6.1.0                           2        0        0"))
		TH_LOG("%s", output);
}

// Writes to @frames a guest test with a skipped, a passed and a failed case; the latter prints @lines numbered lines.
static void write_a_failure(char *frames, size_t size, int lines)
{
	int n = snprintf(frames, size, "boot\t6.1 6.1.0\ntest\tguest/some\n" PLAN(3) "out\tok 1 s # SKIP no disk\n"
			 "out\t# of b\nout\tok 2 b\n");

	for (int i = 1; i <= lines; i++)
		n += snprintf(frames + n, size - (size_t)n, "out\t# line %d.\n", i);
	snprintf(frames + n, size - (size_t)n, "out\tnot ok 3 c\nend\t1\n");
}

// The end of the report, after what was skipped, has the last 40 lines about the cases that failed, and their names.
TEST(failures_are_the_last_lines)
{
	static const int lines[] = { 1, 39, 40, 390 };
	char frames[16384], output[65536], first[32];

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		int cut = lines[i] > 39 ? lines[i] - 39 : 0;
		const char *end;

		write_a_failure(frames, sizeof(frames), lines[i]);
		ASSERT_EQ(1, report(frames, output, sizeof(output)));
		// Once when the test ended, and once more at the end.
		EXPECT_NE(NULL, strstr(output, "# of b"));
		EXPECT_NE(NULL, strstr(output, "# line 1."));
		end = strstr(output, "  skip guest/some@6.1: s  # no disk\n");
		ASSERT_NE(NULL, end);
		EXPECT_EQ(NULL, strstr(end, "# of b")) TH_LOG("%s", end);
		snprintf(first, sizeof(first), "# line %d.\n", cut + 1);
		EXPECT_NE(NULL, strstr(end, first)) TH_LOG("%s", end);
		snprintf(first, sizeof(first), "# line %d.\n", cut);
		EXPECT_EQ(NULL, strstr(end, first)) TH_LOG("%s", end);
		EXPECT_EQ(cut > 0, strstr(end, " earlier lines are above\n") != NULL);
		EXPECT_NE(NULL, strstr(end, "\n\nnot ok guest/some@6.1: c\n1 passed, 1 failed, 1 skipped\n")) TH_LOG("%s", end);
	}
}

TEST(the_sum_is_in_a_file_too)
{
	char output[8192], sum[64] = "";
	int fd;

	ASSERT_EQ(0, report(cases[0].frames, output, sizeof(output)));
	fd = open("sum", O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, fd);
	ASSERT_LT(0, read(fd, sum, sizeof(sum) - 1));
	EXPECT_STREQ("2 passed, 0 failed\n", sum);
	close(fd);
}

TEST_HARNESS_MAIN
