// SPDX-License-Identifier: GPL-2.0
// Reconstructs tree versions, from the newest to the oldest. A tree version consists of the byte counts of all contexts
// at the time of a detailed snapshot.

#include "model/rewind.h"

#include <string.h>

#include "details.h"
#include "tree_version.h"
#include "model/tally.h"

static uint32_t contexts_in(const struct mf_store *store)
{
	uint32_t end = __atomic_load_n(&store->header->n_contexts, __ATOMIC_ACQUIRE);

	return end > MF_CONTEXT_FIRST && end <= mf_trie_contexts_max(store) ?
		       end - MF_CONTEXT_FIRST :
		       0;
}

/*
 * Returns how many shards there are. A context's byte count is the sum of its values in all shards. Shard 0 is always
 * in use, because the model writes to it.
 */
static uint32_t shards_in(const struct mf_store *store)
{
	uint32_t n = __atomic_load_n(&store->header->n_tallies, __ATOMIC_ACQUIRE);

	return !n ? 1 : n < MF_SHARDS_MAX ? n : MF_SHARDS_MAX;
}

size_t mf_rewind_prepare(struct mf_rewind *rewind, const struct mf_store *store)
{
	memset(rewind, 0, sizeof(*rewind));
	rewind->store = store;
	/* Contexts that are created later are not in any of the existing tree versions. */
	rewind->n_contexts = contexts_in(store);
	rewind->n_shards = shards_in(store);
	return (size_t)rewind->n_contexts * (rewind->n_shards + 1) * (mf_details_are_kept(store) ? 2 : 1);
}

/* The second half of the memory is for the numbers of blocks. */
static void begin_blocks(struct mf_rewind *rewind)
{
	rewind->block_cells = rewind->sums + rewind->n_contexts;
	rewind->block_sums = rewind->block_cells + (size_t)rewind->n_contexts * rewind->n_shards;
	for (uint32_t shard = 0; shard < rewind->n_shards; shard++) {
		uint64_t *to = rewind->block_cells + (size_t)shard * rewind->n_contexts;

		for (uint32_t i = 0; i < rewind->n_contexts; i++) {
			uint64_t blocks = mf_details_blocks(rewind->store, shard, MF_CONTEXT_FIRST + i);

			if (!blocks)
				continue;
			to[i] = blocks;
			rewind->block_sums[i] += blocks;
		}
	}
}

static void rewind_blocks(struct mf_rewind *rewind, uint32_t shard, uint32_t context, uint32_t chunk, uint32_t index)
{
	const uint64_t *past = mf_tree_version_past_blocks(rewind->store, chunk, index);
	uint64_t *cell = &rewind->block_cells[(size_t)shard * rewind->n_contexts + context];

	if (!past)
		return;
	rewind->block_sums[context] += *past - *cell;
	*cell = *past;
}

void mf_rewind_begin(struct mf_rewind *rewind, uint64_t *cells)
{
	const struct mf_store *store = rewind->store;
	uint64_t chunks = store->sizes[MF_REGION_CAPTURES] / sizeof(struct mf_chunk);

	rewind->cells = cells;
	rewind->sums = cells + (size_t)rewind->n_contexts * rewind->n_shards;
	for (uint32_t shard = 0; shard < rewind->n_shards; shard++) {
		const struct mf_cell *from = mf_trie_cell(store, shard, MF_CONTEXT_FIRST);
		uint64_t *to = cells + (size_t)shard * rewind->n_contexts;

		/* Write only non-zero values, so that untouched zeroed memory stays unallocated. */
		for (uint32_t i = 0; i < rewind->n_contexts; i++) {
			uint64_t bytes = __atomic_load_n(&from[i].bytes, __ATOMIC_RELAXED);

			if (!bytes)
				continue;
			to[i] = bytes;
			rewind->sums[i] += bytes;
		}
	}
	if (mf_details_are_kept(store))
		begin_blocks(rewind);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	for (uint32_t shard = 0; shard < rewind->n_shards; shard++) {
		rewind->place[shard].chunk =
			__atomic_load_n(&mf_tally_of(store, shard)->last_chunk, __ATOMIC_ACQUIRE);
		rewind->place[shard].left = MF_PASTS_PER_CHUNK;
	}
	rewind->steps = __atomic_load_n(&store->header->n_chunks, __ATOMIC_ACQUIRE);
	if (rewind->steps > chunks)
		rewind->steps = chunks;
}

static void rewind_shard(struct mf_rewind *rewind, uint32_t shard, uint64_t number)
{
	const struct mf_chunk *chunks = mf_tree_version_chunks(rewind->store);
	uint64_t *cells = rewind->cells + (size_t)shard * rewind->n_contexts;
	uint32_t chunk = rewind->place[shard].chunk, left = rewind->place[shard].left;

	while (mf_store_fits(rewind->store, MF_REGION_CAPTURES, chunk, sizeof(*chunks)) && chunk) {
		for (; left; left--) {
			const struct mf_past *past = &chunks[chunk].pasts[left - 1];
			uint64_t until = __atomic_load_n(&past->until, __ATOMIC_ACQUIRE);
			uint32_t context = (uint32_t)past->context - MF_CONTEXT_FIRST;

			if (until && until < number)
				goto out;
			if (!until || past->since >= number || context >= rewind->n_contexts)
				continue;
			rewind->sums[context] += past->bytes - cells[context];
			cells[context] = past->bytes;
			if (rewind->block_cells)
				rewind_blocks(rewind, shard, context, chunk, left - 1);
		}
		if (!rewind->steps) {
			chunk = 0;
			break;
		}
		rewind->steps--;
		chunk = chunks[chunk].older;
		left = MF_PASTS_PER_CHUNK;
	}
out:
	rewind->place[shard].chunk = chunk;
	rewind->place[shard].left = left;
}

uint32_t mf_rewind_to(struct mf_rewind *rewind, uint64_t capture, uint64_t *bytes, uint32_t max)
{
	uint32_t n = mf_tree_version_contexts(capture);

	if (n > rewind->n_contexts)
		n = rewind->n_contexts;
	for (uint32_t shard = 0; shard < rewind->n_shards; shard++)
		rewind_shard(rewind, shard, mf_tree_version_number(capture));
	memcpy(bytes, rewind->sums, (n < max ? n : max) * sizeof(*bytes));
	return n;
}

struct present {
	uint64_t *bytes;
	uint32_t n;
};

static void subtract(const struct mf_block *block, void *data)
{
	const struct present *present = data;

	if (block->context - MF_CONTEXT_FIRST < present->n)
		present->bytes[block->context - MF_CONTEXT_FIRST] -= block->size;
}

uint32_t mf_rewind_present(const struct mf_store *store, uint64_t *bytes, uint32_t max)
{
	uint32_t n = contexts_in(store);
	struct present present = { .bytes = bytes, .n = n < max ? n : max };

	if (!n)
		return 0;
	mf_trie_sum(store, MF_CONTEXT_FIRST, present.n, bytes);
	mf_tally_walk_delayed(store, subtract, &present);
	return n;
}

void mf_rewind_present_blocks(const struct mf_store *store, uint64_t *blocks, uint32_t max)
{
	uint32_t n = contexts_in(store), n_shards = shards_in(store);

	for (uint32_t i = 0; i < n && i < max; i++) {
		blocks[i] = 0;
		for (uint32_t shard = 0; shard < n_shards; shard++)
			blocks[i] += mf_details_blocks(store, shard, MF_CONTEXT_FIRST + i);
	}
}
