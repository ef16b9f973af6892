// SPDX-License-Identifier: GPL-2.0
// Counts events in the model. The model is shared by all threads, so the gate is closed first: then no other thread is
// in the middle of an event.

#include "exclusive.h"

#include <errno.h>

#include "model/heap.h"
#include "model/ledger.h"
#include "model/model.h"
#include "model/stacks.h"
#include "model/tally.h"
#include "core/clock.h"
#include "core/gate.h"
#include "core/real.h"
#include "core/session.h"
#include "stack/context.h"

/* Describes the block for the model, with the capacity that the allocator itself reports. */
static struct mf_block block_at(uint64_t address, size_t size, uint32_t context)
{
	return (struct mf_block){
		.address = address,
		.size = size,
		.capacity = mf_real_extent((const void *)(uintptr_t)address),
		.context = context,
	};
}

static void account_alloc(uint64_t address, size_t size, uint32_t context, int64_t now)
{
	struct mf_block block;

	if (__builtin_expect(!mf_session_store.header->real_capacities, 1)) {
		mf_heap_alloc(&mf_session_store, address, size, context, now);
		return;
	}
	block = block_at(address, size, context);
	mf_heap_alloc_block(&mf_session_store, &block, now);
}

/*
 * Counts a block that a client request has reported: unlike the size of an allocator's block, its size is not rounded
 * up.
 */
static void account_made(uint64_t address, size_t size, uint32_t context, int64_t now)
{
	const struct mf_block block = {
		.address = address, .size = size, .capacity = size, .context = context,
	};

	mf_heap_alloc_block(&mf_session_store, &block, now);
}

static void account_realloc(const struct mf_block *old, uint64_t address, size_t size,
			    uint32_t context, int64_t now)
{
	struct mf_block block;

	if (__builtin_expect(!mf_session_store.header->real_capacities, 1)) {
		mf_heap_realloc_end(&mf_session_store, old, address, size, context, now);
		return;
	}
	block = block_at(address, size, context);
	mf_heap_realloc_end_block(&mf_session_store, old, &block, now);
}

/*
 * Closes the gate and adds the counters of all tallies to the totals. Counts @events events (0 or 1). Returns the
 * current time. The caller then changes the model and calls end().
 */
static int64_t begin(struct mf_thread *thread, uint64_t events)
{
	mf_gate_close();
	mf_tally_fold(&mf_session_store);
	mf_session_store.header->events += events;
	mf_session_store.shard = thread->ctx.number;
	return mf_clock_now(&thread->private->clock);
}

static void end(int64_t now)
{
	struct mf_model *model = mf_model_of(&mf_session_store);

	if (model->options.time_unit == MF_TIME_MS)
		mf_session_store.header->snapshot_due = now >= model->next_allowed;
	mf_tally_grant(&mf_session_store);
	mf_gate_open();
}

void mf_exclusive_alloc(struct mf_thread *thread, uint64_t address, size_t size, uint32_t context)
{
	int saved = errno;
	int64_t now = begin(thread, 1);

	mf_tally_note_alloc(thread->ctx.tally, address);
	account_alloc(address, size, context, now);
	if (mf_session_has(MF_SESSION_LEDGER))
		mf_ledger_alloc(&mf_session_store, context, size);
	end(now);
	errno = saved;
}

void mf_exclusive_made(struct mf_thread *thread, uint64_t address, size_t size, uint32_t context)
{
	int saved = errno;
	int64_t now = begin(thread, 1);

	mf_tally_note_alloc(thread->ctx.tally, address);
	account_made(address, size, context, now);
	if (mf_session_has(MF_SESSION_LEDGER))
		mf_ledger_alloc(&mf_session_store, context, size);
	end(now);
	errno = saved;
}

void mf_exclusive_free(struct mf_thread *thread, uint64_t address, uint32_t node)
{
	int saved = errno;
	int64_t now = begin(thread, 1);
	struct mf_block block;

	if (mf_heap_free_block(&mf_session_store, address, &block, now)) {
		mf_tally_note_free(&mf_session_store, thread->ctx.tally, &block);
		if (mf_session_has(MF_SESSION_LEDGER))
			mf_ledger_free(&mf_session_store, node, &block);
	}
	end(now);
	errno = saved;
}

