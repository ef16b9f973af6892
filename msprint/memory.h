/* SPDX-License-Identifier: GPL-2.0 */
/* Memory that is there or ends the program. */
#ifndef MF_MSPRINT_MEMORY_H
#define MF_MSPRINT_MEMORY_H

#include <stddef.h>

/*
 * Makes room for at least need elements of size bytes each in *array, which the caller frees.
 * *room is the number of elements that it has room for; it at least doubles when it grows.
 * Never returns without the memory: the program says so and exits with ENOMEM.
 */
void mf_memory_grow_more(void **array, size_t *room, size_t need, size_t size);

static inline void mf_memory_grow(void **array, size_t *room, size_t need, size_t size)
{
	if (need > *room)
		mf_memory_grow_more(array, room, need, size);
}

#endif
