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
	int64_t heap_room;   /* the total, of stacks, too, may grow by this much */
	uint32_t may_shrink; /* a decrease makes no peak */

	/* The tally. How far the clock and the total have come is what is missing in their rooms. */
	uint32_t allocs, frees, reallocs; /* events that count */
	int64_t heap;			  /* of the total, what was asked for */
	int64_t stacks;			  /* of the total, theirs */
	uint32_t stack_growths, stack_shrinks;
	int64_t clock_granted, heap_granted;

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
	uint64_t heap, extra, stacks;
	int64_t time;
};

struct mf_tally_totals mf_tally_look(const struct mf_store *store, int64_t now);

/*
 * What a thread needs of the store for an event of the usual kind: places and options, none of which
 * change, side by side.
 */
struct mf_desk {
	struct mf_tally *tally;
	struct mf_cell *cells; /* its shard */
	const struct mf_store_header *header;
	struct mf_blocks blocks;
	uint64_t heap_admin;
	int64_t clock_mask; /* of what an event costs of the clock, see model.h */
	struct mf_store *store;
	uint32_t number;
};

static inline struct mf_desk mf_desk_of(struct mf_store *store, uint32_t number)
{
	return (struct mf_desk){
		.tally = mf_tally_of(store, number),
		.cells = mf_trie_cell(store, number, 0),
		.header = store->header,
		.blocks = mf_blocks_of(store),
		.heap_admin = mf_model_of(store)->options.heap_admin,
		.clock_mask = mf_model_of(store)->clock_mask,
		.store = store,
		.number = number,
	};
}

/* Does an event that advances the clock by @cost fit the allowance? */
static inline bool mf_tally_allows(const struct mf_desk *desk, int64_t cost)
{
	return desk->tally->clock_room >= cost && !desk->header->snapshot_due;
}

/* The total grows by @net bytes, of which @heap were asked for. */
static inline void mf_tally_change(struct mf_tally *tally, int64_t heap, int64_t net, int64_t cost)
{
	tally->heap += heap;
	tally->heap_room -= net;
	tally->clock_room -= cost;
}

/* As mf_trie_may_charge() and mf_trie_charge_shard(). */
static inline bool mf_desk_may_charge(const struct mf_desk *desk, uint32_t context)
{
	if (__builtin_expect(desk->cells[context].capture == desk->header->capture, 1))
		return true;
	return mf_capture_keep(desk->store, desk->number, context);
}

static inline void mf_desk_charge(const struct mf_desk *desk, uint32_t context, int64_t bytes)
{
	desk->cells[context].bytes += (uint64_t)bytes;
}

/* As mf_stacks_change(); or returns false and has done nothing. */
static inline bool mf_tally_stacks(const struct mf_desk *desk, int64_t change)
{
	int64_t cost = (change < 0 ? -change : change) & desk->clock_mask;
	struct mf_tally *tally = desk->tally;

	if (!mf_tally_allows(desk, cost) || tally->heap_room < change ||
	    (change < 0 && !tally->may_shrink))
		return false;
	tally->stacks += change;
	tally->stack_growths += change > 0;
	tally->stack_shrinks += change < 0;
	mf_tally_change(tally, 0, change, cost);
	return true;
}

/*
 * These do what the functions of heap.h do, in the shard and the tally of @desk, and return true; or
 * they return false and have done nothing: then it is the model's turn. Large blocks always are.
 * A free tells which block it was.
 */
static inline __attribute__((always_inline)) bool
mf_tally_alloc(const struct mf_desk *desk, uint64_t address, uint64_t size, uint32_t context)
{
	int64_t net = (int64_t)(mf_blocks_rounded(&desk->blocks, size) + desk->heap_admin);
	int64_t cost = net & desk->clock_mask;
	struct mf_tally *tally = desk->tally;
	uint64_t *slot;

	if (context < MF_CONTEXT_FIRST || size > MF_BLOCKS_ROUNDED_MAX ||
	    !mf_blocks_is_usual(address) || !mf_tally_allows(desk, cost) || tally->heap_room < net)
		return false;
	slot = mf_blocks_slot_in(&desk->blocks, address);
	if (__builtin_expect(!slot || *slot, 0) || !mf_desk_may_charge(desk, context))
		return false;
	*slot = mf_blocks_fresh(&desk->blocks, address, size, context);
	mf_desk_charge(desk, context, (int64_t)size);
	mf_tally_change(tally, (int64_t)size, net, cost);
	tally->allocs++;
	return true;
}

static inline __attribute__((always_inline)) bool
mf_tally_free(const struct mf_desk *desk, uint64_t address, struct mf_block *block)
{
	struct mf_tally *tally = desk->tally;
	uint64_t *slot, word, size, capacity;
	uint32_t context;
	int64_t net, cost;

	if (!mf_blocks_is_usual(address))
		return false;
	slot = mf_blocks_slot_in(&desk->blocks, address);
	if (__builtin_expect(!slot, 0))
		return false;
	/* Of a usual block that begins there, no bit above the context's is left. */
	word = *slot ^ mf_blocks_place(&desk->blocks, address);
	context = (uint32_t)(word >> MF_BLOCKS_CONTEXT_SHIFT);
	size = (uint32_t)word;
	capacity = mf_blocks_rounded(&desk->blocks, size) + mf_blocks_more(word);
	net = (int64_t)(capacity + desk->heap_admin);
	cost = net & desk->clock_mask;
	if (context - MF_CONTEXT_FIRST >= (1u << MF_BLOCKS_CONTEXT_BITS) - MF_CONTEXT_FIRST ||
	    size > MF_BLOCKS_ROUNDED_MAX || !tally->may_shrink || !mf_tally_allows(desk, cost) ||
	    !mf_desk_may_charge(desk, context))
		return false;
	*block = (struct mf_block){ address, size, capacity, context };
	*slot = 0;
	mf_desk_charge(desk, context, -(int64_t)size);
	mf_tally_change(tally, -(int64_t)size, -net, cost);
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

static inline bool mf_tally_realloc_end(const struct mf_desk *desk, const struct mf_block *old,
					uint64_t address, uint64_t size, uint32_t context)
{
	struct mf_block block = mf_heap_reallocated(desk->store, old, address, size, context);
	int64_t net = (int64_t)(block.capacity - old->capacity);
	int64_t cost = (net < 0 ? -net : net) & desk->clock_mask;
	struct mf_tally *tally = desk->tally;

	if (context < MF_CONTEXT_FIRST || old->context < MF_CONTEXT_FIRST ||
	    (size < old->size && !tally->may_shrink) || !mf_tally_allows(desk, cost) ||
	    tally->heap_room < net || !mf_desk_may_charge(desk, context) ||
	    !mf_desk_may_charge(desk, old->context) || !mf_blocks_put_usual(desk->store, &block))
		return false;
	mf_desk_charge(desk, context, (int64_t)size);
	mf_desk_charge(desk, old->context, -(int64_t)old->size);
	mf_tally_change(tally, (int64_t)(size - old->size), net, cost);
	tally->reallocs++;
	return true;
}

#endif
