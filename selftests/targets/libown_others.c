// SPDX-License-Identifier: GPL-2.0
// A library without an allocator, but with related functions that call the program's allocator.

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

void *reallocarray(void *old, size_t n, size_t size)
{
	if (size && n > SIZE_MAX / size) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(old, n * size);
}

void cfree(void *block);

void cfree(void *block)
{
	free(block);
}

void free_sized(void *block, size_t size);

void free_sized(void *block, size_t size)
{
	(void)size;
	free(block);
}
