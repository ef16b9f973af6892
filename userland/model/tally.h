/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tallies: the changes that the program's threads have made since the model was last updated. A new thread takes the
 * tally with the fewest users. So up to MF_SHARDS_MAX threads each have a tally of their own; if there are more
 * threads, they share tallies, but only one thread at a time changes a tally.
 *
 * Massif's model is a sequence of events. Each event changes the totals and then checks whether a snapshot is due or a
 * peak has been passed. The answer is nearly always no, and the model can tell in advance how far the totals may change
 * before it could be yes. So each thread has an allowance. An event within the allowance changes only the tally and
 * needs neither the totals nor a lock. Any other event is handled by the model, with all threads stopped: before the
 * event, all tallies are folded into the totals; after it, new allowances are granted. The model therefore always bases
 * its decisions on exact totals, as if it had seen each event.
 *
 * Each tally also has a shard, which holds its own part of each context's bytes. The tree of a snapshot is the sum of
 * the shards at a time when no thread is in the middle of an event.
 *
 * Several functions below require that no other thread is handling an event; gate.h says how to ensure that.
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

/* Aligned to two cache lines, since processors fetch lines in pairs. The first two lines contain what most events need. */
struct mf_tally {
	_Alignas(128) uint32_t busy; /* nonzero while a thread is counting an event; serves as a lock, see gate.h */
	uint32_t users;		     /* number of threads that use this tally */

	/*
	 * The tally's allowance: the number of bytes by which events may advance the clock (clock_room) and increase
	 * the total (heap_room) while they are counted only in this tally. An event that would exceed the allowance
	 * must be handled by the model itself. A negative value allows no change.
	 */
	/*
	 * number of bytes by which the clock may still advance before the model must handle an event; negative if the
	 * model must handle the next event. If the time unit is not bytes, there is no such limit, and any value that
	 * is not negative is a huge number.
	 */
	int64_t clock_room;
	/*
	 * number of bytes by which the total, including stacks, may still grow before the model must handle an event; a
	 * huge number if there is no limit
	 */
	int64_t heap_room;
	/*
	 * the newest tree version (see tree_version.h). If a context's byte count in this version has not been saved
	 * yet, save it before an event changes the context's bytes.
	 */
	uint64_t capture;
	/*
	 * the value against which a free checks the tree version stored for its context (struct mf_cell); other events
	 * check against @capture. It is normally equal to @capture. If a peak snapshot may have to be taken before a
	 * free, it is MF_CAPTURE_NEVER, which never equals a context's version, so the model handles the free.
	 */
	uint64_t capture_down;

	/*
	 * The changes made by threads since the tally was last added to the totals. There are no counters for changes
	 * to the clock and the total, because these changes can be computed. clock_granted and heap_granted are the
	 * numbers of bytes by which the clock and the total were allowed to grow. clock_room and heap_room are the
	 * unused parts of these allowances, so the changes are clock_granted - clock_room and heap_granted - heap_room.
	 */
	uint32_t allocs, frees; /* numbers of allocations and frees of counted blocks */
	int64_t heap;		/* change in the number of requested bytes */
	/*
	 * address of a block that has been freed but is still in the table of blocks, because handling the free has
	 * been delayed; 0 if there is none
	 */
	uint64_t delayed_free;
	uint32_t reallocs;
	uint32_t stack_growths, stack_shrinks;
	/* number of unused records of earlier byte counts (struct mf_past) in the chunk last_chunk */
	uint16_t pasts_room;
	uint8_t may_shrink;  /* true if the total may decrease by any amount without a peak snapshot */
	uint8_t may_delay_free; /* true if a free may be delayed until the next event */
	int64_t stacks;	     /* change in the number of bytes in the threads' stacks */
	int64_t clock_granted, heap_granted;
	uint64_t last_alloc; /* address of the block that was allocated last; see mf_trie_temporaries() */
	uint64_t temporaries; /* blocks that were temporary, since the start */
	/* number of instructions not yet added to the totals, and the maximum that this number may reach */
	int64_t instructions, instructions_room;

