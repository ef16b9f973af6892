// SPDX-License-Identifier: GPL-2.0
// massif-ctl passes each signal that it receives to the program exactly once. Job control by terminals and shells works
// as usual.

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"
#include "selftests/lib/process_state.h"

enum {
	PATIENCE_MS = 10000,
};

/* selftests/targets/ctl_signals.c, running as a job under massif-ctl. */
struct job {
	pid_t pid;	 /* the pid of massif-ctl */
	pid_t program;
	int in;		 /* descriptor from which the program's output is read */
};

/* Reads up to a newline. Returns false on a timeout. */
static bool read_line(int fd, char *line, size_t size)
{
	size_t n = 0;

	while (n < size - 1) {
		struct pollfd polled = { .fd = fd, .events = POLLIN };

		if (poll(&polled, 1, PATIENCE_MS) != 1 || read(fd, line + n, 1) != 1)
			return false;
		if (line[n] == '\n')
			break;
		n += line[n] != '\r';
	}
	line[n] = '\0';
	return true;
}

static bool reads(int fd, const char *expected)
{
	char line[128];

	return read_line(fd, line, sizeof(line)) && strcmp(line, expected) == 0;
}

/* Returns true if no more data arrives on @fd within 300 ms. */
static bool is_silent(int fd)
{
	struct pollfd polled = { .fd = fd, .events = POLLIN };

	return poll(&polled, 1, 300) == 0;
}

static const char *const *command(void)
{
	static const char *argv[] = { NULL, "-q", "--massif-out-file=/dev/null", NULL, NULL };

	argv[0] = ctl_path();
	argv[3] = ctl_target("ctl_signals");
	return argv;
}

/* Starts massif-ctl with the test program; if @fd >= 0, both run in the foreground of the terminal @fd. */
static bool start(struct job *job, int fd)
{
	int ends[2];
	char line[64];

	if (fd < 0 && pipe(ends))
		return false;
	job->pid = fork();
	if (job->pid == 0) {
		if (fd >= 0) {
			setpgid(0, 0);
			signal(SIGTTOU, SIG_IGN);
			tcsetpgrp(fd, getpid());
			signal(SIGTTOU, SIG_DFL);
		}
		for (int i = 0; i < 3; i++)
			dup2(fd >= 0 ? fd : ends[1], i);
		execv(ctl_path(), (char *const *)command());
		_exit(99);
	}
	if (fd < 0) {
		close(ends[1]);
		job->in = ends[0];
	}
	return read_line(job->in, line, sizeof(line)) &&
	       sscanf(line, "ready %d", &job->program) == 1;
}

/* Waits until the process is stopped or, if @stopped is false, running again. */
static bool becomes_stopped(pid_t pid, bool stopped)
{
	const struct timespec moment = { .tv_nsec = 5000000 };

	for (int i = 0; i < PATIENCE_MS / 5; i++) {
		if ((process_state(pid) == 'T') == stopped)
			return true;
		nanosleep(&moment, NULL);
	}
	return false;
}

TEST(are_forwarded)
{
	struct job job;
	int status;

	ASSERT_TRUE(start(&job, -1));
	EXPECT_NE(job.pid, job.program);
	kill(job.pid, SIGUSR1);
	EXPECT_TRUE(reads(job.in, "got 10"));
	kill(job.pid, SIGUSR2);
	EXPECT_TRUE(reads(job.in, "got 12"));
	kill(job.pid, SIGTERM);
	EXPECT_TRUE(reads(job.in, "got 15"));
	ASSERT_EQ(job.pid, waitpid(job.pid, &status, 0));
	EXPECT_TRUE(WIFEXITED(status));
	EXPECT_EQ(5, WEXITSTATUS(status));
}

TEST(that_kill_the_program_kill_massif_ctl)
{
	static const int killers[] = { SIGKILL, SIGALRM, SIGABRT, SIGQUIT };

	for (size_t i = 0; i < sizeof(killers) / sizeof(killers[0]); i++) {
		struct job job;
		int status;

		ASSERT_TRUE(start(&job, -1));
		kill(job.program, killers[i]);
		ASSERT_EQ(job.pid, waitpid(job.pid, &status, 0));
		ASSERT_TRUE(WIFSIGNALED(status));
		EXPECT_EQ(killers[i], WTERMSIG(status));
		/* Only the program dumps core, not massif-ctl. */
		EXPECT_FALSE(WCOREDUMP(status));
		close(job.in);
	}
}

TEST(killed_massif_ctl_leaves_the_program_alone)
{
	struct job job;

	ASSERT_TRUE(start(&job, -1));
	kill(job.pid, SIGKILL);
	waitpid(job.pid, NULL, 0);
	kill(job.program, SIGUSR1);
	EXPECT_TRUE(reads(job.in, "got 10"));
	kill(job.program, SIGKILL);
}

