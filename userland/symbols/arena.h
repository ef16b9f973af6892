/* SPDX-License-Identifier: GPL-2.0 */
/* Memory that is given back all at once. An all-zero arena is empty and ready. */
#ifndef MASSIF_SYMBOLS_ARENA_H
#define MASSIF_SYMBOLS_ARENA_H

#include <stddef.h>

struct mf_arena {
	struct mf_arena_chunk *chunks; /* the one in use first */
};

/* @size zeroed bytes, aligned for any type; NULL if memory is short. */
void *mf_arena_alloc(struct mf_arena *arena, size_t size);

void mf_arena_deinit(struct mf_arena *arena);

#endif