	/* The list of chunks that hold the earlier byte counts recorded for this tally's shard; see tree_version.h. */
	uint32_t first_chunk, last_chunk;

	/* If threads are counted (thread_totals.h): whose the tally is, and what of its counts has been given to threads. */
	uint32_t owner;
	struct mf_thread_sums given;

	/*
	 * In a store that keeps details (details.h): how many blocks have been allocated in this tally since the start, whether
	 * they are counted or not, and how many of them were allocated by earlier threads, which no longer use the tally.
	 */
	uint64_t allocations, others_allocations;
};

/*
 * Count a block as temporary if it was the last one allocated, or note the block at @address as that. For events that
 * the model handles; the others do it themselves. Context: no other thread is handling an event.
 */
void mf_tally_note_free(struct mf_store *store, struct mf_tally *tally, const struct mf_block *block);

/* Returns whether the block at @address is the last one that the threads of any tally have allocated. */
bool mf_tally_was_last(const struct mf_store *store, uint64_t address);

/* Call this before the block's details are counted. */
static inline void mf_tally_note_alloc(struct mf_tally *tally, uint64_t address)
{
	tally->last_alloc = address;
	tally->allocations++;
}

static inline struct mf_tally *mf_tally_of(const struct mf_store *store, uint32_t number)
{
	return (struct mf_tally *)store->regions[MF_REGION_TALLIES] + number;
}

/*
 * Returns the tally with the fewest users; the first if there is a tie. Context: no other thread is handling an event.
 */
uint32_t mf_tally_least_used(const struct mf_store *store);

/*
 * Call this for a new thread, before mf_tally_begin(). If no other thread uses the tally, blocks that were allocated in it
 * before are those of other threads: none of them will be temporary. A thread that continues in a forked process does
 * not call it.
 */
void mf_tally_take_over(struct mf_store *store, uint32_t number);

/*
 * Call these when a thread starts using tally @number (less than MF_SHARDS_MAX), and when it stops using it. Context:
 * no other thread is handling an event.
 */
void mf_tally_begin(struct mf_store *store, uint32_t number);
void mf_tally_end(struct mf_store *store, uint32_t number);

/*
 * Marks all tallies as unused. Used for a forked process's copy of the store, because the parent's threads do not exist
 * in the child.
 */
void mf_tally_end_all(struct mf_store *store);

/*
 * Call mf_tally_fold() before an event that the model handles itself: it adds all tallies to the totals and carries out
 * delayed frees. Call mf_tally_grant() after the event: it grants each tally a new allowance, which is how much the
 * tally may change before the model must handle an event again. Context: no other thread is handling an event.
 */
void mf_tally_fold(struct mf_store *store);
void mf_tally_grant(struct mf_store *store);

/*
 * Adds all tallies to the totals. Used by a reader after the program has ended. A delayed free counts as a free,
 * although its block is still in the table of blocks; mf_tally_walk_delayed() finds such blocks.
 */
void mf_tally_close(struct mf_store *store);

/* Calls @visit for each block whose free was delayed and which is therefore still in the table of blocks. */
void mf_tally_walk_delayed(const struct mf_store *store,
			   void (*visit)(const struct mf_block *block, void *data), void *data);

/*
 * Withdraws the allowance of every tally, so that no thread can count events without the model. The next event is then
 * handled by the model, which takes the snapshot that is due. Used only if the time unit is milliseconds; called by the
 * aggregator, which watches the clock. A thread that is counting an event at the same time may undo the withdrawal, so
 * call this again a little later.
 */
void mf_tally_hurry(struct mf_store *store);

/*
 * Returns the totals, including the tallies. May be called while the program runs; the totals are exact if no event
 * occurs during the call. For @now, see mf_model_time().
 */
struct mf_tally_totals {
	uint64_t heap, extra, stacks;
	int64_t time;
};

struct mf_tally_totals mf_tally_look(const struct mf_store *store, int64_t now);

