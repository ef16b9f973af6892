/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tallies: what the threads of the program have changed since the model last looked. A thread begins with
 * the tally that has the fewest users. So up to MF_SHARDS_MAX threads have one each, and more threads share
 * them: a tally is changed by one thread at a time.
 *
 * Massif's model is a sequence of events: each one changes the totals, and then asks whether a
 * snapshot is due or a peak was passed. Nearly always the answer is no, and it can be known
 * beforehand for a while: so each thread has an allowance, and as long as it keeps within, it needs
 * neither the totals nor a lock, only its tally. An event that does not fit is handled by the model
 * itself, alone: all tallies are folded into the totals first, and new allowances made after it.
 * Whatever the model decides, it decides on exact totals; and what it decides is what it would have
 * decided had it seen each event.
 *
 * A tally's share of each context's bytes is its own, too (a shard): the tree of a snapshot is the
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

/* Two lines of the cache, since processors fetch lines in pairs. What most events need is in the first. */
struct mf_tally {
	_Alignas(128) uint32_t busy; /* one of its threads is in the middle of an event: a lock, see gate.h */
	uint32_t users;		     /* threads that have it */

	/* The allowance. Below 0 there is none. */
	int64_t clock_room; /* bytes that may come and go; where time is not bytes: plenty, or none */
	int64_t heap_room;  /* the total, of stacks, too, may grow by this much */
	uint64_t capture;   /* a context that has this one may be charged, */
	uint64_t capture_down; /* and with a decrease; MF_CAPTURE_NEVER: that may make a peak */

	/* The tally. How far the clock and the total have come is what is missing in their rooms. */
	uint32_t allocs, frees; /* events that count */
	int64_t heap;		/* of the total, what was asked for */
	uint64_t put_off;	/* the address of a block that is free, and in the table yet; 0: none */
	uint32_t reallocs;
	uint32_t stack_growths, stack_shrinks;
	uint16_t pasts_room; /* of its shard, see below: in the last chunk */
	uint8_t may_shrink;  /* a decrease makes no peak, */
	uint8_t may_put_off; /* and can wait for the next event */
	int64_t stacks;	     /* of the total, theirs */
	int64_t clock_granted, heap_granted;
	int64_t instructions, instructions_room; /* the clock, where time is these */

	/* The pasts of its shard, see capture.h. */
	uint32_t first_chunk, last_chunk;
};

static inline struct mf_tally *mf_tally_of(const struct mf_store *store, uint32_t number)
{
	return (struct mf_tally *)store->regions[MF_REGION_TALLIES] + number;
}

/* The tally with the fewest users, of these the first. Alone. */
uint32_t mf_tally_least_used(const struct mf_store *store);

/* A thread starts and ends its use of tally @number (below MF_SHARDS_MAX). Alone, between events. */
void mf_tally_begin(struct mf_store *store, uint32_t number);
void mf_tally_end(struct mf_store *store, uint32_t number);

/* For the copy of a forked process, which has none of the threads that used the tallies: nobody uses any. */
void mf_tally_end_all(struct mf_store *store);

/*
 * Before and after an event that the model handles itself, alone: the totals become exact, what was put
 * off is done; and the allowances are made anew.
 */
void mf_tally_fold(struct mf_store *store);
void mf_tally_grant(struct mf_store *store);

/*
 * For the reader of a program that has ended: what it did is added up. Nothing is done any more: a block
 * whose free was put off is counted among those that were freed, and the looks below know of it.
 */
void mf_tally_close(struct mf_store *store);

/* Calls @visit for each block that is in the table, but whose free was put off. */
void mf_tally_walk_put_off(const struct mf_store *store,
			   void (*visit)(const struct mf_block *block, void *data), void *data);

/*
 * Time is milliseconds, and that of the next snapshot has come: the next event is the model's. For who
 * keeps the time, which is not the program. An event that is in the middle of its change may overwrite
 * this: say it again after a while.
 */
void mf_tally_hurry(struct mf_store *store);

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
struct mf_tally_ctx {
	struct mf_tally *tally;
	struct mf_cell *cells; /* its shard */
	struct mf_blocks blocks;
	uint64_t heap_admin;
	struct mf_store *store;
	uint32_t number;
};

