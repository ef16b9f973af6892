// SPDX-License-Identifier: GPL-2.0
// What each thread has allocated since its start.

#include "model/thread_totals.h"

#include "model/size_classes.h"
#include "model/tally.h"
#include "model/thread_table.h"

/* Returns everything that @number's tally has counted since the start, whichever threads it was. */
static struct mf_thread_sums counted_in(const struct mf_store *store, uint32_t number)
{
	const struct mf_size_class *classes = mf_size_classes_of(store, number);
	struct mf_thread_sums sums = { .temporaries = mf_tally_of(store, number)->temporaries };

	for (uint32_t i = 0; i < MF_SIZE_CLASSES; i++) {
		sums.allocations += __atomic_load_n(&classes[i].blocks, __ATOMIC_RELAXED);
		sums.allocated += __atomic_load_n(&classes[i].bytes, __ATOMIC_RELAXED);
	}
	return sums;
}

static void add(struct mf_thread_sums *sums, const struct mf_thread_sums *now, const struct mf_thread_sums *before)
{
	sums->allocations += now->allocations - before->allocations;
	sums->allocated += now->allocated - before->allocated;
	sums->temporaries += now->temporaries - before->temporaries;
}

/* Returns the thread whose the tally is, or 0. */
static uint32_t owner_of(const struct mf_store *store, const struct mf_tally *tally)
{
	uint32_t n = store->header->n_threads;

	return tally->owner <= n && tally->owner <= MF_THREAD_TABLE_MAX ? tally->owner : 0;
}

/* Gives what @number's tally has counted since it was called last to the thread whose the tally is. */
static void give(struct mf_store *store, uint32_t number)
{
	struct mf_tally *tally = mf_tally_of(store, number);
	struct mf_thread_sums now = counted_in(store, number);

	add(&mf_thread_table_record(store, owner_of(store, tally))->sums, &now, &tally->given);
	tally->given = now;
}

void mf_thread_totals_begin(struct mf_store *store, uint32_t number, uint32_t thread)
{
	struct mf_tally *tally = mf_tally_of(store, number);

	if (!store->header->counts_threads)
		return;
	give(store, number);
	tally->owner = tally->users ? 0 : thread;
}

void mf_thread_totals_end(struct mf_store *store, uint32_t number)
{
	struct mf_tally *tally = mf_tally_of(store, number);

	if (!store->header->counts_threads)
		return;
	give(store, number);
	if (!tally->users)
		tally->owner = 0;
}

struct reading {
	const struct mf_store *store;
	struct mf_thread_sums *sums;
	uint32_t n;
};

/* A temporary block whose free was delayed until an event that never came. Frees are delayed only for a single thread. */
static void add_delayed(const struct mf_block *block, void *data)
{
	const struct reading *reading = data;
	const struct mf_store *store = reading->store;

	if (block->context < MF_CONTEXT_FIRST || !mf_tally_was_last(store, block->address))
		return;
	for (uint32_t i = 0; i < MF_SHARDS_MAX; i++) {
		const struct mf_tally *tally = mf_tally_of(store, i);
		uint32_t owner = owner_of(store, tally);

		if (tally->delayed_free != block->address)
			continue;
		reading->sums[owner <= reading->n ? owner : 0].temporaries++;
		break;
	}
}

void mf_thread_totals_read(const struct mf_store *store, uint32_t n, struct mf_thread_sums *sums)
{
	struct reading reading = { store, sums, n };
	uint32_t n_tallies = store->header->n_tallies;

	for (uint32_t i = 0; i <= n; i++)
		sums[i] = mf_thread_table_record(store, i)->sums;
	for (uint32_t i = 0; i < n_tallies && i < MF_SHARDS_MAX; i++) {
		const struct mf_tally *tally = mf_tally_of(store, i);
		struct mf_thread_sums now = counted_in(store, i);
		uint32_t owner = owner_of(store, tally);

		add(&sums[owner <= n ? owner : 0], &now, &tally->given);
	}
	mf_tally_walk_delayed(store, add_delayed, &reading);
}
