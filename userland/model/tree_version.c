// SPDX-License-Identifier: GPL-2.0
// Tree versions: the byte count of each context at the time of each detailed snapshot. The first time that a context's
// byte count changes after a version has been taken, the count that it had in that version is recorded. A reader
// reconstructs the version from these records.

#include "tree_version.h"

#include <string.h>

#include "details.h"
#include "model.h"
#include "tally.h"
#include "trie.h"

/* Maximum number of earlier byte counts that one event saves (struct mf_past): it changes at most two contexts. */
#define PASTS_PER_EVENT 2u

/*
 * Records of earlier byte counts that are no longer needed are deleted once the number of chunks in use exceeds the
 * number left after the last deletion by half of it plus this number.
 */
#define FEW_CHUNKS 32u

/*
 * A reader may need the records of earlier byte counts to stay where they are. While it does, the number of chunks in
 * use may exceed the limit header->prune_at by this many (64 MiB). Beyond that, the records are moved despite the
 * reader.
 */
#define PATIENCE_CHUNKS 16384u

_Static_assert(sizeof(struct mf_chunk) == 4096, "a chunk is a page");
_Static_assert(MF_CAPTURE_CONTEXT_BITS >= MF_BLOCKS_CONTEXT_BITS, "contexts do not fit");

uint64_t mf_tree_version_take(struct mf_store *store)
{
	struct mf_store_header *header = store->header;
	uint64_t number = mf_tree_version_number(header->capture) + 1;

	header->capture = number << MF_CAPTURE_CONTEXT_BITS |
			  (header->n_contexts - MF_CONTEXT_FIRST);
	return header->capture;
}

/* Writes a record of a context's earlier byte count. @until is written last, since it marks the record as valid. */
static void write_past(struct mf_past *past, uint64_t bytes, uint64_t since, uint64_t until,
		       uint32_t context)
{
	past->bytes = bytes;
	past->since = since;
	past->context = context;
	__atomic_store_n(&past->until, until, __ATOMIC_RELEASE);
}

/* Writes the number of live blocks that belongs to a record. Call this before the record is written. */
static void write_past_blocks(const struct mf_store *store, uint32_t chunk, uint32_t index, uint64_t blocks)
{
	uint64_t *place = mf_tree_version_past_blocks(store, chunk, index);

	if (place)
		*place = blocks;
}

