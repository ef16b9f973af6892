/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tree versions: the live bytes of each context at the time of a detailed snapshot.
 *
 * Taking a version copies nothing, because a version is only a number. When a context's bytes change for the first time
 * after that, the old value is recorded (struct mf_past). So taking a version costs nothing, and an event writes at
 * most two such records. A reader reconstructs a version by going back from the current byte counts (rewind.h).
 *
 * A record states: "these were the bytes of this context in this shard for all versions after @since, up to and
 * including @until". That remains true forever and does not depend on other records. A record may therefore be dropped
 * as soon as no kept snapshot has a version in that range, and it may exist twice. So a reader needs no lock, even if
 * the writer was killed between two instructions.
 */
#ifndef MASSIF_MODEL_TREE_VERSION_H
#define MASSIF_MODEL_TREE_VERSION_H

#include <stdbool.h>
#include <stdint.h>

#include "store.h"

/*
 * A tree version is a number, counted from 1, combined with the number of contexts that existed when the version was
 * taken. 0 means no version.
 */
#define MF_CAPTURE_CONTEXT_BITS 23
#define MF_CAPTURE_NUMBER_BITS	41

/* Special values that are not versions: */
#define MF_CAPTURE_NEVER     UINT64_MAX
/* stored in a struct mf_cell in place of a version if the cell's context is not counted */
#define MF_CAPTURE_UNCOUNTED (UINT64_MAX - 1)
/* used in place of a tree version at the end of a profile; stands for the contexts' current byte counts */
#define MF_CAPTURE_PRESENT   (UINT64_MAX - 2)

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
	/*
	 * number of the last tree version in which the context has this byte count; 0 if the record is not in use;
	 * written last
	 */
	uint64_t until;
	uint64_t since : MF_CAPTURE_NUMBER_BITS, context : MF_CAPTURE_CONTEXT_BITS;
};

#define MF_PASTS_PER_CHUNK 170u

/*
 * A chunk of records, each of which is a context's byte count in earlier tree versions. Each shard has a list of
 * chunks, in which the records are ordered by their last tree version (@until).
 */
struct mf_chunk {
	uint32_t older, newer; /* the neighbouring chunks in the list, or 0 */
	uint64_t reserved;
	struct mf_past pasts[MF_PASTS_PER_CHUNK];
};

static inline struct mf_chunk *mf_tree_version_chunks(const struct mf_store *store)
{
	return store->regions[MF_REGION_CAPTURES];
}

/*
 * Returns where a store that keeps details (details.h) has the number of live blocks that belongs to record @index of
 * chunk @chunk, or NULL if nowhere.
 */
static inline uint64_t *mf_tree_version_past_blocks(const struct mf_store *store, uint32_t chunk, uint32_t index)
{
	uint64_t number = (uint64_t)chunk * MF_PASTS_PER_CHUNK + index;

	return mf_store_fits(store, MF_REGION_PAST_BLOCKS, number, sizeof(uint64_t)) ?
		       (uint64_t *)store->regions[MF_REGION_PAST_BLOCKS] + number :
		       NULL;
}

/*
 * Starts a new tree version, which stands for the live bytes of all contexts as they are now. Returns the version.
 * Context: no other thread is handling an event (see tally.h).
 */
uint64_t mf_tree_version_take(struct mf_store *store);

/*
 * Prepares for a change to the byte count of @context in shard @shard (a shard is the share of every context's bytes
 * that one tally counts). If that count has not changed since the newest tree version was taken, saves it in a record
 * (struct mf_past). Returns false if the shard has no room for the record; the caller must then call
 * mf_tree_version_keep_alone(). Context: the thread that uses the shard.
 */
bool mf_tree_version_keep(struct mf_store *store, uint32_t shard, uint32_t context);

/*
 * Like mf_tree_version_keep(), but makes room for the record of the context's bytes if needed. Context: no other thread
 * is handling an event.
 */
void mf_tree_version_keep_alone(struct mf_store *store, uint32_t shard, uint32_t context);

/*
 * Makes room in @shard for the records that one event writes: the earlier byte counts of the contexts that it changes.
 * Context: no other thread is handling an event.
 */
void mf_tree_version_make_room(struct mf_store *store, uint32_t shard);

/*
 * Between mf_tree_version_hold() and mf_tree_version_let_go(), the writer normally does not move the records of earlier
 * byte counts, so a reader can follow them while the program runs. There are two exceptions: a move may already be in
 * progress when the reader begins, and the writer does not wait indefinitely for readers. So compare
 * mf_tree_version_moves() before and after reading: it is odd during a move, and has changed once a move is over.
 */
void mf_tree_version_hold(const struct mf_store *store);
void mf_tree_version_let_go(const struct mf_store *store);
uint32_t mf_tree_version_moves(const struct mf_store *store);

#endif
