/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The live bytes of all contexts at the time of a detailed snapshot.
 *
 * Nothing is copied when a capture is taken: it is a number, one more than the one before. Whoever
 * then changes a context's bytes for the first time since the newest capture writes down what they
 * were before: a past. So a capture costs nothing in itself, and an event one or two pasts at most.
 * Who wants to know a capture rewinds from the present bytes (rewind.h).
 *
 * A past says: "these were the bytes of this context in this shard for all captures after @since, up
 * to and with @until". That is true for ever and of no other past's concern: pasts may be lost as
 * soon as no snapshot is kept whose capture lies in between, and may be there twice. So a reader
 * needs no lock, also when the writer was killed between two instructions.
 */
#ifndef MASSIF_MODEL_CAPTURE_H
#define MASSIF_MODEL_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "store.h"

/* A capture is known by its number, from 1, and by how many contexts there were; 0 is none. */
#define MF_CAPTURE_CONTEXT_BITS 23
#define MF_CAPTURE_NUMBER_BITS	41

/* None of these is ever taken. */
#define MF_CAPTURE_NEVER     UINT64_MAX
#define MF_CAPTURE_UNCOUNTED (UINT64_MAX - 1) /* has the context of blocks that do not count */
#define MF_CAPTURE_PRESENT   (UINT64_MAX - 2) /* the contexts as they are: of a profile's end */

static inline uint64_t mf_tree_version_number(uint64_t capture)
{
	return capture >> MF_CAPTURE_CONTEXT_BITS;
}

static inline uint32_t mf_tree_version_contexts(uint64_t capture)
{
	return (uint32_t)capture & ((1u << MF_CAPTURE_CONTEXT_BITS) - 1);
}

struct mf_past {
	uint64_t bytes;
	uint64_t until; /* 0: no past. Written last */
	uint64_t since : MF_CAPTURE_NUMBER_BITS, context : MF_CAPTURE_CONTEXT_BITS;
};

#define MF_PASTS_PER_CHUNK 170u

/* The pasts of a shard are a list of chunks; @until never falls from one to the next. */
struct mf_chunk {
	uint32_t older, newer; /* 0: there is none */
	uint64_t reserved;
	struct mf_past pasts[MF_PASTS_PER_CHUNK];
};

static inline struct mf_chunk *mf_tree_version_chunks(const struct mf_store *store)
{
	return store->regions[MF_REGION_CAPTURES];
}

/* Captures the contexts as they are. Alone. */
uint64_t mf_tree_version_take(struct mf_store *store);

/*
 * Keeps the past of @context in @shard, which has not changed since the newest capture: from now on
 * it may. By the shard's thread; returns false if the shard has no room for it: then alone.
 */
bool mf_tree_version_keep(struct mf_store *store, uint32_t shard, uint32_t context);

/* The same for a writer that is alone, who finds room. */
void mf_tree_version_keep_alone(struct mf_store *store, uint32_t shard, uint32_t context);

/* Sees to it that @shard has room for the pasts of one event. Alone. */
void mf_tree_version_make_room(struct mf_store *store, uint32_t shard);

/*
 * Between the two, pasts stay where they are, so that a reader finds them while the program runs. But
 * the writer may be moving some when it begins, and does not wait for ever: mf_tree_version_moves() is odd
 * in between, and another after that.
 */
void mf_tree_version_hold(const struct mf_store *store);
void mf_tree_version_let_go(const struct mf_store *store);
uint32_t mf_tree_version_moves(const struct mf_store *store);

#endif
