// SPDX-License-Identifier: GPL-2.0
// Growing arrays. When out of memory, ms_print cannot do anything useful, so it exits.

#include "memory.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGE	   4096ul
#define LARGE	   (1ul << 20)

/*
 * A large array is filled from one end to the other, soon after it has grown. It is faster to ask for the pages of the new
 * part at once than to cause a page fault for each.
 */
static void populate(char *array, size_t old, size_t bytes)
{
	uintptr_t start = ((uintptr_t)array + old + PAGE - 1) & -PAGE, end = ((uintptr_t)array + bytes) & -PAGE;

	if (old >= LARGE && end > start)
		madvise((void *)start, end - start, MADV_POPULATE_WRITE);
}

void mf_memory_grow_more(void **array, size_t *room, size_t need, size_t size)
{
	size_t count = *room ? *room : 16;
	void *grown = NULL;
	size_t bytes;

	while (count < need && count <= SIZE_MAX / 2)
		count += count * size < LARGE ? count : count / 4;
	if (count >= need && !__builtin_mul_overflow(count, size, &bytes))
		grown = realloc(*array, bytes);
	if (!grown) {
		fprintf(stderr, "ms_print: out of memory\n");
		exit(ENOMEM);
	}
	populate(grown, *room * size, bytes);
	*array = grown;
	*room = count;
}