/* What a thread needs for an ordinary event: pointers into the store and copies of options. These never change. */
struct mf_tally_ctx {
	struct mf_tally *tally;
	struct mf_cell *cells; /* the shard of @tally: the part of each context's bytes that @tally counts */
	uint64_t *temporaries; /* the same shard of the contexts' temporary allocations */
	struct mf_size_class *sizes; /* the same shard of the size classes */
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
		.temporaries = mf_trie_temporaries(store, number, 0),
		.sizes = mf_size_classes_of(store, number),
		.blocks = mf_blocks_of(store),
		.heap_admin = mf_model_of(store)->options.heap_admin,
		.store = store,
		.number = number,
	};
}

/*
 * Adds a change to the tally. @heap: change in the number of requested bytes; @net: change in the total, including
 * overhead; @cost: number of bytes by which the clock advances.
 */
static inline void mf_tally_change(struct mf_tally *tally, int64_t heap, int64_t net, int64_t cost)
{
	tally->heap += heap;
	tally->heap_room -= net;
	tally->clock_room -= cost;
}

/*
 * Counts @n instructions that the thread executed before the current event. Returns false if the tally now exceeds its
 * allowance of instructions: a snapshot may be due, so the model has to handle the event.
 */
static inline bool mf_tally_advance(struct mf_tally *tally, int64_t n)
{
	tally->instructions += n;
	return tally->instructions <= tally->instructions_room;
}

/*
 * Saves the current byte count of @context in a record for the newest tree version (see tree_version.h), so that the
 * count may then be changed. Call this if there is no such record yet. Returns false if the context is not counted, or
 * if there is no room for the record.
 *
 * Saving requires a function call. A caller whose code must not contain function calls passes false for @keeps; nothing
 * is saved then, and the result is always false.
 */
static inline bool mf_tally_ctx_prepare(const struct mf_tally_ctx *ctx, uint32_t context, bool keeps)
{
	return keeps && context >= MF_CONTEXT_FIRST &&
	       mf_tree_version_keep(ctx->store, ctx->number, context);
}

static inline bool mf_tally_ctx_may_charge(const struct mf_tally_ctx *ctx, uint32_t context)
{
	return __builtin_expect(ctx->cells[context].capture == ctx->tally->capture, 1) ||
	       mf_tally_ctx_prepare(ctx, context, true);
}

static inline void mf_tally_ctx_charge(const struct mf_tally_ctx *ctx, uint32_t context, int64_t bytes)
{
	ctx->cells[context].bytes += (uint64_t)bytes;
}

/*
 * Adds @change to the bytes of stacks in the tally, as mf_stacks_change() does to those in the totals. If the tally's
 * allowance does not cover the change, returns false and changes nothing; the model then has to handle the change.
 */
