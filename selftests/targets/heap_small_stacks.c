// SPDX-License-Identifier: GPL-2.0
// Threads with the smallest permitted stacks, one after the other: each allocates, resizes and frees. Also runs a
// coroutine on an even smaller stack, whose frames are mostly the same each time. With an argument, a thread with such a
// stack and a coroutine fork, and the children allocate.

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define COROUTINE 4096
#define FORKING	  8192
#define SPACE	  (64 * 1024)

static void *run(void *data)
{
	void *block = malloc(100);

	for (int i = 0; i < 200; i++)
		block = realloc(block, 100 + (size_t)i * 50);
	free(block);
	return data;
}

static ucontext_t home, away;
static void *volatile kept;

static __attribute__((noinline)) void allocate(int n)
{
	kept = malloc(100 + (size_t)n);
	free(kept);
}

static __attribute__((noinline)) void go_between(int n)
{
	allocate(n);
	kept = NULL;
}

static __attribute__((noinline)) void come_from_here(void)
{
	go_between(1);
	kept = NULL;
}

static __attribute__((noinline)) void come_from_there(void)
{
	go_between(2);
	kept = NULL;
}

static void run_coroutine(void)
{
	for (int i = 0; i < 100; i++) {
		come_from_here();
		come_from_there();
		go_between(3);
	}
}

static int died; /* number of children that did not end well */

static void fork_child(void)
{
	pid_t child = fork();
	int status;

	if (!child) {
		kept = malloc(10);
		_exit(!kept);
	}
	died += child < 0 || waitpid(child, &status, 0) != child || status;
}

static void *run_forking(void *data)
{
	fork_child();
	return data;
}

/*
 * Runs a coroutine on a stack of @size bytes that has inaccessible memory below it. Returns false on failure.
 */
static int start_coroutine(void (*function)(void), size_t size)
{
	char *space = mmap(NULL, 2 * SPACE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (space == MAP_FAILED || mprotect(space + SPACE, SPACE, PROT_READ | PROT_WRITE) ||
	    getcontext(&away))
		return 0;
	away.uc_stack.ss_sp = space + SPACE;
	away.uc_stack.ss_size = size;
	away.uc_link = &home;
	makecontext(&away, function, 0);
	return !swapcontext(&home, &away);
}

int main(int argc, char **argv)
{
	int forks = argc > 1;
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	if (pthread_attr_setstacksize(&attributes, (size_t)sysconf(_SC_THREAD_STACK_MIN)))
		return 1;
	for (int i = 0; i < (forks ? 1 : 300); i++) {
		pthread_t thread;

		if (pthread_create(&thread, &attributes, forks ? run_forking : run, NULL) ||
		    pthread_join(thread, NULL))
			return 2;
	}
	if (!(forks ? start_coroutine(fork_child, FORKING) : start_coroutine(run_coroutine, COROUTINE)))
		return 3;
	puts(died ? "a child died" : "fine");
	return 0;
}
