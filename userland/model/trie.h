/* SPDX-License-Identifier: GPL-2.0 */
/* The trie of stacks, rooted at the outermost frame, and the contexts that end in its nodes. */
#ifndef MASSIF_MODEL_TRIE_H
#define MASSIF_MODEL_TRIE_H

#include <stdint.h>

#include "tree_version.h"
#include "model/objects.h"
#include "model/store.h"
#include "profile/object.h"

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
	/*
	 * The callee's node of the same caller that was made next; in a large family, that was made before for the
	 * same address. 0: none, see trie.c.
	 */
	uint32_t younger;
};

/* Children looked at one by one: a walk of more costs as much as the table. */
#define MF_TRIE_ELDEST_MAX 8u

/*
 * A program that comes by again often goes the same way, and nodes lie in the order in which it went
 * first: so those that are wanted next lie ahead, and the eldest of siblings are those met before.
 */
#define MF_TRIE_AHEAD 16u

static inline struct mf_node *mf_trie_node(const struct mf_store *store, uint32_t node)
{
	return (struct mf_node *)store->regions[MF_REGION_NODES] + node;
}

void mf_trie_init(struct mf_store *store);

/* The child of @parent for @frame; made if new. Returns UINT32_MAX when the store is full. */
uint32_t mf_trie_child(struct mf_store *store, uint32_t parent, struct mf_frame frame);

/* The same for a child that is there, also while another thread makes others; 0: look again, alone. */
uint32_t mf_trie_find_child(const struct mf_store *store, uint32_t parent, struct mf_frame frame);

/* Is @child that of @parent for the frame at @pc, in the object that is mapped there now? */
static inline bool mf_trie_is_mapped_child(const struct mf_store *store, uint32_t child, uint32_t parent,
					   uint64_t pc)
{
	const struct mf_node *node = mf_trie_node(store, child);

	return node->pc == pc && node->parent == parent && node->object != MF_OBJECT_NONE &&
	       !mf_objects_record(store, node->object)->retired;
}

/* The child of @node's parent that was made next, if it is not one of a large family; 0: none. */
static inline uint32_t mf_trie_next(const struct mf_store *store, uint32_t node)
{
	return __atomic_load_n(&mf_trie_node(store, node)->younger, __ATOMIC_ACQUIRE);
}

/* As mf_trie_find_mapped(), among those of a large family. 0 also if many objects were mapped there since. */
uint32_t mf_trie_find_hashed(const struct mf_store *store, uint32_t parent, uint64_t pc);

/*
 * The same for the frame at @pc, whichever object is mapped there. 0 also where none was when the child was
 * made: there may be one now. @likely is a node that is tried first; 0: none.
 */
static inline uint32_t mf_trie_find_mapped(const struct mf_store *store, uint32_t parent, uint64_t pc,
					   uint32_t likely)
{
	uint32_t child = likely;

	if (!likely || !mf_trie_is_mapped_child(store, likely, parent, pc)) {
		child = __atomic_load_n(&mf_trie_node(store, parent)->eldest, __ATOMIC_ACQUIRE);
		for (uint32_t i = 0; child && !mf_trie_is_mapped_child(store, child, parent, pc); i++) {
			if (i == MF_TRIE_ELDEST_MAX)
				return mf_trie_find_hashed(store, parent, pc);
			child = mf_trie_next(store, child);
		}
	}
	if (child)
		__builtin_prefetch(mf_trie_node(store, child + MF_TRIE_AHEAD));
	return child;
}

/* The context that ends in @node, if it was made; may be asked while another thread makes others. */
static inline uint32_t mf_trie_find_context(const struct mf_store *store, uint32_t node)
{
	return __atomic_load_n(&mf_trie_node(store, node)->context, __ATOMIC_ACQUIRE);
}

/* The context that ends in @node; made if new. Returns MF_CONTEXT_NONE when the store is full. */
uint32_t mf_trie_context(struct mf_store *store, uint32_t node);

/*
 * The context of all stacks for which there is no room any more: of one frame, a note that says so. Room
 * for it is kept, so there always is one.
 */
uint32_t mf_trie_overflow(struct mf_store *store);

/*
 * Adds that note to the table of objects now. Needed where another thread adds objects while the trie is
 * changed.
 */
void mf_trie_prepare_overflow(struct mf_store *store);

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
		mf_tree_version_keep_alone(store, 0, context);
	mf_trie_charge_shard(store, 0, context, bytes);
}

/* The live bytes of @n contexts from @first on, to @bytes. */
void mf_trie_sum(const struct mf_store *store, uint32_t first, uint32_t n, uint64_t *bytes);

#endif
