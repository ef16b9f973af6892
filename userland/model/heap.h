/* SPDX-License-Identifier: GPL-2.0 */
/* Heap mode's events: what an allocation, a free or a reallocation does to the model. */
#ifndef MASSIF_MODEL_HEAP_H
#define MASSIF_MODEL_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "model/blocks.h"
#include "model/store.h"

/*
 * One writer at a time: the caller serialises these. @now is the outside clock's time in the model's
 * unit; it is not looked at when the unit is bytes. @context is MF_CONTEXT_IGNORED for a block that
 * is to be known but not counted, and MF_CONTEXT_NONE (the store is full) counts the event as lost.
 */

/* A block of @size bytes came into being at @address. */
void mf_heap_alloc(struct mf_store *store, uint64_t address, uint64_t size, uint32_t context,
		   int64_t now);

/* The same for a block whose capacity is known, not modelled. */
void mf_heap_alloc_block(struct mf_store *store, const struct mf_block *block, int64_t now);

/* The block at @address is about to be freed. Unknown addresses are no event. */
void mf_heap_free(struct mf_store *store, uint64_t address, int64_t now);

/* The same, and tells which block it was; false if it was not known. */
bool mf_heap_free_block(struct mf_store *store, uint64_t address, struct mf_block *block, int64_t now);

/*
 * Does a free that has happened before, of which it is known that it makes no snapshot (see
 * mf_tally_put_off()). False if the block is not known.
 */
bool mf_heap_free_put_off(struct mf_store *store, uint64_t address);

/*
 * A reallocation has two halves, since other threads may be given the old address before it has
 * returned: the first takes the block out of the table (false: it is not known), the second enters
 * it at its new address and size, or puts it back as it was when the reallocation failed.
 */
bool mf_heap_realloc_begin(struct mf_store *store, uint64_t address, struct mf_block *block);

/*
 * Between the two, when the reallocation has succeeded: looks for a peak if @size is less than the
 * block's. It comes before the new place gets a context, which the peak's tree must not have.
 */
void mf_heap_realloc_shrinks(struct mf_store *store, const struct mf_block *block, uint64_t size,
			     int64_t now);
void mf_heap_realloc_end(struct mf_store *store, const struct mf_block *block, uint64_t address,
			 uint64_t size, uint32_t context, int64_t now);
void mf_heap_realloc_end_block(struct mf_store *store, const struct mf_block *old,
			       const struct mf_block *block, int64_t now);

/*
 * The block that @old becomes. One that fits into the capacity of the old one stays in place in the
 * model, whatever the real allocator did, and keeps that capacity.
 */
static inline struct mf_block mf_heap_reallocated(const struct mf_store *store,
						  const struct mf_block *old, uint64_t address,
						  uint64_t size, uint32_t context)
{
	return (struct mf_block){
		.address = address,
		.size = size,
		.capacity = size <= old->capacity ?
				    old->capacity :
				    mf_blocks_capacity(size, mf_model_of(store)->options.alignment),
		.context = context,
	};
}

void mf_heap_realloc_failed(struct mf_store *store, const struct mf_block *block);

#endif
