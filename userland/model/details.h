/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Details of what each context allocates, for --record-detail=full: its largest block, how many of its blocks are live,
 * and histograms of the sizes, the lifetimes and the ages of its blocks.
 *
 * The classes of all histograms are those of mf_size_class(); the last one also has everything that is larger. The
 * lifetime of a block is the number of bytes that the program has allocated, in all threads, between the block's
 * allocation and its free. As elsewhere, realloc ends the life of the old block and allocates a new one.
 *
 * The age of a block is the number of blocks that its thread had allocated from this block on, including it, when the
 * thread freed it: class 0 has the blocks that were freed before their thread allocated another, which are the temporary
 * ones of mf_trie_temporaries(). Blocks that another thread has freed have no age. Threads that share a tally count as
 * one thread.
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

/* An element of MF_REGION_BIRTHS: when a block was allocated. */
struct mf_birth {
	uint64_t position; /* the value of the header's @position after the allocation, plus 1; or one of those below */
	/*
	 * the number of the allocation: @allocations of its tally times MF_SHARDS_MAX, plus the number of the tally; 0 if it
	 * is not known
	 */
	uint64_t number;
};

/* Special values of mf_birth.position. */
#define MF_BIRTH_NONE	 0ull
#define MF_BIRTH_UNKNOWN UINT64_MAX /* several blocks begin at this slot */

/* The end of a block's life, so that mf_details_revive() can undo it. */
struct mf_life {
	struct mf_birth born;
	uint32_t class;
};

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
 * The place in which an event is counted. @shard is the shard of the details, 0 if the model handles the event. @tally is
 * the number of the thread's tally; if the event is an allocation, the tally has already counted it (mf_tally_note_alloc()).
 */
struct mf_detail_place {
	uint32_t shard, tally;
};

/*
 * Count an allocation or a free of @context. They do nothing with blocks that are not counted. Context: the block is in
 * the table of blocks, or was there until now, and the caller is the only one to change the shard and the tally.
 */
void mf_details_alloc(struct mf_store *store, struct mf_detail_place place, uint32_t context, uint64_t address,
		      uint64_t size);
void mf_details_free(struct mf_store *store, struct mf_detail_place place, const struct mf_block *block);

/*
 * The parts of mf_details_free(), for realloc: mf_details_end_life() before the real function, since afterwards another
 * block may begin at this address; mf_details_end_age() when it is known that the old block is gone, but before the tally
 * counts the new one; mf_details_leave() when the old block is no longer counted. If it is counted after all,
 * mf_details_revive() undoes the first part. For that, no other thread may be counting an event.
 *
 * mf_details_end_age() has the block in class 0 if and only if mf_tally_note_free() counts it as temporary. @was_last says
 * whether it is the block that was allocated last in the tally.
 */
struct mf_life mf_details_end_life(struct mf_store *store, uint32_t shard, const struct mf_block *block);
void mf_details_end_age(struct mf_store *store, struct mf_detail_place place, const struct mf_block *block,
			struct mf_birth born, bool was_last);
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
