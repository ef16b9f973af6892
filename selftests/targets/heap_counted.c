// SPDX-License-Identifier: GPL-2.0
// heap_counted WAY [N]: a program whose instructions the shim counts with rdpmc. A signal handler emulates rdpmc by
// returning the thread's CPU time in ns; see selftests/lib/counter_broker.h. Prints its pid, its CPU time, the number
// of times the counter was read, and the increase in the number of open descriptors since the start.

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "../lib/counter_broker.h"

#define SLOTS	 64
#define WORK_NS	 20000000 /* CPU time in ns for which each thread allocates and frees blocks */
#define MIX	 0x9e3779b97f4a7c15u

static unsigned int reads; /* number of rdpmc reads; atomic */

static uint64_t cpu_ns(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* A signal handler that emulates the rdpmc instruction with a 48-bit counter. */
static void execute_rdpmc(int signal, siginfo_t *info, void *data)
{
	greg_t *registers = ((ucontext_t *)data)->uc_mcontext.gregs;
	const unsigned char *code = (const unsigned char *)registers[REG_RIP];
	uint64_t value = (cpu_ns(CLOCK_THREAD_CPUTIME_ID) - COUNTER_START) & ((1ull << 48) - 1);

	if (code[0] != 0x0f || code[1] != 0x33 || registers[REG_RCX] != 0)
		_exit(90);
	__atomic_add_fetch(&reads, 1, __ATOMIC_RELAXED);
	registers[REG_RAX] = (greg_t)(uint32_t)value;
	registers[REG_RDX] = (greg_t)(value >> 32);
	registers[REG_RIP] += 2;
}

static void *work(void *unused)
{
	uint64_t end = cpu_ns(CLOCK_THREAD_CPUTIME_ID) + WORK_NS, random = MIX;
	void *blocks[SLOTS] = { NULL };

	while (cpu_ns(CLOCK_THREAD_CPUTIME_ID) < end) {
		void **block;

		random = random * MIX + 1;
		block = &blocks[random >> 58];
		free(*block);
		*block = malloc(random >> 50 & 0xfff);
	}
	for (int i = 0; i < SLOTS; i++)
		free(blocks[i]);
	return NULL;
}

/* Runs half of the threads one after the other, and the other half concurrently. */
static void run_threads(int n)
{
	pthread_t threads[n];

	for (int i = 0; i < n; i++) {
		if (pthread_create(&threads[i], NULL, work, NULL))
			exit(91);
		if (i < n / 2)
			pthread_join(threads[i], NULL);
	}
	for (int i = n / 2; i < n; i++)
		pthread_join(threads[i], NULL);
	work(NULL);
}

static void run_child(int unused)
{
	pid_t pid;
	int status;

	for (int i = 0; i < 5; i++)
		work(NULL);
	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 5; i++)
			work(NULL);
		exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		exit(92);
	work(NULL);
}

/* Checks that errno is preserved by a thread's first two frees and first two allocations. */
static void *try_errno(void *data)
{
	void **blocks = data;

	errno = 4711;
	free(blocks[0]);
	free(blocks[1]);
	if (errno != 4711)
		exit(93);
	blocks[0] = malloc(10);
	blocks[1] = realloc(NULL, 20);
	if (errno != 4711)
		exit(94);
	free(blocks[0]);
	free(blocks[1]);
	return NULL;
}

static void run_errno(int n)
{
	for (int i = 0; i < n; i++) {
		void *blocks[] = { malloc(1), malloc(2) };
		pthread_t thread;

		if (pthread_create(&thread, NULL, try_errno, blocks) || pthread_join(thread, NULL))
			exit(91);
	}
}

static const struct {
	const char *name;
	void (*run)(int n);
} ways[] = {
	{ "threads", run_threads },
	{ "child", run_child },
	{ "errno", run_errno },
};

static int count_descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	int n = 0;

	while (directory && readdir(directory))
		n++;
	closedir(directory);
	return n;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_sigaction = execute_rdpmc, .sa_flags = SA_SIGINFO };
	int n = argc > 2 ? atoi(argv[2]) : 0, before = count_descriptors();

	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGILL, &action, NULL);
	/*
	 * Tell the counter broker, which answers perf_event_open() in place of the kernel, that this program can
	 * execute rdpmc.
	 */
	syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0);
	for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(*ways); i++) {
		if (strcmp(argv[1], ways[i].name) == 0)
			ways[i].run(n);
	}
	printf("%d: %lu ns, %u reads, %d descriptors\n", getpid(), cpu_ns(CLOCK_PROCESS_CPUTIME_ID),
	       reads, count_descriptors() - before);
	return 0;
}
