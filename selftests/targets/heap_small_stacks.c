// SPDX-License-Identifier: GPL-2.0
// Threads with the smallest stacks allowed, in turn: each allocates, resizes and frees.

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *run(void *data)
{
	void *block = malloc(100);

	for (int i = 0; i < 200; i++)
		block = realloc(block, 100 + (size_t)i * 50);
	free(block);
	return data;
}

int main(void)
{
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	if (pthread_attr_setstacksize(&attributes, (size_t)sysconf(_SC_THREAD_STACK_MIN)))
		return 1;
	for (int i = 0; i < 300; i++) {
		pthread_t thread;

		if (pthread_create(&thread, &attributes, run, NULL) || pthread_join(thread, NULL))
			return 2;
	}
	puts("fine");
	return 0;
}
