/* SPDX-License-Identifier: GPL-2.0 */
/* Events of heap mode: what an allocation, a free or a reallocation changes in the model. */
#ifndef MASSIF_MODEL_HEAP_H
#define MASSIF_MODEL_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "model/blocks.h"
#include "model/store.h"

/*
 * There must be only one writer at a time: the caller serialises calls to these functions. For @now, see
 * mf_model_time() (model.h). @context is MF_CONTEXT_IGNORED for a block that is tracked but not counted; with
 * MF_CONTEXT_NONE (the store is full) the event counts as lost.
 */

/* Records a new block of @size bytes at @address. */
void mf_heap_alloc(struct mf_store *store, uint64_t address, uint64_t size, uint32_t context,
		   int64_t now);

/* Like mf_heap_alloc(), but the caller supplies the block's capacity. */
void mf_heap_alloc_block(struct mf_store *store, const struct mf_block *block, int64_t now);

/* Removes the block at @address, which is about to be freed. Ignores an unknown address. */
void mf_heap_free(struct mf_store *store, uint64_t address, int64_t now);

/* Like mf_heap_free(), but copies the block to *@block. Returns false if no block at @address is known. */
bool mf_heap_free_block(struct mf_store *store, uint64_t address, struct mf_block *block, int64_t now);

/*
 * Carries out a delayed free, which cannot trigger a snapshot (see mf_tally_delay_free()). Returns false if the block is
 * not known.
 */
bool mf_heap_free_delayed(struct mf_store *store, uint64_t address);

/*
 * A reallocation has two halves, because another thread may be given the old address before the real function returns.
 * mf_heap_realloc_begin() removes the block from the table and returns false if it is not known. mf_heap_realloc_end()
 * enters it with its new address and size; mf_heap_realloc_failed() puts it back unchanged.
 */
bool mf_heap_realloc_begin(struct mf_store *store, uint64_t address, struct mf_block *block);

/*
 * If @size is less than the block's size, checks whether a peak snapshot is required. Call this between
 * mf_heap_realloc_begin() and mf_heap_realloc_end() if the reallocation has succeeded. A context for the new stack may
 * be created only after this call, because the peak's tree must not contain it.
 */
void mf_heap_realloc_shrinks(struct mf_store *store, const struct mf_block *block, uint64_t size,
			     int64_t now);
void mf_heap_realloc_end(struct mf_store *store, const struct mf_block *block, uint64_t address,
			 uint64_t size, uint32_t context, int64_t now);
void mf_heap_realloc_end_block(struct mf_store *store, const struct mf_block *old,
			       const struct mf_block *block, int64_t now);

/*
 * Returns the block that @old becomes. If the new size fits into the old capacity, the model treats the block as
 * resized in place and keeps that capacity, whatever the real allocator did.
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
