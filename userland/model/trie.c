// SPDX-License-Identifier: GPL-2.0
// The trie of stacks.
//
// A node is found among its parent's newest children, which mostly lie close to it; else by hashing
// its parent and its frame. The table of node numbers is open-addressed and only grows: a table of
// twice the size is laid out behind the old one and filled anew.

#include "model/trie.h"

#include <string.h>

#include "model/blocks.h"

#define HASH_BITS_FIRST 12u

/*
 * A program that comes by again often goes the same way, and nodes lie in the order in which it went
 * first: so those that are wanted next lie ahead.
 */
#define AHEAD 16u

/* Children looked at one by one: a walk of more costs as much as the table. */
#define NEWEST_MAX 8u

static struct mf_node *nodes_of(const struct mf_store *store)
{
	return store->regions[MF_REGION_NODES];
}

static uint32_t *table_of(const struct mf_store *store)
{
	return (uint32_t *)store->regions[MF_REGION_NODE_HASH] + store->header->node_hash_offset;
}

void mf_trie_init(struct mf_store *store)
{
	struct mf_store_header *header = store->header;

	header->n_nodes = 1; /* the root */
	header->n_contexts = MF_CONTEXT_FIRST;
	header->node_hash_offset = 0;
	header->node_hash_bits = HASH_BITS_FIRST;
}

static uint32_t hash_of(uint32_t parent, struct mf_frame frame)
{
	uint64_t hash = frame.pc ^ ((uint64_t)parent << 40) ^ parent ^ ((uint64_t)frame.object << 20);

	/* A finaliser of two multiplications: neighbouring addresses must spread. */
	hash ^= hash >> 32;
	hash *= 0xd6e8feb86659fd93ull;
	hash ^= hash >> 32;
	hash *= 0xd6e8feb86659fd93ull;
	return (uint32_t)(hash >> 32);
}

/* The slot of the table where the child is, or where it belongs. */
static uint32_t *find_slot(const struct mf_store *store, uint32_t parent, struct mf_frame frame)
{
	uint32_t mask = (1u << store->header->node_hash_bits) - 1;
	const struct mf_node *nodes = nodes_of(store);
	uint32_t *table = table_of(store);

	for (uint32_t i = hash_of(parent, frame) & mask;; i = (i + 1) & mask) {
		const struct mf_node *node = &nodes[table[i]];

		if (!table[i] || (node->parent == parent && node->pc == frame.pc &&
				  node->object == frame.object))
			return &table[i];
	}
}

/* Doubles the table when it is three quarters full. Returns false when the region is. */
static bool make_room(struct mf_store *store)
{
	struct mf_store_header *header = store->header;
	uint32_t size = 1u << header->node_hash_bits;
	const struct mf_node *nodes = nodes_of(store);

	if (header->n_nodes < size / 4 * 3)
		return true;
	if (!mf_store_fits(store, MF_REGION_NODE_HASH,
			   (uint64_t)header->node_hash_offset + size + 2ull * size - 1,
			   sizeof(uint32_t)))
		return false;
	header->node_hash_offset += size;
	header->node_hash_bits++;
	for (uint32_t i = 1; i < header->n_nodes; i++) {
		struct mf_frame frame = { .pc = nodes[i].pc, .object = nodes[i].object };

		*find_slot(store, nodes[i].parent, frame) = i;
	}
	return true;
}

uint32_t mf_trie_find_child(const struct mf_store *store, uint32_t parent, struct mf_frame frame)
{
	const struct mf_node *nodes = nodes_of(store);
	uint32_t child = __atomic_load_n(&nodes[parent].newest, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; child && i < NEWEST_MAX; i++) {
		if (nodes[child].pc == frame.pc && nodes[child].object == frame.object) {
			__builtin_prefetch(&nodes[child + AHEAD]);
			return child;
		}
		child = nodes[child].older;
	}
	return 0;
}

uint32_t mf_trie_find_context(const struct mf_store *store, uint32_t node)
{
	return __atomic_load_n(&nodes_of(store)[node].context, __ATOMIC_ACQUIRE);
}

