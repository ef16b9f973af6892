/* SPDX-License-Identifier: GPL-2.0 */
/* The trie of stacks, with the outermost frames next to the root, and the contexts, whose stacks end in its nodes. */
#ifndef MASSIF_MODEL_TRIE_H
#define MASSIF_MODEL_TRIE_H

#include <stdint.h>

#include "tree_version.h"
#include "model/objects.h"
#include "model/size_classes.h"
#include "model/store.h"
#include "profile/function.h"
#include "profile/object.h"

#define MF_NODE_ROOT 0u

/*
 * Contexts are numbered from 2 in the order in which they were first seen. 0 means no context. Blocks of context 1 are
 * tracked but not counted.
 */
#define MF_CONTEXT_NONE	   0u
#define MF_CONTEXT_IGNORED 1u
#define MF_CONTEXT_FIRST   2u

struct mf_node {
	uint64_t pc;	  /* code address of the frame, as in struct mf_frame */
	uint32_t object;
	uint32_t parent;  /* node of the caller's frame */
	uint32_t context; /* context of the stack that ends in this node, or MF_CONTEXT_NONE */
	uint32_t depth;	  /* number of frames from the root to this node, including the node's own */
	uint32_t eldest;  /* the first child (children are callees); 0: none */
	/*
	 * Link to another child: normally the parent's next child; for children in the hash table, the child created
	 * before this one for the same address. 0 means none. See trie.c.
	 */
	uint32_t younger;
};

/*
 * Maximum number of children that are searched one by one. With more of them, a hash table lookup is at least as fast.
 */
#define MF_TRIE_ELDEST_MAX 8u

/*
 * Nodes are stored in the order in which the program first reached them, and a program often repeats a path. So the
 * node needed next is probably the one a few places further on: prefetch it.
 */
#define MF_TRIE_AHEAD 16u

static inline struct mf_node *mf_trie_node(const struct mf_store *store, uint32_t node)
{
	return (struct mf_node *)store->regions[MF_REGION_NODES] + node;
}

/* Initialises the trie of a new store, with the root as its only node. */
void mf_trie_init(struct mf_store *store);

/* Returns the child of @parent for @frame, creating it if necessary, or UINT32_MAX if the store is full. */
uint32_t mf_trie_child(struct mf_store *store, uint32_t parent, struct mf_frame frame);

/*
 * Finds the child of @parent for @frame without creating it. May run while another thread adds nodes. In that case, if
 * it returns 0, search again with the store locked.
 */
uint32_t mf_trie_find_child(const struct mf_store *store, uint32_t parent, struct mf_frame frame);

/* Returns whether @child is @parent's child for the frame at @pc in the object that is currently mapped there. */
static inline bool mf_trie_is_mapped_child(const struct mf_store *store, uint32_t child, uint32_t parent,
					   uint64_t pc)
{
	const struct mf_node *node = mf_trie_node(store, child);

	return node->pc == pc && node->parent == parent && node->object != MF_OBJECT_NONE &&
	       !mf_objects_record(store, node->object)->retired;
}

/*
 * Returns the next child in the list of @node's parent, which is in order of creation, or 0 if @node is the last child
 * in the list. If @node is in the hash table, returns instead the child that was created before @node for the same
 * address, or 0 if there is none.
 */
static inline uint32_t mf_trie_next(const struct mf_store *store, uint32_t node)
{
	return __atomic_load_n(&mf_trie_node(store, node)->younger, __ATOMIC_ACQUIRE);
}

/*
 * Does the work of mf_trie_find_mapped() for a child in the hash table. Also returns 0 if many different objects have
 * been mapped at @pc over time.
 */
uint32_t mf_trie_find_hashed(const struct mf_store *store, uint32_t parent, uint64_t pc);

/*
 * Finds the child of @parent for the frame at @pc in the object that is currently mapped there. Returns 0 if there is
 * none. Ignores children from a time when no object was mapped at @pc, since an object may be mapped there now. @likely
 * is a node to try first, or 0.
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

/* Returns the context that ends in @node, or MF_CONTEXT_NONE. May run while another thread adds contexts. */
static inline uint32_t mf_trie_find_context(const struct mf_store *store, uint32_t node)
{
	return __atomic_load_n(&mf_trie_node(store, node)->context, __ATOMIC_ACQUIRE);
}

/* Returns the context that ends in @node, creating it if necessary, or MF_CONTEXT_NONE if the store is full. */
uint32_t mf_trie_context(struct mf_store *store, uint32_t node);

/*
 * Notes which allocation function (enum mf_function) a new context has called. If the same call leads to several, as one by
 * a pointer can, that is the first. Does nothing for contexts that do not fit.
 */
static inline void mf_trie_set_function(struct mf_store *store, uint32_t context, uint8_t function)
{
	if (mf_store_fits(store, MF_REGION_FUNCTIONS, context, sizeof(function)))
		((uint8_t *)store->regions[MF_REGION_FUNCTIONS])[context] = function;
}

