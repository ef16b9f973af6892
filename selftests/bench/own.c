// SPDX-License-Identifier: GPL-2.0
// Runs a command and measures its own CPU time and that of its children separately: own RESULT command...
//
// Writes one line to the file RESULT: CPU nanoseconds of the command itself, CPU nanoseconds of the children that it
// has waited for, exit status.

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void die(const char *what)
{
	perror(what);
	exit(125);
}

/* Returns the CPU time of all threads of process @pid, which has ended but has not been waited for. */
static unsigned long long own_ns(pid_t pid)
{
	struct timespec time;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &time))
		die("clock");
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

int main(int argc, char **argv)
{
	unsigned long long own, all;
	struct rusage usage;
	siginfo_t info;
	FILE *result;
	int status;
	pid_t pid;

	if (argc < 3) {
		fprintf(stderr, "usage: own RESULT command [argument...]\n");
		return 125;
	}
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		execvp(argv[2], argv + 2);
		die(argv[2]);
	}
	if (waitid(P_PID, pid, &info, WEXITED | WNOWAIT))
		die("waitid");
	own = own_ns(pid);
	if (wait4(pid, &status, 0, &usage) != pid)
		die("wait4");
	all = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000ULL +
	      (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000ULL;

	result = fopen(argv[1], "w");
	if (!result)
		die(argv[1]);
	fprintf(result, "%llu %llu %d\n", own, all > own ? all - own : 0,
		WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	return fclose(result) ? 125 : 0;
}
