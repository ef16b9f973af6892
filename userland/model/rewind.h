/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads tree versions: goes back from the contexts' present bytes to one older version after the other.
 *
 * Safe against damaged memory, and while the program runs: the present bytes are read before the records of old values,
 * so any value that changed before it was read has a record. See mf_tree_version_hold().
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
	uint64_t *cells; /* n_contexts values for each shard, at the version reached so far */
	uint64_t *sums;	 /* their sums over all shards, for each context */
	uint64_t steps;	 /* most chunks that will still be read; bounds the walk through damaged lists */
	/*
	 * How far the records of each shard were read. Still to be read: the records of @chunk below index @left, and
	 * all records of older chunks.
	 */
	struct {
		uint32_t chunk, left;
	} place[MF_SHARDS_MAX];
};

/*
 * Prepares for reading the versions that exist now. Returns how many words of zeroed memory mf_rewind_begin() needs;
 * the caller keeps them as long as @rewind is used.
 */
size_t mf_rewind_prepare(struct mf_rewind *rewind, const struct mf_store *store);

/* Starts at the contexts' present bytes. @cells is the memory that mf_rewind_prepare() asked for. */
void mf_rewind_begin(struct mf_rewind *rewind, uint64_t *cells);

/*
 * Goes back to the version @capture, which must be older than the last one, and copies the bytes of the contexts
 * MF_CONTEXT_FIRST, +1, ... to @bytes, at most @max values. Returns how many contexts the version has.
 */
uint32_t mf_rewind_to(struct mf_rewind *rewind, uint64_t capture, uint64_t *bytes, uint32_t max);

/*
 * Copies the contexts' present bytes to @bytes, at most @max values. Each value is read once, so together they are of
 * one moment only if nobody writes. Returns how many contexts there are.
 */
uint32_t mf_rewind_present(const struct mf_store *store, uint64_t *bytes, uint32_t max);

#endif
