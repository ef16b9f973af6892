/* SPDX-License-Identifier: GPL-2.0 */
/* Calls allocation functions from several call sites. Also calls libc functions that allocate. */
#ifndef MASSIF_SELFTESTS_OWN_CALLS_H
#define MASSIF_SELFTESTS_OWN_CALLS_H

#include <stdlib.h>
#include <string.h>

#define PLACE static __attribute__((noinline))

PLACE void *one_place(size_t size)
{
	void *block = malloc(size);

	__asm__ volatile("" : : "r"(block));
	return block;
}

PLACE void *another_place(size_t n, size_t size)
{
	void *block = calloc(n, size);

	__asm__ volatile("" : : "r"(block));
	return block;
}

PLACE void *grow(void *block, size_t size)
{
	block = realloc(block, size);
	__asm__ volatile("" : : "r"(block));
	return block;
}

static void own_calls(void)
{
	void *blocks[10], *aligned = NULL;
	char *text;

	for (int i = 0; i < 10; i++)
		blocks[i] = i % 2 ? one_place(1000 + (size_t)i) : another_place(10, 90 + (size_t)i);
	for (int i = 0; i < 4; i++)
		free(blocks[i]);
	blocks[5] = grow(blocks[5], 5000);
	blocks[6] = grow(blocks[6], 100);
	blocks[7] = grow(NULL, 321);
	text = strdup("what libc allocates for the program is counted under its own function");
	if (!posix_memalign(&aligned, 16, 777))
		free(aligned);
	free(text);
	free(blocks[5]);
	free(NULL);
}

#endif
