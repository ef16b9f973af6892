// SPDX-License-Identifier: GPL-2.0
// Adds the threads' tallies to the model's totals, and grants each tally an allowance: how much its events may change
// the totals before the model has to handle an event.

#include "model/tally.h"

#include "model/thread_totals.h"
#include "model/tolerance.h"

/*
 * The value of a tally's allowance that means "no limit". (The allowance is the number of bytes by which the tally's
 * events may change the totals.) It is half the maximum, so that additions and subtractions cannot overflow.
 */
#define PLENTY (INT64_MAX / 2)

/*
 * Sets the allowance of @tally: by how many bytes its events may still advance the clock and increase the total. What
 * the tally has counted so far does not change.
 */
static void set_rooms(struct mf_tally *tally, int64_t clock_room, int64_t heap_room)
{
	tally->clock_granted += clock_room - tally->clock_room;
	tally->clock_room = clock_room;
	tally->heap_granted += heap_room - tally->heap_room;
	tally->heap_room = heap_room;
}

static uint32_t tallies_in(const struct mf_store *store)
{
	uint32_t n = store->header->n_tallies;

	return n < MF_SHARDS_MAX ? n : MF_SHARDS_MAX;
}

uint32_t mf_tally_least_used(const struct mf_store *store)
{
	uint32_t least = 0;

	for (uint32_t i = 1; i < MF_SHARDS_MAX && mf_tally_of(store, least)->users; i++)
		if (mf_tally_of(store, i)->users < mf_tally_of(store, least)->users)
			least = i;
	return least;
}

void mf_tally_take_over(struct mf_store *store, uint32_t number)
{
	struct mf_tally *tally = mf_tally_of(store, number);

	if (tally->users)
		return;
	tally->last_alloc = 0;
	tally->others_allocations = tally->allocations;
}

void mf_tally_begin(struct mf_store *store, uint32_t number)
{
	struct mf_tally *tally = mf_tally_of(store, number);

	if (tally->users++)
		return;
	set_rooms(tally, -1, tally->heap_room);
	for (uint32_t context = 0; context < MF_CONTEXT_FIRST; context++)
		mf_trie_cell(store, number, context)->capture = MF_CAPTURE_UNCOUNTED;
	if (number >= store->header->n_tallies)
		store->header->n_tallies = number + 1;
}

void mf_tally_end(struct mf_store *store, uint32_t number)
{
	struct mf_tally *tally = mf_tally_of(store, number);

	if (--tally->users)
		return;
	set_rooms(tally, -1, tally->heap_room);
}

/* The program can write any numbers there, so nothing may overflow. */
static int64_t clock_of(const struct mf_tally *tally)
{
	return (int64_t)((uint64_t)tally->clock_granted - (uint64_t)tally->clock_room);
}

static int64_t extra_of(const struct mf_tally *tally)
{
	uint64_t net = (uint64_t)tally->heap_granted - (uint64_t)tally->heap_room;

	return (int64_t)(net - (uint64_t)tally->heap - (uint64_t)tally->stacks);
}

void mf_tally_end_all(struct mf_store *store)
{
	uint32_t n = tallies_in(store);

	for (uint32_t i = 0; i < n; i++) {
		struct mf_tally *tally = mf_tally_of(store, i);

		/*
		 * Release this tally's lock in a forked child's copy of the store. No thread was changing a tally when
		 * the store was copied, because the gate was closed (preload/core/gate.h). But a thread locks its tally
		 * before it checks the gate, and unlocks it again if the gate is closed. A thread that held the lock at
		 * the moment of the copy does not exist in the child, so nobody there would release it.
		 */
		tally->busy = 0;
		tally->users = 0;
		mf_thread_totals_end(store, i);
		set_rooms(tally, -1, tally->heap_room);
	}
}

