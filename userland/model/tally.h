/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tallies: what each thread of the program has changed since the model last looked.
 *
 * Massif's model is a sequence of events: each one changes the totals, and then asks whether a
 * snapshot is due or a peak was passed. Nearly always the answer is no, and it can be known
 * beforehand for a while: so each thread has an allowance, and as long as it keeps within, it needs
 * neither the totals nor a lock, only its tally. An event that does not fit is handled by the model
 * itself, alone: all tallies are folded into the totals first, and new allowances made after it.
 * Whatever the model decides, it decides on exact totals; and what it decides is what it would have
 * decided had it seen each event.
 *
 * A thread's share of each context's bytes is its own, too (a shard): the tree of a snapshot is the
 * sum over the shards at a moment when no thread is in the middle of an event.
 */
#ifndef MASSIF_MODEL_TALLY_H
#define MASSIF_MODEL_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#include "model/blocks.h"
#include "model/heap.h"
#include "model/model.h"
#include "model/store.h"
#include "model/trie.h"

/* Two lines of the cache, since processors fetch lines in pairs. */
struct mf_tally {
	_Alignas(128) uint32_t busy; /* its thread is in the middle of an event */
	uint32_t in_use;

	/* The allowance. Bytes, or the clock's unit; below 0 there is none. */
	int64_t clock_room;  /* the clock may advance by this much */
	int64_t heap_room;   /* the total may grow by this much */
	uint32_t may_shrink; /* a decrease makes no peak */

	/* The tally. */
	uint32_t allocs, frees, reallocs; /* events that count */
	uint64_t clock;
	int64_t heap, extra;

	/* The pasts of its shard, see capture.h. */
	uint32_t first_chunk, last_chunk;
	uint32_t pasts_room; /* in the last chunk */
};

static inline struct mf_tally *mf_tally_of(const struct mf_store *store, uint32_t number)
{
	return (struct mf_tally *)store->regions[MF_REGION_TALLIES] + number;
}

/* Starts and ends the use of tally @number (below MF_SHARDS_MAX). Alone, between events. */
void mf_tally_begin(struct mf_store *store, uint32_t number);
void mf_tally_end(struct mf_store *store, uint32_t number);

/*
 * Before and after an event that the model handles itself, alone: the totals become exact; and the
 * allowances are made anew. The first is also for the reader of a program that has ended.
 */
void mf_tally_fold(struct mf_store *store);
void mf_tally_grant(struct mf_store *store);

/*
 * The totals with what the tallies hold, for a look at a program that runs: exact when nothing
 * happens meanwhile, else off by what does. @now as in mf_model_time().
 */
struct mf_tally_totals {
	uint64_t heap, extra;
	int64_t time;
};

struct mf_tally_totals mf_tally_look(const struct mf_store *store, int64_t now);

/* Does an event that advances the clock by @cost fit the allowance? */
static inline bool mf_tally_allows(const struct mf_store *store, const struct mf_tally *tally,
				   int64_t cost)
{
	return tally->clock_room >= cost && !store->header->snapshot_due;
}

static inline void mf_tally_change(struct mf_tally *tally, int64_t heap, int64_t extra, int64_t cost)
{
	tally->heap += heap;
	tally->extra += extra;
	tally->heap_room -= heap + extra;
	tally->clock_room -= cost;
	tally->clock += (uint64_t)cost;
}

/* What the change of the totals by @net bytes costs of the clock. */
static inline int64_t mf_tally_cost(const struct mf_store *store, int64_t net)
{
	return (net < 0 ? -net : net) & mf_model_of(store)->clock_mask;
}

/*
 * These do what the functions of heap.h do, in shard and tally @number, and return true; or they
 * return false and have done nothing: then it is the model's turn. A free tells which block it was.
 */
static inline __attribute__((always_inline)) bool
mf_tally_alloc(struct mf_store *store, uint32_t number, uint64_t address, uint64_t size,
	       uint32_t context)
{
	const struct mf_model_options *options = &mf_model_of(store)->options;
	struct mf_tally *tally = mf_tally_of(store, number);
	uint64_t capacity = mf_blocks_capacity(size, options->alignment);
	int64_t net = (int64_t)(capacity + options->heap_admin);
	int64_t cost = net & mf_model_of(store)->clock_mask;

	if (context < MF_CONTEXT_FIRST || !mf_tally_allows(store, tally, cost) ||
	    tally->heap_room < net || !mf_trie_may_charge(store, number, context) ||
	    !mf_blocks_put_fresh(store, address, size, context))
		return false;
	mf_trie_charge_shard(store, number, context, (int64_t)size);
	mf_tally_change(tally, (int64_t)size, net - (int64_t)size, cost);
	tally->allocs++;
	return true;
}

static inline __attribute__((always_inline)) bool
mf_tally_free(struct mf_store *store, uint32_t number, uint64_t address, struct mf_block *block)
{
	const struct mf_model_options *options = &mf_model_of(store)->options;
	struct mf_tally *tally = mf_tally_of(store, number);
	uint64_t *slot = mf_blocks_find_usual(store, address, block);
	int64_t net, cost;

	if (!slot || block->context < MF_CONTEXT_FIRST)
		return false;
	net = -(int64_t)(block->capacity + options->heap_admin);
	cost = -net & mf_model_of(store)->clock_mask;
	if (!tally->may_shrink || !mf_tally_allows(store, tally, cost) ||
	    !mf_trie_may_charge(store, number, block->context))
		return false;
	*slot = 0;
	mf_trie_charge_shard(store, number, block->context, -(int64_t)block->size);
	mf_tally_change(tally, -(int64_t)block->size, net + (int64_t)block->size, cost);
	tally->frees++;
	return true;
}

/* Takes the block out of the table, which changes no totals. */
static inline bool mf_tally_realloc_begin(struct mf_store *store, uint64_t address,
					  struct mf_block *block)
{
	uint64_t *slot = mf_blocks_find_usual(store, address, block);

	if (!slot)
		return false;
	*slot = 0;
	return true;
}

static inline bool mf_tally_realloc_end(struct mf_store *store, uint32_t number,
					const struct mf_block *old, uint64_t address, uint64_t size,
					uint32_t context)
{
	struct mf_tally *tally = mf_tally_of(store, number);
	struct mf_block block = mf_heap_reallocated(store, old, address, size, context);
	int64_t net = (int64_t)(block.capacity - old->capacity);
	int64_t cost = mf_tally_cost(store, net);

	if (context < MF_CONTEXT_FIRST || old->context < MF_CONTEXT_FIRST ||
	    (size < old->size && !tally->may_shrink) || !mf_tally_allows(store, tally, cost) ||
	    tally->heap_room < net || !mf_trie_may_charge(store, number, context) ||
	    !mf_trie_may_charge(store, number, old->context) ||
	    !mf_blocks_put_usual(store, &block))
		return false;
	mf_trie_charge_shard(store, number, context, (int64_t)size);
	mf_trie_charge_shard(store, number, old->context, -(int64_t)old->size);
	mf_tally_change(tally, (int64_t)(size - old->size), net - (int64_t)(size - old->size), cost);
	tally->reallocs++;
	return true;
}

#endif
