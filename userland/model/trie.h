/* SPDX-License-Identifier: GPL-2.0 */
/* The trie of stacks, rooted at the outermost frame, and the contexts that end in its nodes. */
#ifndef MASSIF_MODEL_TRIE_H
#define MASSIF_MODEL_TRIE_H

#include <stdint.h>

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
};

void mf_trie_init(struct mf_store *store);

/* The child of @parent for @frame; made if new. Returns UINT32_MAX when the store is full. */
uint32_t mf_trie_child(struct mf_store *store, uint32_t parent, struct mf_frame frame);

/* The context that ends in @node; made if new. Returns MF_CONTEXT_NONE when the store is full. */
uint32_t mf_trie_context(struct mf_store *store, uint32_t node);

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

/* Adds @bytes (may be negative) to the live bytes of @context. */
static inline void mf_trie_charge(struct mf_store *store, uint32_t context, int64_t bytes)
{
	((uint64_t *)store->regions[MF_REGION_CONTEXT_BYTES])[context] += (uint64_t)bytes;
}

#endif
