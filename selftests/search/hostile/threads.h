/* SPDX-License-Identifier: GPL-2.0 */
/* Building blocks of hostile programs: threads, stacks and coroutines. */
#ifndef MASSIF_SELFTESTS_THREADS_H
#define MASSIF_SELFTESTS_THREADS_H

#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "state.h"

#define THREADS_MOST 300

struct part {
	unsigned int number, p;
	uint64_t sum;
	void *block;
	sem_t *gate;
	pthread_barrier_t *all;
};

static pthread_key_t key;

static void key_ends(void *value)
{
	free(value);
	free(malloc(33));
}

UNUSED static void *work_in_thread(void *data)
{
	struct part *part = (struct part *)data;

	pthread_setspecific(key, malloc(100));
	if (part->all)
		pthread_barrier_wait(part->all);
	part->sum = churn(part->number + part->p, 40);
	part->block = malloc(part->number + 1);
	if (part->all)
		pthread_barrier_wait(part->all);
	return part;
}

/* Runs @count threads at once on stacks of @stack bytes (0: the default). Another thread frees their blocks. */
UNUSED static uint64_t threads_at_once(unsigned int count, size_t stack, unsigned int p)
{
	struct part *parts = (struct part *)calloc(count, sizeof(*parts));
	pthread_t *threads = (pthread_t *)calloc(count, sizeof(*threads));
	pthread_barrier_t all;
	pthread_attr_t attributes;
	uint64_t sum = 0;

	pthread_attr_init(&attributes);
	if (stack && pthread_attr_setstacksize(&attributes, stack))
		say("stack size refused\n");
	pthread_key_create(&key, key_ends);
	pthread_barrier_init(&all, NULL, count);
	for (unsigned int i = 0; i < count; i++) {
		parts[i].number = i;
		parts[i].p = p;
		parts[i].all = &all;
		if (pthread_create(&threads[i], &attributes, work_in_thread, &parts[i])) {
			say("no thread %u\n", i);
			_exit(98);
		}
	}
	for (unsigned int i = 0; i < count; i++) {
		pthread_join(threads[i], NULL);
		sum = mix(sum, parts[i].sum);
		free(parts[i].block);
	}
	pthread_barrier_destroy(&all);
	pthread_attr_destroy(&attributes);
	pthread_key_delete(key);
	free(threads);
	free(parts);
	return sum;
}

UNUSED static uint64_t piece_threads(unsigned int p)
{
	static const unsigned int counts[] = { 2, 7, 63, 64, 65, 130, 300 };

	return threads_at_once(counts[p % 7], 0, p);
}

UNUSED static uint64_t piece_small_stacks(unsigned int p)
{
	return threads_at_once(1 + p % 40, 16384, p);
}

/*
 * Runs threads on stacks that the program itself provides. As soon as a thread has ended, the program frees its stack,
 * unmaps it or makes it inaccessible.
 */
UNUSED static uint64_t piece_own_stacks(unsigned int p)
{
	size_t size = 32768 + p % 5 * 4096;
	uint64_t sum = 0;

	pthread_key_create(&key, key_ends);
	for (unsigned int i = 0; i < 60; i++) {
		struct part part = { i, p, 0, NULL, NULL, NULL };
		pthread_attr_t attributes;
		pthread_t thread;
		int kind = (int)((i + p) % 3);
		void *stack = kind == 2 ? memalign(4096, size) :
					  mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		pthread_attr_init(&attributes);
		pthread_attr_setstack(&attributes, stack, size);
		if (pthread_create(&thread, &attributes, work_in_thread, &part))
			return 1;
		pthread_join(thread, NULL);
		pthread_attr_destroy(&attributes);
		sum = mix(sum, part.sum);
		free(part.block);
		if (kind == 2)
			free(stack);
		else if (kind == 1)
			munmap(stack, size);
		else
			mprotect(stack, size, PROT_NONE);
	}
	pthread_key_delete(key);
	return sum;
}

UNUSED static void *end_oddly(void *data)
{
	unsigned int number = ((struct part *)data)->number;

	free(malloc(number + 1));
	if (number % 3 == 0)
		pthread_exit(NULL);
	if (number % 3 == 1)
		syscall(SYS_exit, 0);
	for (;;) {
		free(malloc(100));
		pthread_testcancel();
		usleep(100);
	}
	return NULL;
}

/*
 * Creates threads that are cancelled, threads that call pthread_exit(), and threads that make the exit system call
 * directly.
 */
UNUSED static uint64_t piece_thread_ends(unsigned int p)
{
	static struct part parts[30];
	pthread_t threads[30];
	uint64_t sum = 0;

	for (unsigned int i = 0; i < 30; i++) {
		parts[i].number = i + p;
		pthread_create(&threads[i], NULL, end_oddly, &parts[i]);
	}
	for (unsigned int i = 0; i < 30; i++) {
		void *result = NULL;

		if ((i + p) % 3 == 2)
			pthread_cancel(threads[i]);
		pthread_join(threads[i], &result);
		/* A thread that called the exit system call directly leaves no return value for pthread_join(). */
		if ((i + p) % 3 != 1)
			sum = mix(sum, (uint64_t)result);
	}
	return mix(sum, churn(p, 50));
}

#define COROUTINES 16

static ucontext_t coroutines[COROUTINES], back;
static uint64_t coroutine_sum;

UNUSED static void coroutine(int number)
{
	for (unsigned int i = 0; i < 10; i++) {
		coroutine_sum = mix(coroutine_sum, churn((unsigned int)number * 100 + i, 10));
		swapcontext(&coroutines[number], &back);
	}
}

UNUSED static uint64_t piece_coroutines(unsigned int p)
{
	size_t size = 16384;
	void *stacks[COROUTINES];

	coroutine_sum = p;
	for (int i = 0; i < COROUTINES; i++) {
		stacks[i] = i % 2 ? malloc(size) :
				    mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		getcontext(&coroutines[i]);
		coroutines[i].uc_stack.ss_sp = stacks[i];
		coroutines[i].uc_stack.ss_size = size;
		coroutines[i].uc_link = &back;
		makecontext(&coroutines[i], (void (*)(void))coroutine, 1, i);
	}
	for (unsigned int round = 0; round < 11; round++) {
		for (int i = 0; i < COROUTINES; i++)
			swapcontext(&back, &coroutines[(i * 7 + (int)p) % COROUTINES]);
	}
	for (int i = 0; i < COROUTINES; i++) {
		if (i % 2)
			free(stacks[i]);
		else
			munmap(stacks[i], size);
	}
	return coroutine_sum;
}

#endif
