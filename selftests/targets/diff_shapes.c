// SPDX-License-Identifier: GPL-2.0
// diff_shapes SHAPE: SHAPE selects how the number of live bytes changes over time. If a block leaves less than 32 bytes
// of a hole unused, Massif's allocator adds this remainder to the block. The sizes are chosen so that there is no such
// remainder: including its 32-byte header, each block takes a multiple of 64 bytes.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define GIB (1024 * 1024 * 1024ul)

static void *volatile seen;

/* Returns @n times 64 bytes, minus the 32 bytes of a block's header and minus @slop, which is at most 15 bytes. */
static size_t size_of(uint32_t n, uint32_t slop)
{
	return n * 64 - 32 - slop % 16;
}

static __attribute__((noinline)) void *get(uint32_t n, uint32_t slop)
{
	void *block = malloc(size_of(n, slop));

	seen = block;
	return block;
}

static uint32_t random_next(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

/*
 * Allocates and frees in waves. Most waves peak slightly higher than the previous wave, so the profilers must decide
 * which of them are new peaks.
 */
static void waves(void)
{
	void *blocks[64];

	for (uint32_t wave = 0; wave < 40; wave++) {
		uint32_t n = 10 + wave / 8;

		for (uint32_t i = 0; i < n; i++)
			blocks[i] = get(10 + wave % 8, i);
		for (uint32_t i = n; i-- > 0;)
			free(blocks[i]);
	}
}

/* The total rises to the same value in each wave. A total equal to the previous peak is not a new peak. */
static void equal_waves(void)
{
	for (uint32_t wave = 0; wave < 30; wave++) {
		void *a = get(20, 0), *b = get(30, 3);

		free(b);
		free(a);
	}
}

/* Rises to a peak, falls to a third of it, and then stays low for a long time. */
static void plateau(void)
{
	void *blocks[60];

	for (uint32_t i = 0; i < 60; i++)
		blocks[i] = get(50, i);
	for (uint32_t i = 60; i-- > 20;)
		free(blocks[i]);
	for (uint32_t i = 0; i < 400; i++)
		free(get(3 + i % 5, i));
}

static void no_free(void)
{
	for (uint32_t i = 0; i < 150; i++)
		get(1 + i % 7, i);
}

static void churn(uint32_t events, uint32_t seed)
{
	static void *blocks[200];

	for (uint32_t i = 0; i < events; i++) {
		void **block = &blocks[random_next(&seed) % 200];

		if (*block) {
			free(*block);
			*block = NULL;
		} else {
			*block = get(1 + random_next(&seed) % 40, random_next(&seed));
		}
	}
}

static void churn_short(void)
{
	churn(300, 1);
}

static void churn_long(void)
{
	churn(6000, 2);
}

/* Makes the heap grow in equal steps, so that all snapshots are equally good candidates for culling. */
static void steps(void)
{
	for (uint32_t i = 0; i < 500; i++)
		get(2, 0);
}

/* Reallocs a block in place. This does not advance the time in bytes, so several snapshots have the same time. */
static void equal_times(void)
{
	char *block = get(16, 0);

	for (uint32_t i = 0; i < 40; i++) {
		block = realloc(block, size_of(16, i));
		if (i % 10 == 9)
			get(1, i);
	}
	free(block);
}

/* Allocates so much that the time, counted in bytes, does not fit in 32 bits. The memory is never touched. */
static void clock_4g(void)
{
	for (uint32_t i = 0; i < 60; i++) {
		void *block = malloc(GIB - 4096 * (i % 3));

		get(1, 0);
		if (!block)
			abort();
		free(block);
	}
}

/* Makes the interval between snapshots exceed 32 bits. Massif truncates this interval to 32 bits. */
static void clock_wrap(void)
{
	for (uint32_t i = 0; i < 200; i++) {
		void *block = malloc(GIB + GIB / 2 + 4096 * (i % 7));

		if (!block)
			abort();
		seen = block;
		free(block);
	}
}

static void nothing(void)
{
}

static void one(void)
{
	get(5, 5);
}

static const struct {
	const char *name;
	void (*run)(void);
} shapes[] = {
	{ "waves", waves },	    { "equal_waves", equal_waves }, { "plateau", plateau },
	{ "no_free", no_free },	    { "churn_short", churn_short }, { "churn_long", churn_long },
	{ "steps", steps },	    { "equal_times", equal_times }, { "clock_4g", clock_4g },
	{ "clock_wrap", clock_wrap }, { "nothing", nothing },	  { "one", one },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		if (argc > 1 && strcmp(argv[1], shapes[i].name) == 0) {
			shapes[i].run();
			return 0;
		}
	}
	return 2;
}