static void add_up(struct mf_store *store)
{
	struct mf_store_header *header = store->header;
	struct mf_model *model = mf_model_of(store);
	uint32_t n = tallies_in(store);

	for (uint32_t i = 0; i < n; i++) {
		struct mf_tally *tally = mf_tally_of(store, i);
		uint32_t events = tally->allocs + tally->frees + tally->reallocs;

		model->heap += (uint64_t)tally->heap;
		model->extra += (uint64_t)extra_of(tally);
		model->stacks += (uint64_t)tally->stacks;
		if (model->options.time_unit == MF_TIME_BYTES)
			model->clock_bytes += (uint64_t)clock_of(tally);
		header->instructions += (uint64_t)tally->instructions;
		model->heap_allocs += tally->allocs;
		model->heap_frees += tally->frees;
		model->heap_reallocs += tally->reallocs;
		model->stack_allocs += tally->stack_growths;
		/*
		 * For each event that could have triggered a snapshot but did not, the model counts one skipped
		 * snapshot. None of the events in a tally triggered one, because none exceeded the tally's allowance.
		 */
		model->skipped_snapshots += events + tally->stack_growths + tally->stack_shrinks;
		header->events += events;
		tally->heap = tally->stacks = 0;
		tally->heap_granted = tally->heap_room;
		tally->clock_granted = tally->clock_room;
		tally->instructions = 0;
		tally->allocs = tally->frees = tally->reallocs = 0;
		tally->stack_growths = tally->stack_shrinks = 0;
	}
}

void mf_tally_note_free(struct mf_store *store, struct mf_tally *tally, const struct mf_block *block)
{
	if (block->address != tally->last_alloc || block->context < MF_CONTEXT_FIRST)
		return;
	++*mf_trie_temporaries(store, 0, block->context);
	tally->temporaries++;
}

bool mf_tally_was_last(const struct mf_store *store, uint64_t address)
{
	uint32_t n = tallies_in(store);

	for (uint32_t i = 0; i < n; i++)
		if (mf_tally_of(store, i)->last_alloc == address)
			return true;
	return false;
}

void mf_tally_fold(struct mf_store *store)
{
	uint32_t n = tallies_in(store);

	add_up(store);
	for (uint32_t i = 0; i < n; i++) {
		struct mf_tally *tally = mf_tally_of(store, i);
		struct mf_block block;

		if (!tally->delayed_free)
			continue;
		if (tally->delayed_free == tally->last_alloc && mf_blocks_find(store, tally->delayed_free, &block))
			mf_tally_note_free(store, tally, &block);
		store->shard = i;
		store->header->events += mf_heap_free_delayed(store, tally->delayed_free);
		tally->delayed_free = 0;
	}
}

void mf_tally_walk_delayed(const struct mf_store *store,
			   void (*visit)(const struct mf_block *block, void *data), void *data)
{
	uint32_t n = tallies_in(store);

	for (uint32_t i = 0; i < n; i++) {
		uint64_t address = __atomic_load_n(&mf_tally_of(store, i)->delayed_free, __ATOMIC_RELAXED);
		struct mf_block block;

		if (address && mf_blocks_find(store, address, &block))
			visit(&block, data);
	}
}

static void count_free(const struct mf_block *block, void *data)
{
	struct mf_store *store = data;
	struct mf_model *model = mf_model_of(store);

	store->header->events++;
	if (block->context >= MF_CONTEXT_FIRST) {
		model->heap_frees++;
		model->skipped_snapshots++;
	} else {
		model->ignored_frees++;
	}
}

void mf_tally_close(struct mf_store *store)
{
	add_up(store);
	mf_tally_walk_delayed(store, count_free, store);
}

struct look {
	struct mf_tally_totals totals;
	uint64_t heap_admin;
};

/*
 * Subtracts a block whose free was delayed. Frees are delayed only if the time unit is not bytes, so the clock does not
 * advance.
 */
static void look_beyond(const struct mf_block *block, void *data)
{
	struct look *look = data;

	if (block->context < MF_CONTEXT_FIRST)
		return;
	look->totals.heap -= block->size;
	look->totals.extra -= block->capacity - block->size + look->heap_admin;
}

