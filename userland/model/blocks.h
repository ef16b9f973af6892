/* SPDX-License-Identifier: GPL-2.0 */
/* The live blocks of the heap, found by address. */
#ifndef MASSIF_MODEL_BLOCKS_H
#define MASSIF_MODEL_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/store.h"

struct mf_block {
	uint64_t address;
	uint64_t size;	   /* bytes requested */
	uint64_t capacity; /* bytes usable in the model, at least size */
	uint32_t context;  /* never MF_CONTEXT_NONE */
};

/*
 * Capacity of a fresh block of @size bytes: what Massif's own allocator would hand out. It keeps a
 * granule of 16 bytes and rounds blocks above 4 MiB to pages, with 64 bytes for itself. An
 * --alignment above 16 makes the granule larger (Documentation/model.rst).
 */
static inline uint64_t mf_blocks_capacity(uint64_t size, uint32_t alignment)
{
	uint64_t rounded = (size + alignment - 1) & ~(uint64_t)(alignment - 1);

	if (rounded + 64 > 4194304)
		rounded = ((rounded + 64 + 4095) & ~4095ull) - 64;
	return rounded;
}

/* Enters @block. Returns false when the store is full or the address is beyond the table. */
bool mf_blocks_put(struct mf_store *store, const struct mf_block *block);

/* Removes the latest block at @address and copies it to @block. Returns false if there is none. */
bool mf_blocks_take(struct mf_store *store, uint64_t address, struct mf_block *block);

/*
 * Calls @visit for every live block, in no particular order. For tests and reports: it reads the
 * whole table.
 */
void mf_blocks_walk(const struct mf_store *store,
		    void (*visit)(const struct mf_block *block, void *data), void *data);

#endif
