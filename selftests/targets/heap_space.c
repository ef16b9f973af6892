// SPDX-License-Identifier: GPL-2.0
// heap_space WAY [PROGRAM]: forks, or executes programs, and lists the descriptors that each process has open.

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define DESCRIPTORS 2000

extern char **environ;

static char *own_path;
static void *volatile block;
static long (*bare)(long number, ...); /* the C library's syscall(), which the shim does not intercept */

/* Lists the open descriptors, but omits the inode numbers of pipes and sockets. Allocates nothing. */
static void list(const char *who)
{
	char path[64], file[256], line[512];

	for (int fd = 0; fd < DESCRIPTORS; fd++) {
		ssize_t length;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		length = readlink(path, file, sizeof(file) - 1);
		if (length < 0)
			continue;
		file[length] = '\0';
		file[strcspn(file, "[")] = '\0';
		length = snprintf(line, sizeof(line), "%s: %d %s\n", who, fd, file);
		if (write(STDOUT_FILENO, line, (size_t)length) != length)
			_exit(90);
	}
}

static int wait_for(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 91;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void grow(void)
{
	block = malloc(1000);
}

static int leaf(char **argv)
{
	grow();
	list("program");
	return 3;
}

static int executed(char **argv)
{
	char *again[] = { own_path, "leaf", NULL };

	execv(own_path, again);
	return 92;
}

/* The child lists its descriptors both before and after its first event. */
static int forked(char **argv)
{
	pid_t pid = fork();
	int code;

	if (!pid) {
		list("new child");
		grow();
		list("child");
		_exit(3);
	}
	code = wait_for(pid);
	grow();
	list("parent");
	return code;
}

/* Forks a child, which itself forks before it has allocated or freed anything. */
static int forked_twice(char **argv)
{
	pid_t pid = fork();

	if (!pid) {
		int code = forked(argv);

		list("middle");
		_exit(code);
	}
	return wait_for(pid);
}

/* Forks with standard input closed, and with a limit on open files that leaves no high descriptor numbers available. */
static int forked_low(char **argv)
{
	const struct rlimit limit = { 64, 64 };

	if (close(STDIN_FILENO) || setrlimit(RLIMIT_NOFILE, &limit))
		return 94;
	return forked_twice(argv);
}

static int forked_executed(char **argv)
{
	pid_t pid = fork();

	if (!pid)
		_exit(executed(argv));
	return wait_for(pid);
}

/* Executes the given program with a raw system call, which the shim does not see. */
static int bare_over(char **argv)
{
	grow();
	bare(SYS_execve, argv[0], argv, environ);
	return 93;
}

static int forked_bare(char **argv)
{
	pid_t pid = fork();

	if (!pid)
		_exit(bare_over(argv));
	return wait_for(pid);
}

/* Executes the given program with a raw system call, in a child in which no event has occurred. */
static int newborn_bare(char **argv)
{
	pid_t pid = fork();

	if (!pid) {
		bare(SYS_execve, argv[0], argv, environ);
		_exit(93);
	}
	return wait_for(pid);
}

static void *bare_later(void *argv)
{
	/* Long enough for massif-ctl to look at the process several times after its first thread has ended. */
	usleep(300000);
	_exit(bare_over(argv));
}

/*
 * In a child, the first thread ends, and with it all entries of /proc/PID/maps. Later, another thread executes the given
 * program with a raw system call; the program then has the pid of the first thread.
 */
static int leaderless_bare(char **argv)
{
	pthread_t thread;
	pid_t pid = fork();

	if (!pid) {
		grow();
		if (pthread_create(&thread, NULL, bare_later, argv))
			_exit(95);
		bare(SYS_exit, 0);
	}
	return wait_for(pid);
}

/* Executes this test program again in a child, which then executes the given program with a raw system call. */
static int executed_bare(char **argv)
{
	char *again[] = { own_path, "bare_over", argv[0], NULL };
	pid_t pid = fork();

	if (!pid) {
		execv(own_path, again);
		_exit(92);
	}
	return wait_for(pid);
}

static const struct {
	const char *name;
	int (*run)(char **argv);
} ways[] = {
	{ "leaf", leaf },
	{ "executed", executed },
	{ "forked", forked },
	{ "forked_twice", forked_twice },
	{ "forked_low", forked_low },
	{ "forked_executed", forked_executed },
	{ "bare_over", bare_over },
	{ "forked_bare", forked_bare },
	{ "newborn_bare", newborn_bare },
	{ "executed_bare", executed_bare },
	{ "leaderless_bare", leaderless_bare },
};

int main(int argc, char **argv)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY);

	if (!libc)
		return 98;
	*(void **)&bare = dlsym(libc, "syscall");
	own_path = argv[0];
	for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(ways[i].name, argv[1]))
			return ways[i].run(argv + 2);
	return 99;
}