static inline struct mf_tally_ctx mf_tally_ctx_of(struct mf_store *store, uint32_t number)
{
	return (struct mf_tally_ctx){
		.tally = mf_tally_of(store, number),
		.cells = mf_trie_cell(store, number, 0),
		.blocks = mf_blocks_of(store),
		.heap_admin = mf_model_of(store)->options.heap_admin,
		.store = store,
		.number = number,
	};
}

/* The total grows by @net bytes, of which @heap were asked for, and the clock advances by @cost. */
static inline void mf_tally_change(struct mf_tally *tally, int64_t heap, int64_t net, int64_t cost)
{
	tally->heap += heap;
	tally->heap_room -= net;
	tally->clock_room -= cost;
}

/* The thread has executed @n more instructions, which is time. False: it is the model's turn. */
static inline bool mf_tally_advance(struct mf_tally *tally, int64_t n)
{
	tally->instructions += n;
	return tally->instructions <= tally->instructions_room;
}

/*
 * Sees to it that @context may be charged, which does not know the newest capture, or is none that
 * counts. Without @keeps that would take a call: false.
 */
static inline bool mf_tally_ctx_prepare(const struct mf_tally_ctx *desk, uint32_t context, bool keeps)
{
	return keeps && context >= MF_CONTEXT_FIRST &&
	       mf_tree_version_keep(desk->store, desk->number, context);
}

static inline bool mf_tally_ctx_may_charge(const struct mf_tally_ctx *desk, uint32_t context)
{
	return __builtin_expect(desk->cells[context].capture == desk->tally->capture, 1) ||
	       mf_tally_ctx_prepare(desk, context, true);
}

static inline void mf_tally_ctx_charge(const struct mf_tally_ctx *desk, uint32_t context, int64_t bytes)
{
	desk->cells[context].bytes += (uint64_t)bytes;
}

