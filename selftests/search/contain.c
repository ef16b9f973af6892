// SPDX-License-Identifier: GPL-2.0
/*
 * contain [-l] [-t SECONDS] -d DIRECTORY -- COMMAND...: runs a command and records its output, its status and the
 * resources it used
 *
 * Files written to DIRECTORY: "out" and "err", the command's output; "status", how it ended; "time" and "memory", the
 * milliseconds and KiB it used. With -l, there is also "end", which gives the state of each of its processes at exit
 * (end_state.c). The command is killed after SECONDS. Processes that it leaves behind are terminated, too.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "selftests/search/end_state.h"

/* Time in milliseconds allowed for daemons left behind by the command to finish their work. */
#define GRACE_MS    3000
#define TICK_MS	    10
#define PROCESSES   4096
#define TRACE_FLAGS                                                                               \
	(PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXIT |    \
	 PTRACE_O_EXITKILL)

struct run {
	const char *directory;
	long seconds;
	bool look;
	FILE *end;
	pid_t pid;
	int status;
	bool ended, late;
};

/* The signal set for sigtimedwait(): only SIGCHLD, which is blocked. */
static sigset_t children;

static void die(const char *what)
{
	fprintf(stderr, "contain: %s: %s\n", what, strerror(errno));
	exit(125);
}

static FILE *open_in(const char *directory, const char *name)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "we");
	if (!file)
		die(path);
	return file;
}

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Waits until a process ends or stops, for at most TICK_MS milliseconds. */
static void wait_tick(void)
{
	struct timespec tick = { .tv_nsec = TICK_MS * 1000000 };

	sigtimedwait(&children, NULL, &tick);
}

/* Runs in the child: sets up descriptors and a session, and executes the command. Does not return. */
static void start(const struct run *run, char **argv)
{
	int out = fileno(open_in(run->directory, "out")), err = fileno(open_in(run->directory, "err"));
	int in = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (in < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
		_exit(125);
	closefrom(3);
	sigprocmask(SIG_UNBLOCK, &children, NULL);
	setsid();
	if (run->look)
		raise(SIGSTOP);
	execvp(argv[0], argv);
	dprintf(2, "contain: %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

/* Appends all descendants of @pid to @pids, which already has @count entries. Returns the new number of entries. */
static size_t descendants(pid_t pid, pid_t *pids, size_t count, size_t most)
{
	char path[64];
	FILE *file;
	int child;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	file = fopen(path, "re");
	if (!file)
		return count;
	while (count < most && fscanf(file, "%d", &child) == 1) {
		pids[count++] = child;
		count = descendants(child, pids, count, most);
	}
	fclose(file);
	return count;
}

static size_t signal_all(int signal)
{
	static pid_t pids[PROCESSES];
	size_t count = descendants(getpid(), pids, 0, PROCESSES);

	for (size_t i = 0; i < count; i++)
		kill(pids[i], signal);
	return count;
}

/* Called when a traced process has stopped: continues it, and first prints its state if it is about to exit. */
static void resume(const struct run *run, pid_t pid, int status)
{
	int event = status >> 16, signal = WSTOPSIG(status);

	if (event == PTRACE_EVENT_EXIT)
		end_state_print(pid, run->end);
	if (event == PTRACE_EVENT_STOP && signal != SIGTRAP) {
		/* A stop signal stopped the process. It must stay stopped until it receives SIGCONT. */
		ptrace(PTRACE_LISTEN, pid, NULL, NULL);
		return;
	}
	ptrace(PTRACE_CONT, pid, NULL, (void *)(long)(event ? 0 : signal));
}

/* Handles all stopped and ended processes. Returns whether any process is left. */
static bool collect(struct run *run)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0) {
		if (WIFSTOPPED(status)) {
			resume(run, pid, status);
		} else if (pid == run->pid) {
			run->status = status;
			run->ended = true;
		}
	}
	return pid == 0;
}

static void supervise(struct run *run)
{
	long begin = now_ms(), took = 0;
	long killed = 0;
	bool left = true;

	while (left) {
		bool had_ended = run->ended;

		left = collect(run);
		if (run->ended && !had_ended)
			took = now_ms() - begin;
		if (!run->ended && !run->late && now_ms() - begin > run->seconds * 1000) {
			run->late = true;
			signal_all(SIGKILL);
		}
		/*
		 * Daemons that the command has left behind get SIGTERM after GRACE_MS milliseconds, and SIGKILL after
		 * another GRACE_MS milliseconds.
		 */
		if (run->ended && left && now_ms() - begin - took > GRACE_MS * (killed + 1))
			signal_all(killed++ ? SIGKILL : SIGTERM);
		if (left)
			wait_tick();
	}
	fprintf(open_in(run->directory, "time"), "%ld\n", run->ended ? took : now_ms() - begin);
}

static void report(const struct run *run)
{
	FILE *file = open_in(run->directory, "status");
	struct rusage usage;

	if (run->late)
		fprintf(file, "still running after %ld s\n", run->seconds);
	else if (WIFSIGNALED(run->status))
		fprintf(file, "signal %d (%s)\n", WTERMSIG(run->status), strsignal(WTERMSIG(run->status)));
	else
		fprintf(file, "exit %d\n", WEXITSTATUS(run->status));
	fclose(file);
	getrusage(RUSAGE_CHILDREN, &usage);
	fprintf(open_in(run->directory, "memory"), "%ld\n", usage.ru_maxrss);
}

/* The child has stopped itself in start(), so PTRACE_SEIZE attaches before the command's first instruction. */
static void seize(struct run *run)
{
	int status;

	if (waitpid(run->pid, &status, WUNTRACED) != run->pid || !WIFSTOPPED(status))
		die("waitpid");
	if (ptrace(PTRACE_SEIZE, run->pid, NULL, (void *)(long)TRACE_FLAGS))
		die("ptrace");
	kill(run->pid, SIGCONT);
}

int main(int argc, char **argv)
{
	struct run run = { .seconds = 60 };
	int option;

	while ((option = getopt(argc, argv, "+lt:d:")) != -1) {
		if (option == 'l')
			run.look = true;
		else if (option == 't')
			run.seconds = atol(optarg);
		else if (option == 'd')
			run.directory = optarg;
		else
			exit(125);
	}
	if (!run.directory || !argv[optind]) {
		fprintf(stderr, "usage: contain [-l] [-t SECONDS] -d DIRECTORY -- COMMAND...\n");
		return 125;
	}
	if (prctl(PR_SET_CHILD_SUBREAPER, 1))
		die("prctl");
	if (run.look)
		run.end = open_in(run.directory, "end");
	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	sigprocmask(SIG_BLOCK, &children, NULL);
	run.pid = fork();
	if (run.pid < 0)
		die("fork");
	if (run.pid == 0)
		start(&run, argv + optind);
	if (run.look)
		seize(&run);
	supervise(&run);
	report(&run);
	return 0;
}
