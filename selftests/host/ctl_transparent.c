// SPDX-License-Identifier: GPL-2.0
// A program sees the same environment under massif-ctl as without it: each command is run with and without massif-ctl.

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"

#define WORDS 8

static void ignore_some(void)
{
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_IGN);
	signal(SIGTSTP, SIG_IGN);
}

static void block_some(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGRTMIN + 3);
	sigprocmask(SIG_SETMASK, &set, NULL);
}

static void set_umask(void)
{
	umask(0137);
}

static void change_directory(void)
{
	if (chdir("t.directory"))
		_exit(98);
}

static void set_limits(void)
{
	const struct rlimit files = { 64, 128 }, core = { 12288, 12288 };
	const struct rlimit stack = { 1 << 20, 1 << 22 };

	setrlimit(RLIMIT_NOFILE, &files);
	setrlimit(RLIMIT_CORE, &core);
	setrlimit(RLIMIT_STACK, &stack);
}

static void open_some(void)
{
	dup2(STDIN_FILENO, 7);
	dup2(STDOUT_FILENO, 63);
}

static void close_standard(void)
{
	close(STDIN_FILENO);
	close(STDERR_FILENO);
}

static void set_alarm(void)
{
	alarm(1);
}

static void be_nice(void)
{
	if (nice(3) < 0)
		_exit(98);
}

static void set_preload(void)
{
	setenv("LD_PRELOAD", "libm.so.6:libdl.so.2", 1);
}

static void set_empty_preload(void)
{
	setenv("LD_PRELOAD", "", 1);
}

static void set_stale_session(void)
{
	setenv("MASSIF_SESSION", "3", 1);
	setenv("LD_PRELOADED", "1", 1);
}

static const struct {
	const char *what;
	void (*before)(void);
	const char *input;
	const char *words[WORDS];
} cases[] = {
	{ "input", NULL, "one\ntwo\n", { "cat" } },
	{ "status 0", NULL, NULL, { "true" } },
	{ "status 1", NULL, NULL, { "false" } },
	{ "status 255", NULL, NULL, { "sh", "-c", "exit 255" } },
	{ "both outputs", NULL, NULL, { "sh", "-c", "echo out; echo err >&2; exit 7" } },
	{ "killed by TERM", NULL, NULL, { "sh", "-c", "kill -TERM $$" } },
	{ "killed by KILL", NULL, NULL, { "sh", "-c", "kill -KILL $$" } },
	{ "killed by SEGV", NULL, NULL, { "sh", "-c", "ulimit -c 0; kill -SEGV $$" } },
	{ "killed by PIPE", NULL, NULL, { "sh", "-c", "kill -PIPE $$" } },
	{ "killed by a real-time signal", NULL, NULL, { "sh", "-c", "kill -40 $$" } },
	{ "arguments", NULL, NULL, { "cat", "/proc/self/cmdline", "-u", "--", "/dev/null" } },
	{ "a relative script", NULL, NULL, { "./t.script", "a b", "", "c" } },
	{ "a script without #!", NULL, NULL, { "./t.bare", "a b", "", "c" } },
	{ "name", NULL, NULL, { "cat", "/proc/self/comm" } },
	{ "signals", NULL, NULL, { "grep", "^Sig[^Q]", "/proc/self/status" } },
	{ "ignored signals", ignore_some, NULL, { "grep", "^Sig[^Q]", "/proc/self/status" } },
	{ "blocked signals", block_some, NULL, { "grep", "^Sig[^Q]", "/proc/self/status" } },
	{ "umask", set_umask, NULL, { "sh", "-c", "umask" } },
	{ "directory", change_directory, NULL, { "sh", "-c", "pwd; ls -a .." } },
	{ "limits", set_limits, NULL, { "cat", "/proc/self/limits" } },
	{ "niceness", be_nice, NULL, { "nice" } },
	{ "descriptors", NULL, NULL, { "ls", "/proc/self/fd" } },
	{ "more descriptors", open_some, NULL, { "ls", "/proc/self/fd" } },
	{ "few descriptors", set_limits, NULL, { "ls", "/proc/self/fd" } },
	{ "closed descriptors", close_standard, NULL, { "ls", "/proc/self/fd" } },
	{ "alarm", set_alarm, NULL, { "sleep", "20" } },
	{ "group and session", NULL, NULL, { "cut", "-d ", "-f5-8", "/proc/self/stat" } },
	{ "environment", NULL, NULL, { "env" } },
	{ "environment of children", NULL, NULL, { "sh", "-c", "env | grep -v ^_=" } },
	{ "environment with LD_PRELOAD", set_preload, NULL, { "env" } },
	{ "environment with an empty one", set_empty_preload, NULL, { "env" } },
	{ "a shared library's variable", set_preload, NULL, { "sh", "-c", "echo $LD_PRELOAD" } },
	{ "python", NULL, "print(len(input()))\n",
	  { "/usr/bin/python3", "-c", "import os; print(sorted(os.environ)); print(input())" } },
};

FIXTURE(transparent) {
	struct ctl_result plain, profiled;
};

FIXTURE_SETUP(transparent)
{
	mkdir("t.directory", 0777);
	ctl_write_file("t.script", "#!/bin/sh -u\necho \"$0\" $#; printf '<%s>' \"$@\"\n", 0755);
	ctl_write_file("t.bare", "echo \"$0\" $#; printf '<%s>' \"$@\"\n", 0755);
}

FIXTURE_TEARDOWN(transparent)
{
	rmdir("t.directory");
	ctl_remove_files("t.");
	ctl_remove_files("massif.out");
}