bool mf_tree_version_keep(struct mf_store *store, uint32_t shard, uint32_t context)
{
	uint64_t newest = store->header->capture;
	struct mf_cell *cell = mf_trie_cell(store, shard, context);
	struct mf_tally *tally = mf_tally_of(store, shard);

	/* A context that was created after the version counts as 0 bytes in that version. */
	if (context - MF_CONTEXT_FIRST < mf_tree_version_contexts(newest)) {
		struct mf_chunk *chunk = &mf_tree_version_chunks(store)[tally->last_chunk];
		uint32_t index = MF_PASTS_PER_CHUNK - tally->pasts_room;

		if (!tally->pasts_room)
			return false;
		if (__builtin_expect(mf_details_are_kept(store), 0))
			write_past_blocks(store, tally->last_chunk, index, mf_details_blocks(store, shard, context));
		write_past(&chunk->pasts[index], cell->bytes,
			   mf_tree_version_number(cell->capture), mf_tree_version_number(newest), context);
		tally->pasts_room--;
	}
	cell->capture = newest;
	/* The record of the old value must be visible before the caller changes the context's bytes. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	return true;
}

void mf_tree_version_keep_alone(struct mf_store *store, uint32_t shard, uint32_t context)
{
	mf_tree_version_make_room(store, shard);
	mf_tree_version_keep(store, shard, context);
}

static void free_chunks(struct mf_store *store, uint32_t chunk)
{
	struct mf_store_header *header = store->header;

	while (chunk) {
		uint32_t next = mf_tree_version_chunks(store)[chunk].newer;

		mf_tree_version_chunks(store)[chunk].newer = header->free_chunk;
		header->free_chunk = chunk;
		header->chunks_in_use--;
		chunk = next;
	}
}

static void copy_past_blocks(const struct mf_store *store, uint32_t to, uint32_t to_index, uint32_t from,
			     uint32_t from_index)
{
	const uint64_t *blocks = mf_tree_version_past_blocks(store, from, from_index);

	if (__builtin_expect(blocks != NULL, 0))
		write_past_blocks(store, to, to_index, *blocks);
}

/*
 * Deletes the shard's records of earlier byte counts that are no longer needed, compacts the others, and frees the
 * chunks that become empty.
 */
static void prune_shard(struct mf_store *store, struct mf_tally *tally, const uint64_t *captures,
			uint32_t n_captures)
{
	struct mf_chunk *chunks = mf_tree_version_chunks(store);
	uint32_t to = tally->first_chunk, used = 0, n = 0, rest;

	for (uint32_t from = to; from; from = chunks[from].newer) {
		for (uint32_t i = 0; i < MF_PASTS_PER_CHUNK; i++) {
			const struct mf_past *past = &chunks[from].pasts[i];
			struct mf_past *place;

			/*
			 * @captures contains the tree versions of the kept snapshots, oldest first. past->until is the
			 * last version in which the context had the byte count in @past. Set @n to the number of kept
			 * snapshots whose version is not newer than past->until.
			 */
			while (n < n_captures && mf_tree_version_number(captures[n]) <= past->until)
				n++;
			if (!past->until || !n ||
			    mf_tree_version_number(captures[n - 1]) <= past->since ||
			    mf_tree_version_contexts(captures[n - 1]) <= past->context - MF_CONTEXT_FIRST)
				continue;
			if (used == MF_PASTS_PER_CHUNK) {
				to = chunks[to].newer;
				used = 0;
			}
			place = &chunks[to].pasts[used++];
			if (place == past)
				continue;
			__atomic_store_n(&place->until, 0, __ATOMIC_RELAXED);
			__atomic_thread_fence(__ATOMIC_RELEASE);
			copy_past_blocks(store, to, used - 1, from, i);
			write_past(place, past->bytes, past->since, past->until, past->context);
		}
	}
	if (!to)
		return;
	for (uint32_t i = used; i < MF_PASTS_PER_CHUNK; i++)
		chunks[to].pasts[i].until = 0;
	rest = chunks[to].newer;
	__atomic_store_n(&tally->last_chunk, to, __ATOMIC_RELEASE);
	tally->pasts_room = MF_PASTS_PER_CHUNK - used;
	chunks[to].newer = 0;
	free_chunks(store, rest);
}

/*
 * Deletes the records of earlier byte counts (struct mf_past) that no kept snapshot needs, which moves other records.
 * If readers currently rely on the records staying in place, does this only if @urgent is true or too many chunks are
 * in use.
 */
static void prune(struct mf_store *store, bool urgent)
{
	struct mf_store_header *header = store->header;
	uint32_t moves = header->capture_moves, n;
	const uint64_t *captures;

	/*
	 * The store to capture_moves and the load of capture_readers are sequentially consistent, and so are a reader's
	 * store to capture_readers and its later load of capture_moves. So either the reader sees that records are
	 * being moved, or this function sees the reader.
	 */
	__atomic_store_n(&header->capture_moves, moves + 1, __ATOMIC_SEQ_CST);
	if (!urgent && __atomic_load_n(&header->capture_readers, __ATOMIC_SEQ_CST) &&
	    header->chunks_in_use < header->prune_at + PATIENCE_CHUNKS) {
		__atomic_store_n(&header->capture_moves, moves, __ATOMIC_RELEASE);
		return;
	}
	n = mf_model_captures(store, &captures);
	prune_shard(store, mf_tally_of(store, 0), captures, n);
	for (uint32_t i = 1; i < header->n_tallies; i++)
		prune_shard(store, mf_tally_of(store, i), captures, n);
	/*
	 * The next regular clean-up of the records of earlier byte counts is due once the number of chunks in use has
	 * grown by half. This keeps the total work of all clean-ups proportional to the number of records written.
	 */
	header->prune_at = header->chunks_in_use + header->chunks_in_use / 2 + FEW_CHUNKS;
	__atomic_store_n(&header->capture_moves, moves + 2, __ATOMIC_RELEASE);
}

/* Returns a free chunk for records of earlier byte counts, or 0 if there is none. */
static uint32_t find_chunk(struct mf_store *store)
{
	struct mf_store_header *header = store->header;
	uint32_t chunk = header->free_chunk;

	if (chunk) {
		header->free_chunk = mf_tree_version_chunks(store)[chunk].newer;
	} else {
		if (!mf_store_fits(store, MF_REGION_CAPTURES, header->n_chunks,
				   sizeof(struct mf_chunk)))
			return 0;
		chunk = header->n_chunks++;
	}
	header->chunks_in_use++;
	return chunk;
}

/*
 * Returns a free chunk for records (struct mf_past) of the contexts' earlier byte counts. If there is none, drops the
 * trees of detailed snapshots until enough records are no longer needed for a chunk to become free. Returns 0 only if
 * no snapshot has a tree left.
 */
static uint32_t take_chunk(struct mf_store *store)
{
	uint32_t chunk = find_chunk(store);

	if (chunk)
		return chunk;
	prune(store, true);
	while (!(chunk = find_chunk(store))) {
		mf_store_set_full(store, MF_STORE_FULL_CAPTURES);
		if (!mf_model_drop_trees(store))
			return 0;
		prune(store, true);
	}
	return chunk;
}

void mf_tree_version_make_room(struct mf_store *store, uint32_t shard)
{
	struct mf_chunk *chunks = mf_tree_version_chunks(store);
	struct mf_tally *tally = mf_tally_of(store, shard);
	uint32_t chunk;

	if (tally->pasts_room >= PASTS_PER_EVENT)
		return;
	if (store->header->chunks_in_use >= store->header->prune_at)
		prune(store, false);
	if (tally->pasts_room >= PASTS_PER_EVENT)
		return;
	chunk = take_chunk(store);
	if (!chunk || tally->pasts_room >= PASTS_PER_EVENT) {
		if (chunk) {
			chunks[chunk].newer = 0;
			free_chunks(store, chunk);
		}
		return;
	}
	memset(&chunks[chunk], 0, sizeof(chunks[chunk]));
	chunks[chunk].older = tally->last_chunk;
	if (tally->last_chunk)
		chunks[tally->last_chunk].newer = chunk;
	else
		tally->first_chunk = chunk;
	__atomic_store_n(&tally->last_chunk, chunk, __ATOMIC_RELEASE);
	tally->pasts_room = MF_PASTS_PER_CHUNK;
}

void mf_tree_version_hold(const struct mf_store *store)
{
	__atomic_add_fetch(&store->header->capture_readers, 1, __ATOMIC_SEQ_CST);
}

void mf_tree_version_let_go(const struct mf_store *store)
{
	__atomic_sub_fetch(&store->header->capture_readers, 1, __ATOMIC_SEQ_CST);
}

uint32_t mf_tree_version_moves(const struct mf_store *store)
{
	return __atomic_load_n(&store->header->capture_moves, __ATOMIC_SEQ_CST);
}
