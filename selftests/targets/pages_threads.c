// SPDX-License-Identifier: GPL-2.0
// Four threads that map, allocate and free concurrently; some mappings use MAP_POPULATE.

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define THREADS 4
#define ROUNDS	200

static void *work(void *arg)
{
	unsigned int number = (unsigned int)(uintptr_t)arg;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		size_t size = (1 + (i * 7 + number) % 60) * 4096;
		int flags = MAP_PRIVATE | MAP_ANONYMOUS | (i % 5 ? 0 : MAP_POPULATE);
		char *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, -1, 0);
		char *block = malloc(150000 + i * 100);

		if (mapped == MAP_FAILED || !block)
			return arg;
		memset(block, 1, 1000);
		mapped[0] = 1;
		free(block);
		if (i % 3)
			munmap(mapped, size / 2 & ~4095ul ? size / 2 & ~4095ul : size);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	void *failed = NULL, *result;

	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)i))
			return 1;
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &result);
		failed = failed ? failed : result;
	}
	puts("done");
	return failed != NULL;
}
