// SPDX-License-Identifier: GPL-2.0
// Threads with different real-time priorities allocate and free on one processor. A thread with a higher priority that
// waits for one with a lower priority without leaving the processor would wait forever; an alarm ends the program then.
// Exits with 4 if real-time priorities are not permitted.

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS 8
#define ROUNDS	2000
#define BLOCKS	32
#define LIMIT	20 /* seconds */

static void allocate(unsigned int seed)
{
	void *blocks[BLOCKS] = { NULL };

	for (int i = 0; i < 40; i++) {
		seed = seed * 1103515245u + 12345u;
		free(blocks[seed >> 16 & (BLOCKS - 1)]);
		blocks[seed >> 16 & (BLOCKS - 1)] = malloc((seed >> 8) % 3000 + 1);
	}
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
}

/* @data: the thread's priority; 0: no real-time priority. */
static void *run(void *data)
{
	const struct sched_param priority = { .sched_priority = (int)(intptr_t)data };
	int code = pthread_setschedparam(pthread_self(), data ? SCHED_FIFO : SCHED_OTHER, &priority);

	if (code)
		_exit(code == EPERM ? 4 : 1);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		allocate(i);
		if (data && i % 20 == 0)
			usleep(50);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	cpu_set_t one;

	alarm(LIMIT);
	if (sched_getaffinity(0, sizeof(one), &one))
		return 1;
	for (int i = 0, n = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &one) && n++)
			CPU_CLR(i, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		return 1;
	for (intptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, run, (void *)(i * 3 % THREADS)))
			return 2;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	puts("fine");
	return 0;
}
