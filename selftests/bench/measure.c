// SPDX-License-Identifier: GPL-2.0
// Runs a command and measures the resources it uses: measure [--below] RESULT command arguments...
//
// Writes a JSON object to the file RESULT: exit status, CPU seconds used by the command and all its descendants,
// wall-clock seconds, the CPU seconds of the command's process alone, and peak resident memory in KiB.
//
// With --below, the command is a profiler that starts the program, and the peak is the program's. The object then also
// contains the profiler's own peak, and the wall-clock time and the profiler's CPU time, in seconds, between the end of
// the program and the end of the profiler.

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Polling interval for finding the child and measuring memory. The end of a process is noticed immediately. */
#define PERIOD_MS 5

struct process {
	pid_t pid;
	int pidfd;	/* descriptor of the process; -1: the process is not known yet, or has ended */
	double end;	/* time at which the process ended, in seconds; 0: still running */
	/* CPU seconds that the command itself (not its descendants) had used by the time process @pid ended */
	double cpu_end;
	long peak_kib;
};

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static __attribute__((noreturn)) void fail(const char *what)
{
	fprintf(stderr, "measure: %s: %s\n", what, strerror(errno));
	exit(125);
}

static void watch(struct process *process, pid_t pid)
{
	process->pid = pid;
	process->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
}

/* Sets @child to the first child of @process, if there is one yet. */
static void find_child(const struct process *process, struct process *child)
{
	char path[64];
	FILE *file;
	int pid;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", process->pid, process->pid);
	file = fopen(path, "r");
	if (!file)
		return;
	if (fscanf(file, "%d", &pid) == 1)
		watch(child, pid);
	fclose(file);
}

static void look_at(struct process *process)
{
	char path[64], line[128];
	long kib;
	FILE *file;

	if (process->pidfd < 0)
		return;
	snprintf(path, sizeof(path), "/proc/%d/status", process->pid);
	file = fopen(path, "r");
	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "VmHWM: %ld", &kib) == 1 && kib > process->peak_kib)
			process->peak_kib = kib;
	}
	fclose(file);
}

/* Returns the CPU seconds of a process. The process may have ended, but must not have been waited for. */
static double cpu_of(pid_t pid)
{
	struct timespec time = { 0, 0 };
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) == 0)
		clock_gettime(clock, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void note_end(struct process *process, pid_t command, const struct pollfd *polled)
{
	if (process->pidfd < 0 || !(polled->revents & POLLIN))
		return;
	process->end = now();
	process->cpu_end = cpu_of(command);
	close(process->pidfd);
	process->pidfd = -1;
}

/*
 * Until @command ends, tracks the peak memory of @command and of its child @program (unless that is NULL), and notes
 * when each of them ends.
 */
static void accompany(struct process *command, struct process *program)
{
	while (!command->end) {
		struct pollfd polled[] = {
			{ .fd = command->pidfd, .events = POLLIN },
			{ .fd = program ? program->pidfd : -1, .events = POLLIN },
		};

		poll(polled, 2, PERIOD_MS);
		if (program)
			note_end(program, command->pid, &polled[1]);
		note_end(command, command->pid, &polled[0]);
		look_at(command);
		if (!program)
			continue;
		if (!program->pid)
			find_child(command, program);
		look_at(program);
	}
}

static pid_t start(char **words)
{
	pid_t pid = fork();

	if (pid < 0)
		fail("fork");
	if (pid == 0) {
		execvp(words[0], words);
		fail(words[0]);
	}
	return pid;
}

/* Waits for all descendants to end, including orphans. Returns the command's status. */
static int reap(pid_t command)
{
	int status, result = -1;
	pid_t pid;

	while ((pid = wait(&status)) > 0) {
		if (pid == command)
			result = status;
	}
	return result;
}

static double seconds(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

int main(int argc, char **argv)
{
	struct process command = { .pidfd = -1 }, program = { .pidfd = -1 };
	bool below = argc > 1 && strcmp(argv[1], "--below") == 0;
	struct rusage usage;
	double begin;
	FILE *out;
	int status;

	argv += below;
	argc -= below;
	if (argc < 3) {
		fprintf(stderr, "usage: measure [--below] RESULT command arguments...\n");
		return 125;
	}
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	begin = now();
	watch(&command, start(argv + 2));
	accompany(&command, below ? &program : NULL);
	status = reap(command.pid);
	getrusage(RUSAGE_CHILDREN, &usage);
	/*
	 * ru_maxrss is exact, unlike the samples of VmHWM. But --below measures the profiler and the program
	 * separately, and ru_maxrss is the larger of their peaks, so it cannot be used there.
	 */
	if (!below && usage.ru_maxrss > command.peak_kib)
		command.peak_kib = usage.ru_maxrss;

	out = fopen(argv[1], "w");
	if (!out)
		fail(argv[1]);
	fprintf(out, "{\"status\": %d, \"cpu\": %.6f, \"user\": %.6f, \"wall\": %.6f, \"own_cpu\": %.6f, \"peak\": %ld",
		WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
		seconds(usage.ru_utime) + seconds(usage.ru_stime), seconds(usage.ru_utime),
		command.end - begin, command.cpu_end, below ? program.peak_kib : command.peak_kib);
	if (below && program.end)
		fprintf(out, ", \"after\": %.6f, \"after_cpu\": %.6f, \"tool_peak\": %ld",
			command.end - program.end, command.cpu_end - program.cpu_end,
			command.peak_kib);
	fprintf(out, "}\n");
	return fclose(out) ? 125 : 0;
}
