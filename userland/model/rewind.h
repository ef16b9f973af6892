/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads captures: goes from the present bytes of the contexts back to one after another.
 *
 * Safe against damaged memory, and while the program runs: the bytes are read before the pasts, so
 * that what has changed before it was read is known from a past. See mf_tree_version_hold().
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
	uint64_t *cells; /* n_contexts for each shard, as they were when we are */
	uint64_t *sums;	 /* of all shards, for each context */
	uint64_t steps;	 /* chunks that there can be to look at: damaged chains end */
	/* What was looked at so far: the pasts of @chunk and older ones, from number @left down, not. */
	struct {
		uint32_t chunk, left;
	} place[MF_SHARDS_MAX];
};

/*
 * Prepares to read captures that are there already. Returns how many words of memory, all 0, _begin
 * needs; they must live as long.
 */
size_t mf_rewind_prepare(struct mf_rewind *rewind, const struct mf_store *store);

/* Begins at the present. */
void mf_rewind_begin(struct mf_rewind *rewind, uint64_t *cells);

/*
 * Goes back to @capture, older than the one before, and copies the bytes of the contexts
 * MF_CONTEXT_FIRST, +1, ... to @bytes, at most @max values. Returns how many contexts the capture has.
 */
uint32_t mf_rewind_to(struct mf_rewind *rewind, uint64_t capture, uint64_t *bytes, uint32_t max);

/*
 * Copies in the same way the bytes that the contexts have now, each read once: together they are those
 * of one moment only while nobody writes. Returns how many contexts there are.
 */
uint32_t mf_rewind_present(const struct mf_store *store, uint64_t *bytes, uint32_t max);

#endif
