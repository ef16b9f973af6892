/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An allocator for programs that define their own allocation functions. Blocks are allocated consecutively from an
 * arena, each preceded by its size. Freed memory is not reused. As in many allocators, the functions call one another.
 * Each function definition is preceded by the macro OWN, which sets its attributes.
 */
#ifndef MASSIF_SELFTESTS_OWN_ALLOCATOR_H
#define MASSIF_SELFTESTS_OWN_ALLOCATOR_H

#include <stddef.h>
#include <string.h>

#ifndef OWN
#define OWN __attribute__((noipa))
#endif

/* The statement that this allocator executes when the arena is full. A program can define it differently. */
#ifndef OWN_NO_MORE
#define OWN_NO_MORE return NULL
#endif

static _Alignas(64) unsigned char own_arena[8 << 20];
static size_t own_used;
static unsigned long own_served; /* number of blocks allocated */
static unsigned long own_foreign; /* number of blocks of other allocators that were passed to this allocator's free() */

OWN void *malloc(size_t size)
{
	size_t need = (size + 31) & ~(size_t)15;
	size_t at = __atomic_fetch_add(&own_used, need, __ATOMIC_RELAXED);

	if (size > sizeof(own_arena) || at + need > sizeof(own_arena))
		OWN_NO_MORE;
	__atomic_add_fetch(&own_served, 1, __ATOMIC_RELAXED);
	memcpy(own_arena + at, &size, sizeof(size));
	return own_arena + at + 16;
}

OWN void free(void *block)
{
	unsigned char *byte = block;

	if (byte && (byte < own_arena || byte >= own_arena + sizeof(own_arena)))
		__atomic_add_fetch(&own_foreign, 1, __ATOMIC_RELAXED);
}

OWN void *calloc(size_t n, size_t size)
{
	return malloc(n * size);
}

OWN void *realloc(void *block, size_t size)
{
	size_t old = 0;
	void *fresh;

	if (block)
		memcpy(&old, (unsigned char *)block - 16, sizeof(old));
	if (block && !size) {
		free(block);
		return NULL;
	}
	fresh = malloc(size);
	if (fresh && block) {
		memcpy(fresh, block, old < size ? old : size);
		free(block);
	}
	return fresh;
}

/* Supports alignments up to 64. */
OWN void *memalign(size_t alignment, size_t size)
{
	unsigned char *block = malloc(size + 64);

	if (!block)
		return NULL;
	block += (alignment - (size_t)block % alignment) % alignment;
	memcpy(block - 16, &size, sizeof(size));
	return block;
}

OWN int posix_memalign(void **result, size_t alignment, size_t size)
{
	*result = memalign(alignment, size);
	return *result ? 0 : 12;
}

#endif
