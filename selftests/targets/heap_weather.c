// SPDX-License-Identifier: GPL-2.0
// heap_weather SECONDS: threads allocate, resize and free each other's blocks; threads are created and cancelled;
// libraries are loaded and unloaded; all kinds of child processes are created; and signals interrupt all of this.
// Prints what it did. Each surviving process ends with an allocation large enough to cause a snapshot even after
// several minutes.

#include <dlfcn.h>
#include <libgen.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload/massif.h"

#define CHURNERS 5
#define SLOTS	 2048
#define LAST	 (1u << 30)

extern char **environ;

static void *volatile slots[SLOTS];
static volatile int done;
static volatile sig_atomic_t alarms;
static volatile unsigned long cancelled, loaded, children;
static char directory[4096];

static void on_alarm(int signal)
{
	alarms++;
}

static void *swap(unsigned int i, void *block)
{
	return __atomic_exchange_n(&slots[i % SLOTS], block, __ATOMIC_SEQ_CST);
}

static void pass_blocks(unsigned int *random)
{
	void *block;

	*random = *random * 1103515245u + 12345;
	switch (*random >> 20 & 3) {
	case 0:
		block = realloc(swap(*random >> 8, NULL), (*random >> 18) + 1);
		break;
	case 1:
		block = calloc(1 + (*random >> 28), 100);
		break;
	case 2:
		block = NULL;
		break;
	default:
		block = malloc(*random >> 20);
	}
	free(swap(*random >> 9, block));
}

static void *churn(void *data)
{
	unsigned int random = (unsigned int)(size_t)data * 2654435761u + 1;
	char *stack = malloc(SIGSTKSZ);
	stack_t own = { .ss_sp = stack, .ss_size = SIGSTKSZ }, none = { .ss_flags = SS_DISABLE };

	sigaltstack(&own, NULL);
	while (!done) {
		pass_blocks(&random);
		/*
		 * Give massif-ctl time to write files: on a machine with only two processors, it competes with the
		 * program for them.
		 */
		if (!(random >> 8 & 255))
			usleep(200);
	}
	sigaltstack(&none, NULL);
	free(stack);
	return NULL;
}

#define STEPS 3000

/* A thread function without cancellation points. */
static void *march(void *data)
{
	volatile int *steps = data;
	unsigned int random = (unsigned int)(size_t)&random;

	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	for (*steps = 0; *steps < STEPS; ++*steps)
		pass_blocks(&random);
	pthread_testcancel();
	return NULL;
}

static void *cancel_threads(void *data)
{
	while (!done) {
		volatile int steps = 0;
		pthread_t thread;
		void *result;

		if (pthread_create(&thread, NULL, march, (void *)&steps) || pthread_cancel(thread) ||
		    pthread_join(thread, &result))
			abort();
		/* The thread may have been cancelled before it began. */
		if (steps && steps != STEPS)
			abort();
		cancelled += result == PTHREAD_CANCELED;
	}
	return NULL;
}

static void *load_libraries(void *data)
{
	while (!done) {
		static const char *const names[] = { "libheap_plugin_a.so", "libheap_plugin_b.so" };
		char path[4200];
		void *library, *(*allocate)(size_t);

		snprintf(path, sizeof(path), "%s/%s", directory, names[loaded++ % 2]);
		library = dlopen(path, RTLD_NOW);
		if (!library)
			abort();
		allocate = (void *(*)(size_t))dlsym(library, "plugin_allocate");
		for (unsigned int i = 0; i < 20; i++)
			free(swap(i * 97, allocate(300 + i)));
		dlclose(library);
		usleep(2000);
	}
	return NULL;
}

static void end_large(void)
{
	free(swap(0, NULL));
	swap(0, malloc(LAST));
	massif_snapshot();
}

static _Noreturn void live(void)
{
	unsigned int random = (unsigned int)getpid();

	for (int i = 0; i < 200; i++)
		pass_blocks(&random);
	end_large();
	_exit(0);
}

static void execute(void)
{
	execl("/bin/true", "true", NULL);
	_exit(1);
}

static pid_t fork_live(void)
{
	pid_t pid = fork();

	if (!pid)
		live();
	return pid;
}

static pid_t fork_idle(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	return pid;
}

static pid_t fork_execute(void)
{
	pid_t pid = fork();

	if (!pid)
		execute();
	return pid;
}

static pid_t fork_twice(void)
{
	pid_t pid = fork();

	if (!pid) {
		pid = fork_live();
		_exit(waitpid(pid, NULL, 0) != pid);
	}
	return pid;
}

static pid_t vfork_execute(void)
{
	pid_t pid = vfork();

	if (!pid)
		execute();
	return pid;
}

static pid_t spawn(void)
{
	char *argv[] = { "true", NULL };
	pid_t pid;

	return posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ) ? -1 : pid;
}

/* Clones without the C library: the child must not allocate, and has no profile. */
static pid_t clone_bare(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);

	if (!pid)
		syscall(SYS_exit_group, 0);
	return pid;
}

static void *have_children(void *data)
{
	static pid_t (*const ways[])(void) = {
		fork_live, fork_idle, fork_execute, fork_twice, vfork_execute, spawn, clone_bare,
	};

	while (!done) {
		pid_t pid = ways[children++ % (sizeof(ways) / sizeof(ways[0]))]();
		int status;

		while (waitpid(pid, &status, 0) < 0)
			;
		if (status)
			abort();
		usleep(40000);
	}
	return NULL;
}

static void *(*const works[])(void *) = {
	churn, churn, churn, churn, churn, cancel_threads, load_libraries, have_children,
};

int main(int argc, char **argv)
{
	struct itimerval timer = { { 0, 1000 }, { 0, 1000 } }, no_timer = { 0 };
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_ONSTACK | SA_RESTART };
	pthread_t threads[sizeof(works) / sizeof(works[0])];
	unsigned int seconds = argc > 1 ? (unsigned int)atoi(argv[1]) : 5;

	snprintf(directory, sizeof(directory), "%s", argv[0]);
	dirname(directory);
	sigaction(SIGPROF, &action, NULL);
	setitimer(ITIMER_PROF, &timer, NULL);
	for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++)
		if (pthread_create(&threads[i], NULL, works[i], (void *)(i + 1)))
			return 2;
	while (seconds)
		seconds = sleep(seconds);
	/*
	 * On a busy machine, this time may have been too short. Continue until a thread has been cancelled and enough
	 * libraries have been loaded and children created.
	 */
	while (!cancelled || loaded < 3 || children < 8)
		usleep(10000);
	done = 1;
	for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++)
		pthread_join(threads[i], NULL);
	setitimer(ITIMER_PROF, &no_timer, NULL);
	printf("%lu threads cancelled, %lu libraries loaded, %lu children, %d signals\n", cancelled,
	       loaded, children, (int)alarms);
	end_large();
	return 0;
}