static inline bool mf_tally_stacks(const struct mf_tally_ctx *ctx, int64_t change)
{
	int64_t cost = change < 0 ? -change : change;
	struct mf_tally *tally = ctx->tally;

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
 * mf_tally_alloc(), mf_tally_free() and so on do the same as mf_heap_alloc(), mf_heap_free() and so on in heap.h, but
 * count the event in the shard and tally of @ctx, and return true. A free copies the block to *@block.
 *
 * They change nothing and return false if the model has to handle the event, which is the case if: the event exceeds
 * the tally's allowance (how far the clock and the total may still change); it may require a peak snapshot; the block
 * is not, or cannot be, stored in slots (blocks.c); its context is not counted; or there is no room to record the
 * context's earlier byte count (as of the newest tree version).
 *
 * If @keeps is false, they make no function calls, for callers whose code must not contain any. In that case, they also
 * return false if the earlier byte count has not been recorded yet, or if the block to be freed has more capacity than
 * a new block of its size would have.
 *
 * For speed, some tests cover several conditions. A slot that does not hold a usual block (one that fits into slots)
 * decodes to an invalid context number, so it needs no separate test. The tree version of a context that is not counted
 * (MF_CAPTURE_UNCOUNTED) never equals the tally's, so comparing versions also detects such contexts.
 */
static inline __attribute__((always_inline)) bool
mf_tally_alloc_in(const struct mf_tally_ctx *ctx, uint32_t *slot, uint64_t address, uint64_t size,
		  uint32_t context, bool keeps)
{
	struct mf_tally *tally = ctx->tally;
	struct mf_cell *cell;
	int64_t net;

	if (size > MF_BLOCKS_ROUNDED_MAX || __builtin_expect(!slot || slot[0], 0) ||
	    (mf_blocks_is_long(size) && __builtin_expect(slot[1], 0)))
		return false;
	cell = &ctx->cells[context];
	if (__builtin_expect(cell->capture != tally->capture, 0) &&
	    !mf_tally_ctx_prepare(ctx, context, keeps))
		return false;
	net = (int64_t)(mf_blocks_rounded(&ctx->blocks, size) + ctx->heap_admin);
	if (tally->clock_room < net || tally->heap_room < net)
		return false;
	mf_blocks_write_fresh(&ctx->blocks, slot, address, size, context);
	cell->bytes += size;
	cell->allocations++;
	cell->allocated += size;
	mf_size_classes_add(ctx->sizes, size);
	mf_tally_change(tally, (int64_t)size, net, net);
	tally->allocs++;
	tally->last_alloc = address;
	return true;
}

static inline __attribute__((always_inline)) bool
mf_tally_alloc(const struct mf_tally_ctx *ctx, uint64_t address, uint64_t size, uint32_t context,
	       bool keeps)
{
	return mf_tally_alloc_in(ctx, mf_blocks_usual_slot(&ctx->blocks, address), address, size,
				 context, keeps);
}

static inline __attribute__((always_inline)) bool
mf_tally_free_in(const struct mf_tally_ctx *ctx, uint32_t *slot, uint64_t address, struct mf_block *block,
		 bool keeps, bool alone)
{
	struct mf_tally *tally = ctx->tally;
	struct mf_usual_block usual;
	struct mf_cell *cell;
	uint32_t first, second;
	uint64_t capacity;
	int64_t net;

	if (__builtin_expect(!slot, 0))
		return false;
	/*
	 * Decodes the context number from the bits of @first from MF_BLOCKS_CONTEXT_SHIFT upwards. If @slot holds a
	 * usual block (one that fits into slots, see blocks.c) starting at @address, its MF_BLOCKS_KIND bits equal
	 * mf_blocks_place(); the XOR clears them and leaves only the context. If the block has been shrunk,
	 * MF_BLOCKS_SHRUNK is left as well, which makes the number too large for a context; mf_blocks_parse() then
	 * decodes the slots if @keeps is true, and the model must handle the free if @keeps is false. In all other
	 * cases, the slot is empty or one of the MF_BLOCKS_KIND bits is left set, so the number is invalid. The size
	 * need not be checked: mf_blocks_rounded() is correct up to MF_BLOCKS_ROUNDED_MAX, and larger blocks are never
	 * stored in slots.
	 */
	first = *slot ^ mf_blocks_place(&ctx->blocks, address);
	second = slot[alone ? 1 : first & MF_BLOCKS_LONG];
	usual = mf_blocks_parse_fresh(first, second);
	if (keeps && first & MF_BLOCKS_SHRUNK && !(first & MF_BLOCKS_KIND))
		usual = mf_blocks_parse(first, second);
	if (usual.context - MF_CONTEXT_FIRST >=
	    (1u << MF_BLOCKS_CONTEXT_BITS) - MF_CONTEXT_FIRST)
		return false;
	capacity = mf_blocks_rounded(&ctx->blocks, usual.size) + usual.more;
	net = (int64_t)(capacity + ctx->heap_admin);
	cell = &ctx->cells[usual.context];
	if (__builtin_expect(cell->capture != tally->capture_down, 0) &&
	    (!tally->may_shrink || !mf_tally_ctx_prepare(ctx, usual.context, keeps)))
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
	if (address == tally->last_alloc) {
		ctx->temporaries[usual.context]++;
		tally->temporaries++;
	}
	return true;
}

static inline __attribute__((always_inline)) bool
mf_tally_free(const struct mf_tally_ctx *ctx, uint64_t address, struct mf_block *block, bool keeps)
{
	return mf_tally_free_in(ctx, mf_blocks_usual_slot(&ctx->blocks, address), address, block, keeps,
				false);
}

/*
 * Delays the free of the block at @address until the thread's next event. The block's slot is often not in the
 * processor's caches. Nothing needs the result of the free immediately, so the delay gives the processor time to fetch
 * the slot. Only allowed while the program has one thread and that thread has no delayed free yet; before a second
 * thread starts, the tallies are folded. Returns false if the free must be done now because it may trigger a snapshot.
 */
static inline __attribute__((always_inline)) bool mf_tally_delay_free(const struct mf_tally_ctx *ctx,
								      uint64_t address)
{
	struct mf_tally *tally = ctx->tally;

	if (__builtin_expect(!tally->may_delay_free || tally->clock_room < 0, 0))
		return false;
	tally->delayed_free = address;
	return true;
}

/*
 * Carries out the thread's delayed free, if there is one. @slot is the slot of the block. Returns false in the same
 * cases as mf_tally_free().
 */
static inline __attribute__((always_inline)) bool
mf_tally_settle_in(const struct mf_tally_ctx *ctx, uint32_t *slot, bool keeps)
{
	struct mf_tally *tally = ctx->tally;
	struct mf_block block;

	if (!tally->delayed_free)
		return true;
	if (__builtin_expect(!mf_tally_free_in(ctx, slot, tally->delayed_free, &block, keeps, true), 0))
		return false;
	tally->delayed_free = 0;
	return true;
}

static inline bool mf_tally_settle(const struct mf_tally_ctx *ctx, bool keeps)
{
	return mf_tally_settle_in(ctx, mf_blocks_usual_slot(&ctx->blocks, ctx->tally->delayed_free), keeps);
}

/* Removes the block from the table. The totals do not change until mf_tally_realloc_end(). */
static inline bool mf_tally_realloc_begin(const struct mf_tally_ctx *ctx, uint64_t address,
					  struct mf_block *block)
{
	uint32_t *slot = mf_blocks_find_usual(&ctx->blocks, address, block);

	if (!slot)
		return false;
	mf_blocks_clear(slot, *slot);
	return true;
}

static inline bool mf_tally_realloc_end(const struct mf_tally_ctx *ctx, const struct mf_block *old,
					uint64_t address, uint64_t size, uint32_t context)
{
	struct mf_block block = mf_heap_reallocated(ctx->store, old, address, size, context);
	int64_t net = (int64_t)(block.capacity - old->capacity);
	int64_t cost = net < 0 ? -net : net;
	struct mf_tally *tally = ctx->tally;

	if (context < MF_CONTEXT_FIRST || old->context < MF_CONTEXT_FIRST ||
	    (size < old->size && !tally->may_shrink) || tally->clock_room < cost ||
	    tally->heap_room < net || !mf_tally_ctx_may_charge(ctx, context) ||
	    !mf_tally_ctx_may_charge(ctx, old->context) || !mf_blocks_put_usual(ctx->store, &block))
		return false;
	mf_tally_ctx_charge(ctx, context, (int64_t)size);
	ctx->cells[context].allocations++;
	ctx->cells[context].allocated += size;
	mf_size_classes_add(ctx->sizes, size);
	if (old->address == tally->last_alloc) {
		ctx->temporaries[old->context]++;
		tally->temporaries++;
	}
	tally->last_alloc = address;
	mf_tally_ctx_charge(ctx, old->context, -(int64_t)old->size);
	mf_tally_change(tally, (int64_t)(size - old->size), net, cost);
	tally->reallocs++;
	return true;
}

#endif
