// SPDX-License-Identifier: GPL-2.0
// Disables reading the time-stamp counter, and then allocates for a while in two threads. Any attempt by them to read
// the counter raises SIGSEGV.

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

enum { KEPT = 1000, EVENTS = 500000 };

static __attribute__((noinline)) void *allocate(uint32_t way, int depth)
{
	volatile int frame = depth;
	void *block;

	if (!depth)
		return malloc(way % 1000 + 1);
	block = way & 1 ? allocate(way >> 1, depth - 1) : allocate(way >> 2, depth - 1);
	frame++;
	return block;
}

static void *run(void *data)
{
	void **kept = calloc(KEPT, sizeof(*kept));
	uint32_t way = 1;

	for (int i = 0; i < EVENTS; i++) {
		void **slot;

		way = way * 1664525 + 1013904223;
		slot = &kept[(way >> 8) % KEPT];
		free(*slot);
		*slot = allocate(way >> 10, 4);
	}
	for (int i = 0; i < KEPT; i++)
		free(kept[i]);
	free(kept);
	return NULL;
}

int main(void)
{
	pthread_t thread;

	if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV)) {
		perror("prctl");
		return 1;
	}
	run(NULL);
	pthread_create(&thread, NULL, run, NULL);
	run(NULL);
	pthread_join(thread, NULL);
	puts("done");
	return 0;
}