/* Returns the function of @context, less than MF_FUNCTIONS, whatever the memory contains. */
static inline uint8_t mf_trie_function(const struct mf_store *store, uint32_t context)
{
	uint8_t function = MF_FUNCTION_UNKNOWN;

	if (mf_store_fits(store, MF_REGION_FUNCTIONS, context, sizeof(function)))
		function = ((const uint8_t *)store->regions[MF_REGION_FUNCTIONS])[context];
	return function < MF_FUNCTIONS ? function : MF_FUNCTION_UNKNOWN;
}

/*
 * Returns the context for all stacks that no longer fit into the store. The only frame of this context is a text that
 * says so. Space for it is reserved, so this cannot fail.
 */
uint32_t mf_trie_overflow(struct mf_store *store);

/*
 * Adds the overflow context's only frame (a text) to the table of objects, so that mf_trie_overflow() need not do so.
 * The overflow context stands for all stacks that no longer fit into the store. Call this in advance if another thread
 * may add objects while the trie is being changed.
 */
void mf_trie_prepare_overflow(struct mf_store *store);

/* Marks the stack that ends in @node as ignored: from now on, its blocks are tracked but not counted. */
void mf_trie_ignore(struct mf_store *store, uint32_t node);

/* Returns the context of a whole stack (innermost frame first), or MF_CONTEXT_NONE if the store is full. */
uint32_t mf_trie_insert(struct mf_store *store, const struct mf_frame *frames, uint32_t n_frames);

/*
 * Copies at most @max frames of @context, innermost first, to @frames. Returns how many were copied. Safe even if
 * the memory is damaged.
 */
uint32_t mf_trie_frames(const struct mf_store *store, uint32_t context, struct mf_frame *frames,
			uint32_t max);

/* Like mf_trie_frames(), but takes the node of a stack's innermost frame instead of a context. */
uint32_t mf_trie_node_frames(const struct mf_store *store, uint32_t node, struct mf_frame *frames,
			     uint32_t max);

/* Returns the node of the innermost frame of @context, which may be anything if the memory is damaged. */
uint32_t mf_trie_node_of(const struct mf_store *store, uint32_t context);

/*
 * Writes the frame of @node, which the region of nodes has, and returns the node of its caller, or MF_NODE_ROOT. The number
 * that is returned is less than @node, also if the memory is damaged.
 */
uint32_t mf_trie_read_node(const struct mf_store *store, uint32_t node, struct mf_frame *frame);

/*
 * The live bytes of a context are the sum over the shards. Each shard is a separate array, so that threads that
 * allocate at the same call site do not share cache lines. A shard's value may be negative.
 */
#define MF_SHARDS_MAX 64u

/*
 * Events other than allocations and reallocations change only @bytes, and all that an event changes is in one cache
 * line. Frees are not counted: their number is that of the allocations less that of the live blocks, which the table of
 * blocks knows.
 */
struct mf_cell {
	uint64_t bytes;
	/*
	 * the newest tree version for which this context's byte count was saved before it changed (a tree version is
	 * the contexts' bytes at a detailed snapshot, see tree_version.h)
	 */
	uint64_t capture;
	/* number of blocks that the context has allocated since the start, by realloc as well, and their sizes added up */
	uint64_t allocations, allocated;
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

/*
 * Adds @bytes (may be negative) to the live bytes of @context in @shard. The old number of bytes must already be
 * recorded for the newest tree version (see tree_version.h).
 */
static inline void mf_trie_charge_shard(struct mf_store *store, uint32_t shard, uint32_t context,
					int64_t bytes)
{
	mf_trie_cell(store, shard, context)->bytes += (uint64_t)bytes;
}

/* Adds @bytes (may be negative) to the live bytes of @context. The caller must be the only writer. */
static inline void mf_trie_charge(struct mf_store *store, uint32_t context, int64_t bytes)
{
	if (mf_trie_cell(store, 0, context)->capture != store->header->capture)
		mf_tree_version_keep_alone(store, 0, context);
	mf_trie_charge_shard(store, 0, context, bytes);
}

/* Counts a block of @bytes that @context has allocated, or that realloc has given it. The caller must be the only writer. */
static inline void mf_trie_count(struct mf_store *store, uint32_t context, uint64_t bytes)
{
	struct mf_cell *cell = mf_trie_cell(store, 0, context);

	cell->allocations++;
	cell->allocated += bytes;
	mf_size_classes_add(mf_size_classes_of(store, store->shard), bytes);
}

/*
 * Returns the count of @context's temporary allocations in @shard: blocks that were freed (or reallocated) by the thread
 * that allocated them before it allocated another. Their counts are apart from the cells, because most blocks are not
 * temporary.
 */
static inline uint64_t *mf_trie_temporaries(const struct mf_store *store, uint32_t shard, uint32_t context)
{
	return (uint64_t *)store->regions[MF_REGION_TEMPORARIES] + shard * mf_trie_contexts_max(store) + context;
}

/* What a context has allocated since the start. */
struct mf_trie_counts {
	uint64_t allocations, allocated, temporaries;
};

/* Writes the counts of @n contexts, starting with @first, to @counts. */
void mf_trie_sum_counts(const struct mf_store *store, uint32_t first, uint32_t n, struct mf_trie_counts *counts);

/* Writes the live bytes of @n contexts, starting with @first, to @bytes. */
void mf_trie_sum(const struct mf_store *store, uint32_t first, uint32_t n, uint64_t *bytes);

#endif
