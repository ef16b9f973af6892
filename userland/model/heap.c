// SPDX-License-Identifier: GPL-2.0
// Events of heap mode: what an allocation, a free or a reallocation changes in the model.

#include "model/heap.h"

#include "model/details.h"
#include "model/log.h"
#include "model/model.h"
#include "model/trie.h"

static bool is_counted(const struct mf_block *block)
{
	return block->context != MF_CONTEXT_IGNORED;
}

/* Returns the slop of a block: the bytes of its capacity that were not requested. */
static int64_t slop_of(const struct mf_block *block)
{
	return (int64_t)(block->capacity - block->size);
}

/* Returns the overhead of @block: the allocator's own bytes and the slop. */
static int64_t extra_of(const struct mf_model *model, const struct mf_block *block)
{
	return (int64_t)model->options.heap_admin + slop_of(block);
}

/* Returns where the details of the current event are counted. */
static struct mf_detail_place place_of(const struct mf_store *store)
{
	return (struct mf_detail_place){ .shard = 0, .tally = store->shard };
}

/* Adds @block to the table of blocks. If that fails, the block is ignored from then on. */
static bool enter(struct mf_store *store, const struct mf_block *block)
{
	if (block->context != MF_CONTEXT_NONE && mf_blocks_put(store, block))
		return true;
	/* The caller has already counted this event in @events, so move it to @events_lost. */
	store->header->events--;
	store->header->events_lost++;
	return false;
}

void mf_heap_alloc_block(struct mf_store *store, const struct mf_block *block, int64_t now)
{
	struct mf_model *model = mf_model_of(store);

	if (!enter(store, block))
		return;
	mf_log_event(store, MF_STEP_ALLOC, (int64_t)block->size, slop_of(block));
	if (is_counted(block)) {
		model->heap_allocs++;
		mf_trie_charge(store, block->context, (int64_t)block->size);
		mf_trie_count(store, block->context, block->size);
		if (mf_details_are_kept(store))
			mf_details_alloc(store, place_of(store), block->context, block->address, block->size);
		mf_model_change(model, (int64_t)block->size, extra_of(model, block));
		mf_model_attempt_on(store, MF_OCCASION_ALLOC, now);
	} else {
		model->ignored_allocs++;
		mf_log_event(store, MF_STEP_IGNORED, 0, 0);
	}
	mf_log_event(store, MF_STEP_ALLOC_END, 0, 0);
}

void mf_heap_alloc(struct mf_store *store, uint64_t address, uint64_t size, uint32_t context,
		   int64_t now)
{
	struct mf_block block = {
		.address = address,
		.size = size,
		.capacity = mf_blocks_capacity(size, mf_model_of(store)->options.alignment),
		.context = context,
	};

	mf_heap_alloc_block(store, &block, now);
}

bool mf_heap_free_block(struct mf_store *store, uint64_t address, struct mf_block *block, int64_t now)
{
	struct mf_model *model = mf_model_of(store);

	if (!mf_blocks_take(store, address, block))
		return false;
	mf_log_event(store, MF_STEP_FREE, 0, 0);
	if (is_counted(block)) {
		model->heap_frees++;
		mf_model_check_peak_on(store, MF_OCCASION_PEAK_BEFORE_FREE, now);
		mf_model_change(model, -(int64_t)block->size, -extra_of(model, block));
		mf_trie_charge(store, block->context, -(int64_t)block->size);
		if (mf_details_are_kept(store))
			mf_details_free(store, place_of(store), block);
		mf_model_attempt_on(store, MF_OCCASION_FREE, now);
	} else {
		model->ignored_frees++;
		mf_log_event(store, MF_STEP_IGNORED, 0, 0);
	}
	mf_log_event(store, MF_STEP_FREE_END, (int64_t)block->size, slop_of(block));
	return true;
}