/* A stop signal that does not come from the terminal stops only the program. */
TEST(stopped_program_and_waiting_massif_ctl)
{
	struct job job;
	int status;

	ASSERT_TRUE(start(&job, -1));
	kill(job.program, SIGSTOP);
	EXPECT_TRUE(becomes_stopped(job.program, true));
	EXPECT_EQ(0, waitpid(job.pid, &status, WNOHANG | WUNTRACED));
	kill(job.pid, SIGCONT);
	EXPECT_TRUE(becomes_stopped(job.program, false));
	EXPECT_TRUE(reads(job.in, "got 18"));
	kill(job.program, SIGKILL);
	ASSERT_EQ(job.pid, waitpid(job.pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
}

/* The test acts as a shell: it is the leader of a session that has a controlling terminal. */
struct terminal {
	int master, slave;
};

/*
 * Starts a session with a new terminal. Call this only in a child of the test, because a process group leader cannot
 * start a session.
 */
static bool open_terminal(struct terminal *terminal)
{
	struct termios settings;
	char *name;

	signal(SIGTTOU, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	if (setsid() < 0)
		return false;
	terminal->master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (terminal->master < 0 || grantpt(terminal->master) || unlockpt(terminal->master))
		return false;
	name = ptsname(terminal->master);
	terminal->slave = name ? open(name, O_RDWR | O_CLOEXEC) : -1;
	if (terminal->slave < 0 || ioctl(terminal->slave, TIOCSCTTY, 0))
		return false;
	/* Disable echo, so that typed text is not read back with the program's output. */
	if (tcgetattr(terminal->slave, &settings))
		return false;
	settings.c_lflag &= ~(tcflag_t)ECHO;
	return tcsetattr(terminal->slave, TCSANOW, &settings) == 0;
}

static bool type(const struct terminal *terminal, const char *keys)
{
	return write(terminal->master, keys, strlen(keys)) == (ssize_t)strlen(keys);
}

/*
 * If @condition is false, ends the scenario's process with an exit status computed from the line number in this file.
 */
#define NEED(condition)                   \
	do {                              \
		if (!(condition))         \
			_exit(__LINE__ % 251 + 1); \
	} while (0)

/*
 * Runs @scenario on a terminal in a separate process. Returns 0 if it succeeds and -1 if a signal ended the process.
 * Otherwise returns the exit status, which the failing NEED() computes from its line number.
 */
static int on_terminal(void (*scenario)(const struct terminal *terminal, struct job *job))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		struct terminal terminal;
		struct job job;

		NEED(open_terminal(&terminal));
		job.in = terminal.master;
		NEED(start(&job, terminal.slave));
		scenario(&terminal, &job);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/*
 * Ctrl-C sends SIGINT to both massif-ctl and the program. massif-ctl does not forward it, so the program receives only
 * one SIGINT; massif-ctl waits for the program to end.
 */
static void interrupt(const struct terminal *terminal, struct job *job)
{
	int status;

	NEED(type(terminal, "\003"));
	NEED(reads(job->in, "got 02"));
	NEED(waitpid(job->pid, &status, 0) == job->pid);
	NEED(WIFEXITED(status) && WEXITSTATUS(status) == 5);
	NEED(is_silent(job->in));
}

TEST(terminal_interrupt)
{
	EXPECT_EQ(0, on_terminal(interrupt));
}

static void change_window(const struct terminal *terminal, struct job *job)
{
	const struct winsize size = { .ws_row = 30, .ws_col = 99 };

	NEED(ioctl(terminal->master, TIOCSWINSZ, &size) == 0);
	NEED(reads(job->in, "got 28"));
	NEED(is_silent(job->in));
	kill(job->program, SIGKILL);
}

TEST(terminal_window)
{
	EXPECT_EQ(0, on_terminal(change_window));
}

/* Press Ctrl-Z, run fg, press Ctrl-Z again, and then send a SIGCONT only to massif-ctl. */
static void stop_and_continue(const struct terminal *terminal, struct job *job)
{
	int status;

	NEED(type(terminal, "\032"));
	NEED(waitpid(job->pid, &status, WUNTRACED) == job->pid);
	NEED(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTSTP);
	NEED(becomes_stopped(job->program, true));

	NEED(tcsetpgrp(terminal->slave, job->pid) == 0);
	NEED(kill(-job->pid, SIGCONT) == 0);
	NEED(waitpid(job->pid, &status, WCONTINUED) == job->pid && WIFCONTINUED(status));
	NEED(reads(job->in, "got 18"));
	NEED(is_silent(job->in));
	NEED(process_state(job->program) != 'T');

	NEED(type(terminal, "\032"));
	NEED(waitpid(job->pid, &status, WUNTRACED) == job->pid && WIFSTOPPED(status));
	NEED(kill(job->pid, SIGCONT) == 0);
	NEED(becomes_stopped(job->program, false));
	NEED(reads(job->in, "got 18"));

	NEED(type(terminal, "\003"));
	NEED(reads(job->in, "got 02"));
	NEED(waitpid(job->pid, &status, 0) == job->pid);
	NEED(WIFEXITED(status) && WEXITSTATUS(status) == 5);
}

TEST(terminal_stop)
{
	EXPECT_EQ(0, on_terminal(stop_and_continue));
}

/* A program that reads from the terminal in the background is stopped, and massif-ctl with it. */
static void read_in_background(const struct terminal *terminal, struct job *job)
{
	const char *argv[] = { ctl_path(), "-q", "--massif-out-file=/dev/null", "cat", NULL };
	int status;
	pid_t pid;

	kill(job->program, SIGKILL);
	NEED(waitpid(job->pid, &status, 0) == job->pid);
	NEED(tcsetpgrp(terminal->slave, getpgrp()) == 0);
	pid = fork();
	if (pid == 0) {
		setpgid(0, 0);
		signal(SIGTTOU, SIG_DFL);
		for (int i = 0; i < 3; i++)
			dup2(terminal->slave, i);
		execv(argv[0], (char *const *)argv);
		_exit(99);
	}
	NEED(waitpid(pid, &status, WUNTRACED) == pid);
	NEED(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTTIN);
	NEED(tcsetpgrp(terminal->slave, pid) == 0);
	NEED(kill(-pid, SIGCONT) == 0);
	NEED(type(terminal, "typed\n\004"));
	NEED(reads(job->in, "typed"));
	NEED(waitpid(pid, &status, 0) == pid);
	NEED(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(terminal_background)
{
	EXPECT_EQ(0, on_terminal(read_in_background));
}

TEST_HARNESS_MAIN
