/* SPDX-License-Identifier: GPL-2.0 */
/* The trie of stacks, rooted at the outermost frame, and the contexts that end in its nodes. */
#ifndef MASSIF_MODEL_TRIE_H
#define MASSIF_MODEL_TRIE_H

#include <stdint.h>

#include "model/capture.h"
#include "model/store.h"
#include "symbols/object.h"

#define MF_NODE_ROOT 0u

/*
 * Contexts are numbered from 2 in the order in which they were first seen; every context of a lower
 * number was seen earlier. 0 is none. A block of context 1 is known but counts nowhere.
 */
#define MF_CONTEXT_NONE	   0u
#define MF_CONTEXT_IGNORED 1u
#define MF_CONTEXT_FIRST   2u

struct mf_node {
	uint64_t pc;	  /* as in struct mf_frame */
	uint32_t object;
	uint32_t parent;  /* the caller's node */
	uint32_t context; /* that ends here, or MF_CONTEXT_NONE */
	uint32_t depth;	  /* frames from the root, this one included */
	uint32_t eldest;  /* of its callees' nodes; 0: none */
	uint32_t younger; /* the callee's node of the same caller that was made next; 0: none, see trie.c */
};

void mf_trie_init(struct mf_store *store);

/* The child of @parent for @frame; made if new. Returns UINT32_MAX when the store is full. */
uint32_t mf_trie_child(struct mf_store *store, uint32_t parent, struct mf_frame frame);

/* The same for a child that is there, also while another thread makes others; 0: look again, alone. */
uint32_t mf_trie_find_child(const struct mf_store *store, uint32_t parent, struct mf_frame frame);

/* The context that ends in @node, if it was made; may be asked while another thread makes others. */
uint32_t mf_trie_find_context(const struct mf_store *store, uint32_t node);

/* The context that ends in @node; made if new. Returns MF_CONTEXT_NONE when the store is full. */
uint32_t mf_trie_context(struct mf_store *store, uint32_t node);

/*
 * The context of all stacks for which there is no room any more: of one frame, a note that says so. Room
 * for it is kept, so there always is one.
 */
uint32_t mf_trie_overflow(struct mf_store *store);

/* The blocks of the stack that ends in @node are to be known but not counted, from now on. */
void mf_trie_ignore(struct mf_store *store, uint32_t node);

/* The context of a whole stack, innermost frame first. Returns MF_CONTEXT_NONE when full. */
uint32_t mf_trie_insert(struct mf_store *store, const struct mf_frame *frames, uint32_t n_frames);

/*
 * Copies the frames of @context, innermost first, to @frames, at most @max. Returns their number.
 * Safe against damaged memory.
 */
uint32_t mf_trie_frames(const struct mf_store *store, uint32_t context, struct mf_frame *frames,
			uint32_t max);

/* The same for the stack that ends in @node. */
uint32_t mf_trie_node_frames(const struct mf_store *store, uint32_t node, struct mf_frame *frames,
			     uint32_t max);

/*
 * The live bytes of a context are the sum over the shards, which are as many arrays: so that threads
 * which allocate from the same place do not fight for a line of the cache. A shard may be negative.
 */
#define MF_SHARDS_MAX 64u

struct mf_cell {
	uint64_t bytes;
	uint64_t capture; /* the newest one that knows what @bytes was then, see capture.h */
};

static inline uint64_t mf_trie_contexts_max(const struct mf_store *store)
{
	return store->sizes[MF_REGION_CONTEXT_BYTES] / MF_SHARDS_MAX / sizeof(struct mf_cell);
}

static inline struct mf_cell *mf_trie_cell(const struct mf_store *store, uint32_t shard,
					   uint32_t context)
{
	return (struct mf_cell *)store->regions[MF_REGION_CONTEXT_BYTES] +
	       shard * mf_trie_contexts_max(store) + context;
}

/* Adds @bytes (may be negative) to the live bytes of @context in @shard, which must know the newest capture. */
static inline void mf_trie_charge_shard(struct mf_store *store, uint32_t shard, uint32_t context,
					int64_t bytes)
{
	mf_trie_cell(store, shard, context)->bytes += (uint64_t)bytes;
}

/* The same for a writer that is alone. */
static inline void mf_trie_charge(struct mf_store *store, uint32_t context, int64_t bytes)
{
	if (mf_trie_cell(store, 0, context)->capture != store->header->capture)
		mf_capture_keep_alone(store, 0, context);
	mf_trie_charge_shard(store, 0, context, bytes);
}

/* The live bytes of @n contexts from @first on, to @bytes. */
void mf_trie_sum(const struct mf_store *store, uint32_t first, uint32_t n, uint64_t *bytes);

#endif