bool mf_heap_free_delayed(struct mf_store *store, uint64_t address)
{
	struct mf_model *model = mf_model_of(store);
	struct mf_block block;

	if (!mf_blocks_take(store, address, &block))
		return false;
	if (is_counted(&block)) {
		model->heap_frees++;
		model->skipped_snapshots++;
		mf_model_change(model, -(int64_t)block.size, -extra_of(model, &block));
		mf_trie_charge(store, block.context, -(int64_t)block.size);
		if (mf_details_are_kept(store))
			mf_details_free(store, place_of(store), &block);
	} else {
		model->ignored_frees++;
	}
	return true;
}

void mf_heap_free(struct mf_store *store, uint64_t address, int64_t now)
{
	struct mf_block block;

	mf_heap_free_block(store, address, &block, now);
}

bool mf_heap_realloc_begin(struct mf_store *store, uint64_t address, struct mf_block *block)
{
	return mf_blocks_take(store, address, block);
}

void mf_heap_realloc_failed(struct mf_store *store, const struct mf_block *block)
{
	enter(store, block);
}

void mf_heap_realloc_shrinks(struct mf_store *store, const struct mf_block *block, uint64_t size,
			     int64_t now)
{
	mf_log_event(store, MF_STEP_REALLOC, (int64_t)size, 0);
	if (is_counted(block) && size < block->size)
		mf_model_check_peak_on(store, MF_OCCASION_PEAK_BEFORE_REALLOC, now);
}

/* Subtracts a block that can no longer be tracked, so that the totals cover exactly the tracked blocks. */
static void drop(struct mf_store *store, const struct mf_block *block)
{
	struct mf_model *model = mf_model_of(store);

	if (!is_counted(block))
		return;
	mf_model_change(model, -(int64_t)block->size, -extra_of(model, block));
	mf_trie_charge(store, block->context, -(int64_t)block->size);
	if (mf_details_are_kept(store))
		mf_details_leave(store, 0, block->context);
}

/* Replaces @old with @block in the totals. Either of them may be an ignored block, which does not affect the totals. */
static void exchange(struct mf_store *store, const struct mf_block *old,
		     const struct mf_block *block, int64_t now)
{
	struct mf_model *model = mf_model_of(store);

	if (!is_counted(old) || !is_counted(block))
		model->ignored_reallocs++;
	if (!is_counted(block)) {
		mf_log_event(store, MF_STEP_IGNORED, 0, 0);
		drop(store, old);
		return;
	}
	mf_trie_charge(store, block->context, (int64_t)block->size);
	mf_trie_count(store, block->context, block->size);
	if (mf_details_are_kept(store))
		mf_details_alloc(store, place_of(store), block->context, block->address, block->size);
	if (is_counted(old)) {
		mf_trie_charge(store, old->context, -(int64_t)old->size);
		if (mf_details_are_kept(store))
			mf_details_leave(store, 0, old->context);
		mf_model_change(model, (int64_t)block->size - (int64_t)old->size,
				extra_of(model, block) - extra_of(model, old));
	} else {
		mf_model_change(model, (int64_t)block->size, extra_of(model, block));
	}
	mf_model_attempt_on(store, MF_OCCASION_REALLOC, now);
}

void mf_heap_realloc_end_block(struct mf_store *store, const struct mf_block *old,
			       const struct mf_block *block, int64_t now)
{
	if (is_counted(old))
		mf_model_of(store)->heap_reallocs++;
	if (enter(store, block))
		exchange(store, old, block, now);
	else
		drop(store, old);
	mf_log_event(store, MF_STEP_REALLOC_END, (int64_t)block->size - (int64_t)old->size,
		     slop_of(block) - slop_of(old));
}

void mf_heap_realloc_end(struct mf_store *store, const struct mf_block *old, uint64_t address,
			 uint64_t size, uint32_t context, int64_t now)
{
	struct mf_block block = mf_heap_reallocated(store, old, address, size, context);

	mf_heap_realloc_end_block(store, old, &block, now);
}