struct mf_tally_totals mf_tally_look(const struct mf_store *store, int64_t now)
{
	const struct mf_model *model = mf_model_of(store);
	struct look look = {
		.totals = {
			.heap = model->heap,
			.extra = model->extra,
			.stacks = model->stacks,
		},
		.heap_admin = model->options.heap_admin,
	};
	uint64_t time = (uint64_t)mf_model_time(model, now);
	uint32_t n = tallies_in(store);

	for (uint32_t i = 0; i < n; i++) {
		const struct mf_tally *tally = mf_tally_of(store, i);

		look.totals.heap += (uint64_t)tally->heap;
		look.totals.extra += (uint64_t)extra_of(tally);
		look.totals.stacks += (uint64_t)tally->stacks;
		time += (uint64_t)(model->options.time_unit == MF_TIME_BYTES ? clock_of(tally) : tally->instructions);
	}
	look.totals.time = (int64_t)time;
	mf_tally_walk_delayed(store, look_beyond, &look);
	return look.totals;
}

/* Returns by how much the clock may advance from @now before the next snapshot is due; negative if it already is. */
static int64_t left_from(const struct mf_model *model, uint64_t now)
{
	int64_t next = model->next_allowed;

	return next > (int64_t)now ? next - (int64_t)now - 1 : -1;
}

/*
 * Returns -1 if a snapshot is due. Otherwise returns the number of bytes by which the clock may still advance before
 * one is due, or PLENTY if the time unit is not bytes.
 */
static int64_t clock_left(const struct mf_store *store)
{
	const struct mf_model *model = mf_model_of(store);

	if (model->options.time_unit == MF_TIME_BYTES)
		return left_from(model, model->clock_bytes);
	return store->header->snapshot_due ? -1 : PLENTY;
}

void mf_tally_hurry(struct mf_store *store)
{
	uint32_t n = tallies_in(store);

	__atomic_store_n(&store->header->snapshot_due, 1, __ATOMIC_RELEASE);
	for (uint32_t i = 0; i < n; i++)
		__atomic_store_n(&mf_tally_of(store, i)->clock_room, -1, __ATOMIC_RELAXED);
}

void mf_tally_grant(struct mf_store *store)
{
	const struct mf_store_header *header = store->header;
	const struct mf_model *model = mf_model_of(store);
	uint64_t total = model->heap + model->extra + model->stacks;
	uint64_t threshold = mf_model_peak_threshold(model);
	/*
	 * If --peak-inaccuracy is negative, there is no meaningful total above which a decrease triggers a peak
	 * snapshot, so the model has to handle every decrease.
	 */
	bool below = total <= threshold &&
		     !mf_tolerance_is_negative(&model->options.peak_inaccuracy);
	/*
	 * If events are logged, or if the capacities of blocks come from the real allocator, the model has to handle
	 * every event.
	 */
	bool all = header->logs_steps || header->real_capacities;
	int64_t clock_room = all ? -1 : clock_left(store), heap_room = PLENTY;
	int64_t instructions = left_from(model, header->instructions);
	uint32_t n = tallies_in(store), users = 0;

	/*
	 * Count the tallies in use rather than the threads that use them, because threads that share a tally also share
	 * its allowance. (The allowance is the amount by which a tally may change before the model has to handle an
	 * event.)
	 */
	for (uint32_t i = 0; i < n; i++)
		users += mf_tally_of(store, i)->users > 0;
	if (!users)
		return;
	if (clock_room > 0)
		clock_room /= users;
	if (instructions > 0)
		instructions /= users;
	if (below)
		heap_room = threshold - total < PLENTY ? (int64_t)(threshold - total) / users : PLENTY;
	for (uint32_t i = 0; i < n; i++) {
		struct mf_tally *tally = mf_tally_of(store, i);

		if (!tally->users)
			continue;
		mf_tree_version_make_room(store, i);
		set_rooms(tally, clock_room, heap_room);
		tally->instructions_room = tally->instructions + instructions;
		tally->capture = header->capture;
		tally->capture_down = below ? header->capture : MF_CAPTURE_NEVER;
		tally->may_shrink = below;
		tally->may_delay_free =
			below && !all && model->options.time_unit == MF_TIME_MS;
	}
}
