/* SPDX-License-Identifier: GPL-2.0 */
/* An arena: memory that is allocated piece by piece and freed all at once. Zero-initialise it. */
#ifndef MASSIF_SYMBOLS_ARENA_H
#define MASSIF_SYMBOLS_ARENA_H

#include <stddef.h>

struct mf_arena {
	struct mf_arena_chunk *chunks; /* list of chunks; allocations come from the first */
};

/* Returns @size zeroed bytes, aligned for any type, or NULL if out of memory. */
void *mf_arena_alloc(struct mf_arena *arena, size_t size);

void mf_arena_deinit(struct mf_arena *arena);

#endif
