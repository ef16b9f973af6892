/* SPDX-License-Identifier: GPL-2.0 */
/* Growing arrays. Running out of memory ends the program. */
#ifndef MASSIF_MSPRINT_MEMORY_H
#define MASSIF_MSPRINT_MEMORY_H

#include <stddef.h>

/*
 * Makes room for at least @need elements of @size bytes in *@array, which the caller frees. At least doubles *@room,
 * the number of elements that fit. If memory runs out, prints a message and exits with status ENOMEM.
 */
void mf_memory_grow_more(void **array, size_t *room, size_t need, size_t size);

static inline void mf_memory_grow(void **array, size_t *room, size_t need, size_t size)
{
	if (need > *room)
		mf_memory_grow_more(array, room, need, size);
}

#endif
