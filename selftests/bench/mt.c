// SPDX-License-Identifier: GPL-2.0
// Threads that allocate, fill, read and free blocks: mt THREADS BLOCKS [shared]
//
// Each thread allocates BLOCKS blocks. By default each thread calls a different function to allocate; with "shared",
// all threads call the same one.

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS 512

static long n_blocks;

struct slot {
	uint64_t *block;
	size_t words;
};

#define SITE(n)                                                        \
	static __attribute__((noinline)) void *allocate_##n(size_t size) \
	{                                                              \
		void *volatile block = malloc(size);                   \
									\
		return block;                                          \
	}

SITE(0)
SITE(1)
SITE(2)
SITE(3)
SITE(4)
SITE(5)
SITE(6)
SITE(7)

static void *(*const sites[])(size_t) = {
	allocate_0, allocate_1, allocate_2, allocate_3,
	allocate_4, allocate_5, allocate_6, allocate_7,
};

static uint64_t sum_of(const struct slot *slot)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < slot->words; i++)
		sum = sum * 31 + slot->block[i];
	return sum;
}

static void *work(void *data)
{
	void *(*allocate)(size_t) = *(void *(*const *)(size_t))data;
	struct slot slots[SLOTS] = { { NULL, 0 } };
	unsigned int random = 12345;
	uint64_t sum = 0;

	for (long i = 0; i < n_blocks; i++) {
		struct slot *slot;

		random = random * 1103515245 + 12345;
		slot = &slots[random >> 16 & (SLOTS - 1)];
		sum += sum_of(slot);
		free(slot->block);
		slot->words = 2 + (random >> 8 & 15);
		slot->block = allocate(slot->words * sizeof(uint64_t));
		memset(slot->block, 1, slot->words * sizeof(uint64_t));
	}
	for (int i = 0; i < SLOTS; i++)
		free(slots[i].block);
	return (void *)(uintptr_t)(sum & 1);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 2;
	int shared = argc > 3 && strcmp(argv[3], "shared") == 0;
	pthread_t threads[8];

	n_blocks = argc > 2 ? atol(argv[2]) : 0;
	if (n < 1 || n > 8)
		return 2;
	for (int i = 0; i < n; i++) {
		if (pthread_create(&threads[i], NULL, work, (void *)&sites[shared ? 0 : i]))
			return 1;
	}
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
