// SPDX-License-Identifier: GPL-2.0
// heap_replay THREADS ROUNDS one|all: threads allocate at 16 call sites, and resize and free each other's blocks. With
// "one", only one thread does so at a time, so that all calls have a definite order; with "all", all threads run
// concurrently. The last blocks are never freed.

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/heap_log.h"

#define SLOTS 900u

/* These functions are defined in libheap_log.so. */
extern void heap_log_enter(uint32_t number) __attribute__((weak));
extern void heap_log_site(uint32_t number, const void *code) __attribute__((weak));

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *volatile slots[SLOTS];
static unsigned long rounds;
static int one_at_a_time;

enum kind { MALLOC, CALLOC, REALLOC };

/* Each call site is in a function of its own, which calls the allocator directly. */
#define SITE(n)                                                                              \
	__attribute__((noinline, noclone, aligned(HEAP_LOG_SPAN))) static void *site_##n(     \
		enum kind kind, void *old, size_t size)                                       \
	{                                                                                    \
		void *block;                                                                 \
											\
		heap_log_enter(n);                                                           \
		if (kind == MALLOC)                                                          \
			block = malloc(size);                                                \
		else if (kind == CALLOC)                                                     \
			block = calloc(2, size / 2);                                         \
		else                                                                         \
			block = realloc(old, size);                                          \
		heap_log_enter(0);                                                           \
		return block;                                                                \
	}

SITE(1) SITE(2) SITE(3) SITE(4) SITE(5) SITE(6) SITE(7) SITE(8)
SITE(9) SITE(10) SITE(11) SITE(12) SITE(13) SITE(14) SITE(15) SITE(16)

static void *(*const sites[])(enum kind, void *, size_t) = {
	site_1, site_2, site_3,	 site_4,  site_5,  site_6,  site_7,  site_8,
	site_9, site_10, site_11, site_12, site_13, site_14, site_15, site_16,
};

static void *swap(unsigned int i, void *block)
{
	return __atomic_exchange_n(&slots[i], block, __ATOMIC_SEQ_CST);
}

/* Sizes tend to increase from round to round, so that there are always new peaks. */
static void step(unsigned long round, unsigned int random)
{
	unsigned int slot = (random >> 4) % SLOTS, site = (random >> 16) % 16;
	size_t size = 2 + (random >> 20) % 400 + round / 64;
	void *block = NULL;

	switch (random >> 9 & 7) {
	case 0:
	case 1: /* depending on the size, realloc keeps, shrinks or moves the block */
		block = swap(slot, NULL);
		block = sites[site](REALLOC, block, size);
		break;
	case 2:
		block = sites[site](CALLOC, NULL, size);
		break;
	case 3: /* free the block in the slot without allocating another */
		break;
	default:
		block = sites[site](MALLOC, NULL, size);
	}
	free(swap(slot, block));
}

static void *run(void *data)
{
	unsigned int random = (unsigned int)(size_t)data * 2654435761u + 1;

	for (unsigned long i = 0; i < rounds; i++) {
		random ^= random << 13;
		random ^= random >> 17;
		random ^= random << 5;
		if (one_at_a_time)
			pthread_mutex_lock(&lock);
		step(i, random);
		if (one_at_a_time)
			pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[HEAP_LOG_THREADS];
	pthread_attr_t attr;
	long n;

	if (argc < 4 || !heap_log_enter || !heap_log_site)
		return 1;
	n = atol(argv[1]);
	rounds = strtoul(argv[2], NULL, 10);
	one_at_a_time = !strcmp(argv[3], "one");
	for (uint32_t i = 0; i < 16; i++)
		heap_log_site(i + 1, (const void *)sites[i]);
	/*
	 * The C library caches the stacks of ended threads, up to 40 MiB in total, which is about 150 stacks of the
	 * size used here. While the stacks fit in the cache, the C library frees no blocks when threads end.
	 */
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 << 10);
	pthread_mutex_lock(&lock);
	for (long i = 1; i < n; i++)
		if (pthread_create(&threads[i], &attr, run, (void *)i))
			_exit(1);
	pthread_mutex_unlock(&lock);
	run(NULL);
	for (long i = 1; i < n; i++)
		pthread_join(threads[i], NULL);
	_exit(0);
}