static void compare(struct __test_metadata *_metadata, const char *what,
		    const struct ctl_result *plain, const struct ctl_result *profiled)
{
	EXPECT_EQ(plain->status, profiled->status) {
		TH_LOG("%s", what);
	}
	EXPECT_STREQ(plain->out, profiled->out) {
		TH_LOG("%s", what);
	}
	EXPECT_STREQ(plain->err, profiled->err) {
		TH_LOG("%s", what);
	}
}

TEST_F_TIMEOUT(transparent, as_without, 120)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *argv[WORDS + 4] = { "massif-ctl", "-q", "--massif-out-file=/dev/null" };

		memcpy(argv + 3, cases[i].words, sizeof(cases[i].words));
		ctl_run(&self->plain, cases[i].input, cases[i].before, argv + 3);
		ctl_run(&self->profiled, cases[i].input, cases[i].before, argv);
		compare(_metadata, cases[i].what, &self->plain, &self->profiled);
		ctl_result_free(&self->plain);
		ctl_result_free(&self->profiled);
	}
}

/* MASSIF_SESSION is ignored if it is set in the program's original environment. */
TEST_F(transparent, stale_session)
{
	const char *argv[] = { "massif-ctl", "-q", "env", NULL };

	ctl_run(&self->profiled, NULL, set_stale_session, argv);
	EXPECT_EQ(NULL, strstr(self->profiled.out, "MASSIF_SESSION="));
	EXPECT_NE(NULL, strstr(self->profiled.out, "LD_PRELOADED=1\n"));
	EXPECT_STREQ("", self->profiled.err);
	ctl_result_free(&self->profiled);
}

/* Returns whether @fd reaches end of file within a minute. */
static bool ends_soon(int fd)
{
	struct pollfd polled = { .fd = fd, .events = POLLIN };
	char byte;

	while (poll(&polled, 1, 60000) == 1) {
		if (read(fd, &byte, 1) == 0)
			return true;
	}
	return false;
}

/* Starts massif-ctl with its output going to a pipe, and stores the read end in *@output. Returns -1 on failure. */
static pid_t start_piped(const char *const *argv, int *output)
{
	int ends[2];
	pid_t pid;

	if (pipe(ends))
		return -1;
	pid = fork();
	if (pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		execv(ctl_path(), (char *const *)argv);
		_exit(99);
	}
	close(ends[1]);
	*output = ends[0];
	return pid;
}

/* While massif-ctl runs, it does not keep either end of the program's pipes open. */
TEST_F_TIMEOUT(transparent, closed_output_is_noticed, 120)
{
	const char *argv[] = { "massif-ctl", "-q", "sh", "-c",
			       "exec >&-; while ! [ -e t.go ]; do sleep 0.05; done; exit 6",
			       NULL };
	int output, status;
	pid_t pid;

	pid = start_piped(argv, &output);
	ASSERT_LT(0, pid);
	EXPECT_TRUE(ends_soon(output));
	close(output);
	ctl_write_file("t.go", "", 0644);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(6, WEXITSTATUS(status));
}

/* A process that writes to a pipe without a reader dies of SIGPIPE, as it does without massif-ctl. */
TEST_F(transparent, broken_pipe)
{
	const char *argv[] = { "massif-ctl", "-q", "yes", NULL };
	int output, status;
	char bytes[64];
	pid_t pid;

	pid = start_piped(argv, &output);
	ASSERT_LT(0, pid);
	EXPECT_LT(0, read(output, bytes, sizeof(bytes)));
	close(output);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFSIGNALED(status));
	EXPECT_EQ(SIGPIPE, WTERMSIG(status));
}

/* The output file may be an inherited descriptor. */
TEST_F(transparent, profile_to_output)
{
	char *profile;

	CTL_RUN(&self->profiled, "massif-ctl", "-q", "--massif-out-file=/dev/stdout", "echo",
		"first");
	EXPECT_EQ(0, ctl_exit_code(&self->profiled));
	ASSERT_EQ(self->profiled.out, strstr(self->profiled.out, "first\n"));
	profile = self->profiled.out + strlen("first\n");
	EXPECT_TRUE(ctl_is_massif_file(profile));
	ctl_result_free(&self->profiled);
}

static char *line_of(char *text, int number)
{
	char *line = strtok(text, "\n");

	while (number-- && line)
		line = strtok(NULL, "\n");
	return line;
}

TEST_F(transparent, head_of_the_file)
{
	char name[256], expected[320], *text;

	CTL_RUN(&self->profiled, "massif-ctl", "-v", "--depth= 7", "--time-unit=B", "--", "echo",
		"a  b", "", "#c");
	EXPECT_STREQ("a  b  #c\n", self->profiled.out);
	ASSERT_EQ(1, ctl_find_files("massif.out.", name));
	snprintf(expected, sizeof(expected), "; wrote %s\n", name);
	EXPECT_NE(NULL, strstr(self->profiled.err, expected));
	text = ctl_read_file(name);
	ASSERT_NE(NULL, text);
	EXPECT_TRUE(ctl_is_massif_file(text));
	EXPECT_STREQ("desc: --depth= 7 --time-unit=B", line_of(strdup(text), 0));
	EXPECT_STREQ("cmd: echo a  b  #c", line_of(strdup(text), 1));
	EXPECT_STREQ("time_unit: B", line_of(strdup(text), 2));
	free(text);
	ctl_result_free(&self->profiled);
}

/* %p is the program's pid, not massif-ctl's. */
TEST_F(transparent, number_in_the_name)
{
	char name[256], expected[64];

	CTL_RUN(&self->profiled, "massif-ctl", "-q", "sh", "-c", "echo $$");
	snprintf(expected, sizeof(expected), "massif.out.%d", atoi(self->profiled.out));
	ASSERT_EQ(1, ctl_find_files("massif.out.", name));
	EXPECT_STREQ(expected, name);
	ctl_result_free(&self->profiled);
}

TEST_HARNESS_MAIN
