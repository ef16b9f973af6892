// SPDX-License-Identifier: GPL-2.0
// ends HOW MS BLOCKS [SIZE [drop]]: allocates and frees small blocks for MS milliseconds, then allocates BLOCKS blocks
// of SIZE bytes (default 1 MB) without pausing. It keeps these blocks until it ends; with "drop", it frees the last of
// them before it ends. HOW selects how it ends.

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void *volatile kept;

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void churn(double ms)
{
	double end = now_ms() + ms;

	while (ms > 0 && now_ms() < end) {
		for (size_t i = 0; i < 100; i++) {
			kept = malloc(16 + i);
			free(kept);
		}
	}
}

static __attribute__((noinline)) void *take(size_t size)
{
	return malloc(size);
}

static void burst(long blocks, size_t size)
{
	for (long i = 0; i < blocks; i++)
		kept = take(size);
}

static int status_from_main = -1;

static void end_by_return(void)
{
	status_from_main = 3;
}

/* When the program ends, the buffer of standard output is still allocated. */
static void end_by_print(void)
{
	puts("as ever");
	status_from_main = 3;
}

static void end_by_exit(void)
{
	exit(3);
}

static void end_by_exit_now(void)
{
	_exit(3);
}

static void end_by_quick_exit(void)
{
	quick_exit(3);
}

static void end_by_abort(void)
{
	abort();
}

static void end_by_sigterm(void)
{
	raise(SIGTERM);
}

static void end_by_sigsegv(void)
{
	*(volatile int *)NULL = 1;
}

static void end_by_sigkill(void)
{
	kill(getpid(), SIGKILL);
}

static void end_by_exec(void)
{
	execl("/bin/true", "true", NULL);
}

static void *run_thread(void *main_thread)
{
	pthread_join(*(pthread_t *)main_thread, NULL);
	pthread_exit(NULL);
}

/* Ends the main thread. The process ends when a second thread does. */
static void end_by_pthread_exit(void)
{
	static pthread_t self, thread;

	self = pthread_self();
	if (pthread_create(&thread, NULL, run_thread, &self) == 0)
		pthread_exit(NULL);
}

static const struct ending {
	const char *how;
	void (*end)(void);
} endings[] = {
	{ "return", end_by_return },	   { "print", end_by_print },
	{ "exit", end_by_exit },
	{ "_exit", end_by_exit_now },	   { "quick_exit", end_by_quick_exit },
	{ "abort", end_by_abort },	   { "sigterm", end_by_sigterm },
	{ "sigsegv", end_by_sigsegv },	   { "sigkill", end_by_sigkill },
	{ "pthread_exit", end_by_pthread_exit }, { "exec", end_by_exec },
};

static const struct ending *find(const char *how)
{
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		if (strcmp(how, endings[i].how) == 0)
			return &endings[i];
	}
	return NULL;
}

/*
 * HOW can also be "child:HOW", to do everything in a child process, or "killed", to wait until the process is killed.
 */
int main(int argc, char **argv)
{
	static const char child[] = "child:";
	size_t size = argc > 4 ? strtoul(argv[4], NULL, 0) : 1000000;
	const char *how = argc > 3 ? argv[1] : "";
	const struct ending *ending;

	alarm(1000);
	if (strncmp(how, child, strlen(child)) == 0) {
		how += strlen(child);
		if (fork())
			return wait(NULL) < 0;
	}
	ending = find(how);
	if (!ending && strcmp(how, "killed") != 0)
		return 2;
	churn(atof(argv[2]));
	burst(atol(argv[3]), size);
	if (argc > 5)
		free(kept);
	if (!ending) {
		/* Do not use stdio: it would allocate its buffer as one more block. */
		char line[32];
		int length = snprintf(line, sizeof(line), "ready %d\n", (int)getpid());

		if (write(STDOUT_FILENO, line, (size_t)length) != length)
			return 2;
		for (;;)
			pause();
	}
	ending->end();
	return status_from_main >= 0 ? status_from_main : errno;
}
