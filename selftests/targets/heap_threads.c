// SPDX-License-Identifier: GPL-2.0
// heap_threads alive|in_turn|fork THREADS: runs threads that have stacks of 16 KiB and allocate memory.
//
// Each thread keeps KEPT blocks of KEPT_BYTES, and allocates and frees others. When a thread ends, a thread key's
// destructor does the same in each round of destructors that the C library runs. With "alive", all threads are alive
// before the first one ends; with "in_turn", each ends before the next begins. With "fork", the process forks while all
// threads are alive. Parent and child then each allocate FORKED_BYTES, and the child runs the same number of threads of
// its own, one after the other. Kept blocks are never freed.

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heap_threads.h"

#define STACK_BYTES (16u << 10)

static pthread_barrier_t all_have_begun, all_may_end;
static pthread_key_t key;
static int together;
static void *volatile kept;

static void keep(size_t size)
{
	kept = malloc(size);
	memset(kept, 1, size);
}

static void churn(unsigned int rounds)
{
	for (unsigned int i = 0; i < rounds; i++) {
		void *volatile block = malloc(1 + i % 500);

		block = realloc(block, 2 + i % 700);
		free(block);
	}
}

/* The C library keeps calling this destructor while the key has a value; glibc calls it at most four times. */
static void destroy(void *data)
{
	free(data);
	churn(2);
	keep(HEAP_THREADS_ENDING_BYTES);
	pthread_setspecific(key, malloc(30));
}

static void *run(void *data)
{
	pthread_setspecific(key, malloc(30));
	for (int i = 0; i < HEAP_THREADS_KEPT; i++)
		keep(HEAP_THREADS_KEPT_BYTES);
	if (together) {
		pthread_barrier_wait(&all_have_begun);
		pthread_barrier_wait(&all_may_end);
	}
	churn(100);
	return data;
}

static pthread_attr_t *small_stacks(void)
{
	static pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	return &attr;
}

static pthread_t start(pthread_attr_t *attr)
{
	pthread_t thread;
	int code = pthread_create(&thread, attr, run, NULL);

	if (code) {
		fprintf(stderr, "pthread_create: %s\n", strerror(code));
		_exit(HEAP_THREADS_NO_MORE);
	}
	return thread;
}

static void run_in_turn(unsigned int n)
{
	pthread_attr_t *attr = small_stacks();

	together = 0;
	while (n--)
		pthread_join(start(attr), NULL);
}

static void fork_one(unsigned int n)
{
	pid_t pid = fork();
	int status;

	keep(HEAP_THREADS_FORKED_BYTES);
	if (pid == 0) {
		run_in_turn(n);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		_exit(2);
	dprintf(STDOUT_FILENO, "parent %d\n", (int)getpid());
}

static void run_together(unsigned int n, int forks)
{
	pthread_t *threads = calloc(n, sizeof(*threads));
	pthread_attr_t *attr = small_stacks();

	together = 1;
	pthread_barrier_init(&all_have_begun, NULL, n + 1);
	pthread_barrier_init(&all_may_end, NULL, n + 1);
	for (unsigned int i = 0; i < n; i++)
		threads[i] = start(attr);
	pthread_barrier_wait(&all_have_begun);
	if (forks)
		fork_one(n);
	pthread_barrier_wait(&all_may_end);
	for (unsigned int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	free(threads);
}

int main(int argc, char **argv)
{
	unsigned int n;

	if (argc < 3)
		return 1;
	n = (unsigned int)atoi(argv[2]);
	pthread_key_create(&key, destroy);
	if (strcmp(argv[1], "in_turn"))
		run_together(n, !strcmp(argv[1], "fork"));
	else
		run_in_turn(n);
	/* Exit without freeing the C library's own blocks. */
	_exit(0);
}