uint32_t mf_trie_child(struct mf_store *store, uint32_t parent, struct mf_frame frame)
{
	struct mf_store_header *header = store->header;
	struct mf_node *nodes = nodes_of(store);
	uint32_t child = mf_trie_find_child(store, parent, frame);

	if (!child)
		child = *find_slot(store, parent, frame);
	if (child)
		return child;
	if (!mf_store_fits(store, MF_REGION_NODES, header->n_nodes, sizeof(*nodes)) ||
	    !make_room(store)) {
		mf_store_set_full(store, MF_STORE_FULL_NODES);
		return UINT32_MAX;
	}
	nodes[header->n_nodes] = (struct mf_node){
		.pc = frame.pc,
		.object = frame.object,
		.parent = parent,
		.depth = nodes[parent].depth + 1,
		.older = nodes[parent].newest,
	};
	__atomic_store_n(&nodes[parent].newest, header->n_nodes, __ATOMIC_RELEASE);
	/* make_room may have moved the table. */
	*find_slot(store, parent, frame) = header->n_nodes;
	return header->n_nodes++;
}

uint32_t mf_trie_context(struct mf_store *store, uint32_t node)
{
	struct mf_store_header *header = store->header;
	uint32_t *context_nodes = store->regions[MF_REGION_CONTEXT_NODES];
	struct mf_node *nodes = nodes_of(store);

	if (nodes[node].context)
		return nodes[node].context;
	if (!mf_store_fits(store, MF_REGION_CONTEXT_NODES, header->n_contexts, sizeof(uint32_t)) ||
	    header->n_contexts >= mf_trie_contexts_max(store) ||
	    header->n_contexts >> MF_BLOCKS_CONTEXT_BITS) {
		mf_store_set_full(store, MF_STORE_FULL_CONTEXTS);
		return MF_CONTEXT_NONE;
	}
	context_nodes[header->n_contexts] = node;
	__atomic_store_n(&nodes[node].context, header->n_contexts, __ATOMIC_RELEASE);
	return header->n_contexts++;
}

void mf_trie_sum(const struct mf_store *store, uint32_t first, uint32_t n, uint64_t *bytes)
{
	uint32_t n_tallies = store->header->n_tallies;

	memset(bytes, 0, n * sizeof(*bytes));
	for (uint32_t shard = 0; shard == 0 || (shard < n_tallies && shard < MF_SHARDS_MAX);
	     shard++) {
		const struct mf_cell *cells = mf_trie_cell(store, shard, first);

		for (uint32_t i = 0; i < n; i++)
			bytes[i] += __atomic_load_n(&cells[i].bytes, __ATOMIC_RELAXED);
	}
}

void mf_trie_ignore(struct mf_store *store, uint32_t node)
{
	nodes_of(store)[node].context = MF_CONTEXT_IGNORED;
}

uint32_t mf_trie_insert(struct mf_store *store, const struct mf_frame *frames, uint32_t n_frames)
{
	uint32_t node = MF_NODE_ROOT;

	for (uint32_t i = n_frames; i-- > 0;) {
		node = mf_trie_child(store, node, frames[i]);
		if (node == UINT32_MAX)
			return MF_CONTEXT_NONE;
	}
	return mf_trie_context(store, node);
}

uint32_t mf_trie_node_frames(const struct mf_store *store, uint32_t node, struct mf_frame *frames,
			     uint32_t max)
{
	const struct mf_node *nodes = nodes_of(store);
	uint32_t parent, n = 0;

	for (; node != MF_NODE_ROOT && n < max; node = parent) {
		if (!mf_store_fits(store, MF_REGION_NODES, node, sizeof(*nodes)))
			return n;
		frames[n++] = (struct mf_frame){ .pc = nodes[node].pc, .object = nodes[node].object };
		/* Parents are older than their children; anything else would be a cycle. */
		parent = nodes[node].parent;
		if (parent >= node)
			return n;
	}
	return n;
}

uint32_t mf_trie_frames(const struct mf_store *store, uint32_t context, struct mf_frame *frames,
			uint32_t max)
{
	const uint32_t *context_nodes = store->regions[MF_REGION_CONTEXT_NODES];

	if (!mf_store_fits(store, MF_REGION_CONTEXT_NODES, context, sizeof(uint32_t)))
		return 0;
	return mf_trie_node_frames(store, context_nodes[context], frames, max);
}
