// SPDX-License-Identifier: GPL-2.0
// Growing arrays. When out of memory, ms_print cannot do anything useful, so it exits.

#include "memory.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

void mf_memory_grow_more(void **array, size_t *room, size_t need, size_t size)
{
	size_t count = *room ? *room : 16;
	void *grown = NULL;
	size_t bytes;

	while (count < need && count <= SIZE_MAX / 2)
		count *= 2;
	if (count >= need && !__builtin_mul_overflow(count, size, &bytes))
		grown = realloc(*array, bytes);
	if (!grown) {
		fprintf(stderr, "ms_print: out of memory\n");
		exit(ENOMEM);
	}
	*array = grown;
	*room = count;
}
