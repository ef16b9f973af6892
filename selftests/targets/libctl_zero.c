// SPDX-License-Identifier: GPL-2.0
// An allocator whose realloc(p, 0) returns a block, like those of BSD and jemalloc.

#include <stdlib.h>

void *__libc_realloc(void *pointer, size_t size);

void *realloc(void *pointer, size_t size)
{
	return __libc_realloc(pointer, size ? size : 1);
}