/* As mf_stacks_change(); or returns false and has done nothing. */
static inline bool mf_tally_stacks(const struct mf_tally_ctx *desk, int64_t change)
{
	int64_t cost = change < 0 ? -change : change;
	struct mf_tally *tally = desk->tally;

	if (tally->clock_room < cost || tally->heap_room < change ||
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
 * A free tells which block it was. Without @keeps nothing is called, and few things more are left to
 * others.
 *
 * Whatever can be is tested at once: a slot that is no usual block's has a context that there is not,
 * and of a context that does not count the capture is none that there is.
 */
static inline __attribute__((always_inline)) bool
mf_tally_alloc_in(const struct mf_tally_ctx *desk, uint32_t *slot, uint64_t address, uint64_t size,
		  uint32_t context, bool keeps)
{
	struct mf_tally *tally = desk->tally;
	struct mf_cell *cell;
	int64_t net;

	if (size > MF_BLOCKS_ROUNDED_MAX || __builtin_expect(!slot || slot[0], 0) ||
	    (mf_blocks_is_long(size) && __builtin_expect(slot[1], 0)))
		return false;
	cell = &desk->cells[context];
	if (__builtin_expect(cell->capture != tally->capture, 0) &&
	    !mf_tally_ctx_prepare(desk, context, keeps))
		return false;
	net = (int64_t)(mf_blocks_rounded(&desk->blocks, size) + desk->heap_admin);
	if (tally->clock_room < net || tally->heap_room < net)
		return false;
	mf_blocks_write_fresh(&desk->blocks, slot, address, size, context);
	cell->bytes += size;
	mf_tally_change(tally, (int64_t)size, net, net);
	tally->allocs++;
	return true;
}

static inline __attribute__((always_inline)) bool
mf_tally_alloc(const struct mf_tally_ctx *desk, uint64_t address, uint64_t size, uint32_t context,
	       bool keeps)
{
	return mf_tally_alloc_in(desk, mf_blocks_usual_slot(&desk->blocks, address), address, size,
				 context, keeps);
}

static inline __attribute__((always_inline)) bool
mf_tally_free_in(const struct mf_tally_ctx *desk, uint32_t *slot, uint64_t address, struct mf_block *block,
		 bool keeps, bool alone)
{
	struct mf_tally *tally = desk->tally;
	struct mf_usual_block usual;
	struct mf_cell *cell;
	uint32_t first, second;
	uint64_t capacity;
	int64_t net;

	if (__builtin_expect(!slot, 0))
		return false;
	/* Of a usual block that begins there, which never is a large one, no bit above the context's is left. */
	first = *slot ^ mf_blocks_place(&desk->blocks, address);
	second = slot[alone ? 1 : first & MF_BLOCKS_LONG];
	usual = mf_blocks_parse_fresh(first, second);
	if (keeps && first & MF_BLOCKS_SHRUNK && !(first & MF_BLOCKS_KIND))
		usual = mf_blocks_parse(first, second);
	if (usual.context - MF_CONTEXT_FIRST >=
	    (1u << MF_BLOCKS_CONTEXT_BITS) - MF_CONTEXT_FIRST)
		return false;
	capacity = mf_blocks_rounded(&desk->blocks, usual.size) + usual.more;
	net = (int64_t)(capacity + desk->heap_admin);
	cell = &desk->cells[usual.context];
	if (__builtin_expect(cell->capture != tally->capture_down, 0) &&
	    (!tally->may_shrink || !mf_tally_ctx_prepare(desk, usual.context, keeps)))
		return false;
	if (tally->clock_room < net)
		return false;
	*block = (struct mf_block){ address, usual.size, capacity, usual.context };
	if (alone)
		mf_blocks_clear_alone(slot, first, second);
	else
		mf_blocks_clear(slot, first);
	cell->bytes -= usual.size;
	mf_tally_change(tally, -(int64_t)usual.size, -net, net);
	tally->frees++;
	return true;
}

static inline __attribute__((always_inline)) bool
mf_tally_free(const struct mf_tally_ctx *desk, uint64_t address, struct mf_block *block, bool keeps)
{
	return mf_tally_free_in(desk, mf_blocks_usual_slot(&desk->blocks, address), address, block, keeps,
				false);
}

/*
 * A free waits for its block's slot, which is far away in a heap that is larger than the caches; but
 * nothing waits for the free. So it can be put off until the thread's next event, before which it is done
 * (the thread settles). For a thread that is alone and has settled: before another one begins, all is folded.
 * False: it has to be done now, since it may make a snapshot.
 */
static inline __attribute__((always_inline)) bool mf_tally_put_off(const struct mf_tally_ctx *desk,
								   uint64_t address)
{
	struct mf_tally *tally = desk->tally;

	if (__builtin_expect(!tally->may_put_off || tally->clock_room < 0, 0))
		return false;
	tally->put_off = address;
	return true;
}

/* Does what the thread has put off, if anything: of the block in @slot; or returns false, as mf_tally_free() does. */
static inline __attribute__((always_inline)) bool
mf_tally_settle_in(const struct mf_tally_ctx *desk, uint32_t *slot, bool keeps)
{
	struct mf_tally *tally = desk->tally;
	struct mf_block block;

	if (!tally->put_off)
		return true;
	if (__builtin_expect(!mf_tally_free_in(desk, slot, tally->put_off, &block, keeps, true), 0))
		return false;
	tally->put_off = 0;
	return true;
}

static inline bool mf_tally_settle(const struct mf_tally_ctx *desk, bool keeps)
{
	return mf_tally_settle_in(desk, mf_blocks_usual_slot(&desk->blocks, desk->tally->put_off), keeps);
}

/* Takes the block out of the table, which changes no totals. */
static inline bool mf_tally_realloc_begin(const struct mf_tally_ctx *desk, uint64_t address,
					  struct mf_block *block)
{
	uint32_t *slot = mf_blocks_find_usual(&desk->blocks, address, block);

	if (!slot)
		return false;
	mf_blocks_clear(slot, *slot);
	return true;
}

static inline bool mf_tally_realloc_end(const struct mf_tally_ctx *desk, const struct mf_block *old,
					uint64_t address, uint64_t size, uint32_t context)
{
	struct mf_block block = mf_heap_reallocated(desk->store, old, address, size, context);
	int64_t net = (int64_t)(block.capacity - old->capacity);
	int64_t cost = net < 0 ? -net : net;
	struct mf_tally *tally = desk->tally;

	if (context < MF_CONTEXT_FIRST || old->context < MF_CONTEXT_FIRST ||
	    (size < old->size && !tally->may_shrink) || tally->clock_room < cost ||
	    tally->heap_room < net || !mf_tally_ctx_may_charge(desk, context) ||
	    !mf_tally_ctx_may_charge(desk, old->context) || !mf_blocks_put_usual(desk->store, &block))
		return false;
	mf_tally_ctx_charge(desk, context, (int64_t)size);
	mf_tally_ctx_charge(desk, old->context, -(int64_t)old->size);
	mf_tally_change(tally, (int64_t)(size - old->size), net, cost);
	tally->reallocs++;
	return true;
}

#endif