void mf_exclusive_deferred(struct mf_thread *thread)
{
	bool ledger = mf_session_has(MF_SESSION_LEDGER);
	int saved = errno;

	for (uint32_t i = 0; i < thread->n_deferred; i++) {
		const struct mf_deferred *event = &thread->deferred[i];
		uint32_t context = event->is_free ? MF_CONTEXT_NONE : mf_stack_interrupted();
		uint32_t node = ledger ? mf_stack_interrupted_node() : MF_NODE_ROOT;
		int64_t now = begin(thread, 1);
		struct mf_block block;

		if (!event->is_free) {
			mf_tally_note_alloc(thread->ctx.tally, event->address);
			/* Do not ask the allocator for the block's capacity: by now the block may have been freed. */
			if (event->is_made)
				account_made(event->address, event->size, context, now);
			else
				mf_heap_alloc(&mf_session_store, event->address, event->size,
					      context, now);
			if (ledger)
				mf_ledger_alloc(&mf_session_store, context, event->size);
		} else if (mf_heap_free_block(&mf_session_store, event->address, &block, now)) {
			mf_tally_note_free(&mf_session_store, thread->ctx.tally, &block);
			if (ledger)
				mf_ledger_free(&mf_session_store, node, &block);
		}
		end(now);
	}
	thread->n_deferred = 0;
	errno = saved;
}

/* Records that the block that @thread was resizing is in the table of blocks again. */
static void end_resizing(struct mf_thread *thread)
{
	thread->private->resizing.context = MF_CONTEXT_NONE;
}

/* Counts that the block @old no longer exists: whether it was temporary, and its age in a session that keeps details. */
static void end_age(struct mf_thread *thread, const struct mf_block *old, struct mf_life life)
{
	const struct mf_detail_place place = { .shard = 0, .tally = thread->ctx.number };

	mf_tally_note_free(&mf_session_store, thread->ctx.tally, old);
	if (mf_session_has(MF_SESSION_DETAILS))
		mf_details_end_age(&mf_session_store, place, old, life.born,
				   thread->ctx.tally->last_alloc == old->address);
}

void mf_exclusive_realloc(struct mf_thread *thread, const struct mf_block *old, struct mf_life life, uint64_t address,
			  size_t size, uint32_t context, const struct mf_registers *caller)
{
	int64_t now = begin(thread, 1);

	/*
	 * If freeing the old block produces a peak, record the peak before creating a new context, because that context
	 * must not appear in the peak's tree.
	 */
	mf_heap_realloc_shrinks(&mf_session_store, old, size, now);
	if (!context) {
		end(now);
		context = mf_stack_context(thread, caller);
		/* Count 0 events: the call to begin() at the start of this function has already counted the realloc. */
		now = begin(thread, 0);
	}
	end_age(thread, old, life);
	mf_tally_note_alloc(thread->ctx.tally, address);
	account_realloc(old, address, size, context, now);
	if (mf_session_has(MF_SESSION_LEDGER))
		mf_ledger_realloc(&mf_session_store, context, old, size);
	end_resizing(thread);
	end(now);
}

/* Undoes that the block's life has ended, in a session that keeps details. */
static void revive(const struct mf_block *block, struct mf_life life)
{
	if (mf_session_has(MF_SESSION_DETAILS))
		mf_details_revive(&mf_session_store, block, life);
}

void mf_exclusive_realloc_failed(struct mf_thread *thread, const struct mf_block *block, struct mf_life life)
{
	int64_t now = begin(thread, 1);

	mf_heap_realloc_failed(&mf_session_store, block);
	revive(block, life);
	end_resizing(thread);
	end(now);
}

void mf_exclusive_realloc_freed(struct mf_thread *thread, const struct mf_block *block, struct mf_life life,
				uint32_t node)
{
	int64_t now = begin(thread, 1);
	struct mf_block freed;

	/*
	 * Put the block back into the table of blocks and then count its free. If another block has since been given
	 * the same address, that block's entry is removed.
	 */
	mf_heap_realloc_failed(&mf_session_store, block);
	revive(block, life);
	if (mf_heap_free_block(&mf_session_store, block->address, &freed, now))
		mf_tally_note_free(&mf_session_store, thread->ctx.tally, &freed);
	end_resizing(thread);
	if (mf_session_has(MF_SESSION_LEDGER))
		mf_ledger_free(&mf_session_store, node, block);
	end(now);
}

void mf_exclusive_realloc_left(struct mf_thread *thread, const struct mf_block *block)
{
	int64_t now = begin(thread, 0);
	struct mf_block other;
	bool is_taken = mf_blocks_find(&mf_session_store, block->address, &other);

	mf_heap_realloc_failed(&mf_session_store, block);
	if (is_taken && mf_heap_free_block(&mf_session_store, block->address, &other, now))
		mf_tally_note_free(&mf_session_store, thread->ctx.tally, &other);
	if (thread->private->resizing.address == block->address)
		end_resizing(thread);
	end(now);
}

void mf_exclusive_stacks(struct mf_thread *thread, int64_t change)
{
	int64_t now = begin(thread, 0);

	mf_stacks_change(&mf_session_store, change, now);
	end(now);
}

void mf_exclusive_snapshot(struct mf_thread *thread)
{
	int64_t now = begin(thread, 0);

	mf_model_take(&mf_session_store, now);
	end(now);
}
