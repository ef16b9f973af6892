/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads tree versions: starts from the contexts' current byte counts and goes back from one version to the next older
 * one.
 *
 * This is safe against damaged memory, and it is safe while the program runs: the current byte counts are read first,
 * and the records of earlier byte counts afterwards. So if a byte count changed before it was read, the reader finds a
 * record of its earlier value. See mf_tree_version_hold().
 */
#ifndef MASSIF_MODEL_REWIND_H
#define MASSIF_MODEL_REWIND_H

#include <stddef.h>
#include <stdint.h>

#include "model/store.h"
#include "model/trie.h"

struct mf_rewind {
	const struct mf_store *store;
	uint32_t n_contexts, n_shards;
	/*
	 * for each shard (the share of every context's bytes that one tally counts), the contexts' byte counts in the
	 * most recently reconstructed tree version
	 */
	uint64_t *cells;
	/*
	 * each context's byte count in the tree version that was reconstructed most recently: the sum of its values in
	 * @cells over all shards
	 */
	uint64_t *sums;
	/* the same for the contexts' live blocks, in a store that keeps details; otherwise NULL */
	uint64_t *block_cells, *block_sums;
	uint64_t steps;	 /* maximum number of chunks that may still be read; bounds the walk through damaged lists */
	/*
	 * How far each shard's records of earlier byte counts have been read. Still to be read are the records of
	 * @chunk below index @left, and all records of older chunks.
	 */
	struct {
		uint32_t chunk, left;
	} place[MF_SHARDS_MAX];
};

/*
 * Prepares @rewind for reading the tree versions that exist now. Returns how many words of zeroed memory
 * mf_rewind_begin() needs; the caller must keep that memory for as long as @rewind is in use.
 */
size_t mf_rewind_prepare(struct mf_rewind *rewind, const struct mf_store *store);

/*
 * Initialises @rewind at the current state by reading the contexts' current byte counts. @cells is zeroed memory of the
 * size returned by mf_rewind_prepare().
 */
void mf_rewind_begin(struct mf_rewind *rewind, uint64_t *cells);

/*
 * Goes back to the version @capture, which must be older than the version passed to the previous call, and copies the
 * byte counts of up to @max contexts (MF_CONTEXT_FIRST, MF_CONTEXT_FIRST + 1, ...) to @bytes. Returns the number of
 * contexts in the version.
 */
uint32_t mf_rewind_to(struct mf_rewind *rewind, uint64_t capture, uint64_t *bytes, uint32_t max);

/*
 * Returns the number of live blocks of each context (MF_CONTEXT_FIRST, MF_CONTEXT_FIRST + 1, ...) in the version to which
 * mf_rewind_to() went back, at least as many as it returned; NULL if the store does not keep details.
 */
static inline const uint64_t *mf_rewind_blocks(const struct mf_rewind *rewind)
{
	return rewind->block_sums;
}

/* Writes the contexts' current numbers of live blocks, at most @max, to @blocks, in a store that keeps details. */
void mf_rewind_present_blocks(const struct mf_store *store, uint64_t *blocks, uint32_t max);

/*
 * Copies the contexts' current byte counts to @bytes, at most @max of them. The counts are read one after another, so
 * they are consistent with each other only if nobody is writing. Returns how many contexts there are.
 */
uint32_t mf_rewind_present(const struct mf_store *store, uint64_t *bytes, uint32_t max);

#endif
