/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Details of what each context allocates, for --record-detail=full: its largest block, how many of its blocks are live,
 * and histograms of the sizes and of the lifetimes of its blocks.
 *
 * The classes of both histograms are those of mf_size_class(); the last one also has everything that is larger. The
 * lifetime of a block is the number of bytes that the program has allocated, in all threads, between the block's
 * allocation and its free. As elsewhere, realloc ends the life of the old block and allocates a new one.
 *
 * Like the cells of the trie, details are kept in shards, each of which only one thread at a time changes. A context
 * uses few classes. So its details have no counters, but refer to lines of eight counters, which are added when they are
 * first needed. If there is no room for a line, or if nobody knows when a block was allocated, the loss is counted.
 */
#ifndef MASSIF_MODEL_DETAILS_H
#define MASSIF_MODEL_DETAILS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/blocks.h"
#include "model/size_classes.h"
#include "model/store.h"
#include "model/trie.h"
#include "profile/details.h"

#define MF_DETAIL_LINE_CLASSES 8u

/* The details of one context in one shard. */
struct mf_detail {
	_Alignas(64) uint64_t blocks; /* live blocks; in a shard, this can be negative */
	uint64_t largest;	      /* size of the largest block that was allocated */
	/* numbers of the lines with the counters of the histograms' classes; 0: all of them are 0 */
	uint32_t lines[MF_DETAIL_HISTOGRAMS][MF_DETAIL_CLASSES / MF_DETAIL_LINE_CLASSES];
};

struct mf_detail_line {
	_Alignas(64) uint64_t counts[MF_DETAIL_LINE_CLASSES];
};

/* The end of a block's life, so that mf_details_revive() can undo it. */
struct mf_life {
	uint64_t born; /* as in MF_REGION_BIRTHS */
	uint32_t class;
};

/* Special values of MF_REGION_BIRTHS; others are the value of the header's @position after the allocation, plus 1. */
#define MF_BIRTH_NONE	 0ull
#define MF_BIRTH_UNKNOWN UINT64_MAX /* several blocks begin at this slot */

static inline bool mf_details_are_kept(const struct mf_store *store)
{
	return store->sizes[MF_REGION_DETAILS] != 0;
}

static inline uint64_t mf_details_contexts_max(const struct mf_store *store)
{
	return store->sizes[MF_REGION_DETAILS] / MF_SHARDS_MAX / sizeof(struct mf_detail);
}

/* Returns the details of @context in @shard, or NULL if there is no room for them. */
static inline struct mf_detail *mf_details_of(const struct mf_store *store, uint32_t shard, uint32_t context)
{
	uint64_t max = mf_details_contexts_max(store);

	if (__builtin_expect(context >= max, 0))
		return NULL;
	return (struct mf_detail *)store->regions[MF_REGION_DETAILS] + shard * max + context;
}

/*
 * Count an allocation or a free of @context in @shard. They do nothing with blocks that are not counted. Context: the
 * block is in the table of blocks, or was there until now, and the caller is the only one to change the shard.
 */
void mf_details_alloc(struct mf_store *store, uint32_t shard, uint32_t context, uint64_t address, uint64_t size);
void mf_details_free(struct mf_store *store, uint32_t shard, const struct mf_block *block);

/*
 * The two halves of mf_details_free(), for realloc: mf_details_end_life() before the real function, since afterwards
 * another block may begin at this address; mf_details_leave() when the old block is no longer counted. If it is counted
 * after all, mf_details_revive() undoes the first half. For that, no other thread may be counting an event.
 */
struct mf_life mf_details_end_life(struct mf_store *store, uint32_t shard, const struct mf_block *block);
void mf_details_leave(struct mf_store *store, uint32_t shard, uint32_t context);
void mf_details_revive(struct mf_store *store, const struct mf_block *block, struct mf_life life);

/* Returns the number of live blocks of @context in @shard. */
static inline uint64_t mf_details_blocks(const struct mf_store *store, uint32_t shard, uint32_t context)
{
	const struct mf_detail *detail = mf_details_of(store, shard, context);

	return detail ? __atomic_load_n(&detail->blocks, __ATOMIC_RELAXED) : 0;
}

/* What the shards of a context have together. */
struct mf_detail_sum {
	uint64_t largest;
	uint64_t counts[MF_DETAIL_HISTOGRAMS][MF_DETAIL_CLASSES];
};

/* Adds up the details of @context. Safe even if the memory is damaged. */
void mf_details_sum(const struct mf_store *store, uint32_t context, struct mf_detail_sum *sum);

#endif
