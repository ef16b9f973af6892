// SPDX-License-Identifier: GPL-2.0
// The trie of stacks.
//
// The first children of a node are in a list. If a node has many children, the others are in a hash table, indexed by
// parent and address. The table is open-addressed and only grows: a table of twice the size is placed after the old
// one and filled from scratch. An entry is the newest node for its parent and address. That node links to older ones,
// which belong to objects that were mapped there before; a program that loads and unloads libraries may have many.
// Because nothing is ever removed, one thread can search while another adds nodes; at worst, it does not find a node
// that is just being added.

#include "model/trie.h"

#include <string.h>

#include "model/blocks.h"
#include "model/objects.h"
#include "model/thread_table.h"

#define HASH_BITS_FIRST 12u

/* Number of nodes and of contexts reserved for the overflow context, which stands for stacks that no longer fit. */
#define KEPT 1u

static struct mf_node *nodes_of(const struct mf_store *store)
{
	return mf_trie_node(store, 0);
}

/* Returns the hash table that has 1 << @bits slots. In memory, it comes after all smaller tables. */
static uint32_t *table_of(const struct mf_store *store, uint32_t bits)
{
	return (uint32_t *)store->regions[MF_REGION_NODE_HASH] + (1u << bits) - (1u << HASH_BITS_FIRST);
}

void mf_trie_init(struct mf_store *store)
{
	struct mf_store_header *header = store->header;

	header->n_nodes = 1; /* at first, the trie has only its root */
	header->n_contexts = MF_CONTEXT_FIRST;
	header->node_hash_bits = HASH_BITS_FIRST;
}

static uint32_t hash_of(uint32_t parent, uint64_t pc)
{
	uint64_t hash = pc ^ ((uint64_t)parent << 40) ^ parent;

	/* Two multiplications mix the bits, so that adjacent addresses are spread out in the hash table. */
	hash ^= hash >> 32;
	hash *= 0xd6e8feb86659fd93ull;
	hash ^= hash >> 32;
	hash *= 0xd6e8feb86659fd93ull;
	return (uint32_t)(hash >> 32);
}

/* Returns the slot of the hash table for @parent's children at @pc, or the free slot where they belong. */
static uint32_t *find_slot(const struct mf_store *store, uint32_t parent, uint64_t pc)
{
	uint32_t bits = __atomic_load_n(&store->header->node_hash_bits, __ATOMIC_ACQUIRE);
	uint32_t *table = table_of(store, bits), mask = (1u << bits) - 1;
	const struct mf_node *nodes = nodes_of(store);

	for (uint32_t i = hash_of(parent, pc) & mask;; i = (i + 1) & mask) {
		uint32_t number = __atomic_load_n(&table[i], __ATOMIC_ACQUIRE);
		const struct mf_node *node = &nodes[number];

		if (!number || (node->parent == parent && node->pc == pc))
			return &table[i];
	}
}

/* Doubles the table if it is three-quarters full. Returns false if the region is full. */
static bool make_room(struct mf_store *store)
{
	struct mf_store_header *header = store->header;
	uint32_t bits = header->node_hash_bits, size = 1u << bits, mask = 2 * size - 1;
	const uint32_t *old = table_of(store, bits);
	const struct mf_node *nodes = nodes_of(store);
	uint32_t *table = table_of(store, bits + 1);

	if (header->n_hashed < size / 4 * 3)
		return true;
	if (!mf_store_fits(store, MF_REGION_NODE_HASH, table - table_of(store, HASH_BITS_FIRST) + mask,
			   sizeof(uint32_t)))
		return false;
	for (uint32_t i = 0; i < size; i++) {
		const struct mf_node *node = &nodes[old[i]];
		uint32_t at;

		if (!old[i])
			continue;
		at = hash_of(node->parent, node->pc);
		while (table[at & mask])
			at++;
		table[at & mask] = old[i];
	}
	__atomic_store_n(&header->node_hash_bits, bits + 1, __ATOMIC_RELEASE);
	return true;
}

/* Returns the child for @frame from the hash table, or 0. */
static uint32_t find_older(const struct mf_store *store, uint32_t parent, struct mf_frame frame)
{
	const struct mf_node *nodes = nodes_of(store);
	uint32_t child;

	/*
	 * Skip the search if no node belongs to @frame's object yet, because nodes of many objects that were mapped
	 * there earlier may have the same address.
	 */
	if (frame.object != MF_OBJECT_NONE && !mf_objects_record(store, frame.object)->has_nodes)
		return 0;
	child = __atomic_load_n(find_slot(store, parent, frame.pc), __ATOMIC_ACQUIRE);
	while (child && nodes[child].object != frame.object)
		child = mf_trie_next(store, child);
	return child;
}

uint32_t mf_trie_find_child(const struct mf_store *store, uint32_t parent, struct mf_frame frame)
{
	const struct mf_node *nodes = nodes_of(store);
	uint32_t child = __atomic_load_n(&nodes[parent].eldest, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; child && i < MF_TRIE_ELDEST_MAX; i++) {
		if (nodes[child].pc == frame.pc && nodes[child].object == frame.object) {
			__builtin_prefetch(&nodes[child + MF_TRIE_AHEAD]);
			return child;
		}
		child = __atomic_load_n(&nodes[child].younger, __ATOMIC_ACQUIRE);
	}
	return child ? find_older(store, parent, frame) : 0;
}

uint32_t mf_trie_find_hashed(const struct mf_store *store, uint32_t parent, uint64_t pc)
{
	uint32_t child = __atomic_load_n(find_slot(store, parent, pc), __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; child && !mf_trie_is_mapped_child(store, child, parent, pc); i++)
		child = i < MF_TRIE_ELDEST_MAX ? mf_trie_next(store, child) : 0;
	return child;
}

/*
 * Returns the number of children in @parent's list, and sets *@link to the link for the next child. A search reads the
 * first MF_TRIE_ELDEST_MAX children in the list. The list may contain one more child. If it does, the search continues
 * in the hash table, which contains that child, too.
 */
static uint32_t find_link(const struct mf_store *store, uint32_t parent, uint32_t **link)
{
	struct mf_node *nodes = nodes_of(store);
	uint32_t n = 0;

	for (*link = &nodes[parent].eldest; **link && n <= MF_TRIE_ELDEST_MAX; n++)
		*link = &nodes[**link].younger;
	return n;
}

uint32_t mf_trie_child(struct mf_store *store, uint32_t parent, struct mf_frame frame)
{
	struct mf_store_header *header = store->header;
	uint32_t child = mf_trie_find_child(store, parent, frame), *link, n;
	struct mf_node *nodes = nodes_of(store);

	if (child)
		return child;
	n = find_link(store, parent, &link);
	if (!mf_store_fits(store, MF_REGION_NODES, header->n_nodes + KEPT, sizeof(*nodes)) ||
	    (n >= MF_TRIE_ELDEST_MAX && !make_room(store))) {
		mf_store_set_full(store, MF_STORE_FULL_NODES);
		return UINT32_MAX;
	}
	child = header->n_nodes;
	nodes[child] = (struct mf_node){
		.pc = frame.pc,
		.object = frame.object,
		.parent = parent,
		.depth = nodes[parent].depth + 1,
	};
	if (frame.object != MF_OBJECT_NONE)
		mf_objects_record(store, frame.object)->has_nodes = 1;
	if (n >= MF_TRIE_ELDEST_MAX) {
		uint32_t *slot = find_slot(store, parent, frame.pc);

		header->n_hashed += !*slot;
		nodes[child].younger = *slot;
		__atomic_store_n(slot, child, __ATOMIC_RELEASE);
	}
	if (n <= MF_TRIE_ELDEST_MAX)
		__atomic_store_n(link, child, __ATOMIC_RELEASE);
	header->n_nodes++;
	return child;
}

/* Creates the context of the stack that ends in @node. The caller must have made sure that there is room. */
static uint32_t make_context(struct mf_store *store, uint32_t node)
{
	struct mf_store_header *header = store->header;
	uint32_t *context_nodes = store->regions[MF_REGION_CONTEXT_NODES];

	context_nodes[header->n_contexts] = node;
	__atomic_store_n(&nodes_of(store)[node].context, header->n_contexts, __ATOMIC_RELEASE);
	return header->n_contexts++;
}

uint32_t mf_trie_context(struct mf_store *store, uint32_t node)
{
	const struct mf_store_header *header = store->header;
	uint32_t last = header->n_contexts + KEPT;
	struct mf_node *nodes = nodes_of(store);

	if (nodes[node].context)
		return nodes[node].context;
	if (!mf_store_fits(store, MF_REGION_CONTEXT_NODES, last, sizeof(uint32_t)) ||
	    last >= mf_trie_contexts_max(store) || last >> MF_BLOCKS_CONTEXT_BITS) {
		mf_store_set_full(store, MF_STORE_FULL_CONTEXTS);
		return MF_CONTEXT_NONE;
	}
	return make_context(store, node);
}

void mf_trie_prepare_overflow(struct mf_store *store)
{
	static const struct mf_object note = { .kind = MF_OBJECT_NOTE,
					       .path = "[call stacks that found no room]" };

	if (store->header->overflow_object == MF_OBJECT_NONE)
		store->header->overflow_object = mf_objects_add(store, &note);
}

uint32_t mf_trie_overflow(struct mf_store *store)
{
	struct mf_store_header *header = store->header;
	uint32_t node = header->n_nodes;

	if (header->overflow)
		return header->overflow;
	mf_trie_prepare_overflow(store);
	/*
	 * The trie's root has no link to the node of the overflow context. No search needs to find that node, because
	 * header->overflow names the context.
	 */
	nodes_of(store)[node] = (struct mf_node){
		.object = header->overflow_object,
		.parent = MF_NODE_ROOT,
		.depth = 1,
	};
	header->n_nodes++;
	header->overflow = make_context(store, node);
	return header->overflow;
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

void mf_trie_sum_counts(const struct mf_store *store, uint32_t first, uint32_t n, struct mf_trie_counts *counts)
{
	uint32_t n_tallies = store->header->n_tallies;

	memset(counts, 0, n * sizeof(*counts));
	for (uint32_t shard = 0; shard == 0 || (shard < n_tallies && shard < MF_SHARDS_MAX); shard++) {
		const struct mf_cell *cells = mf_trie_cell(store, shard, first);
		const uint64_t *temporaries = mf_trie_temporaries(store, shard, first);

		for (uint32_t i = 0; i < n; i++) {
			counts[i].allocations += __atomic_load_n(&cells[i].allocations, __ATOMIC_RELAXED);
			counts[i].allocated += __atomic_load_n(&cells[i].allocated, __ATOMIC_RELAXED);
			counts[i].temporaries += __atomic_load_n(&temporaries[i], __ATOMIC_RELAXED);
		}
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

uint32_t mf_trie_read_node(const struct mf_store *store, uint32_t node, struct mf_frame *frame)
{
	const struct mf_node *its = &nodes_of(store)[node];

	*frame = (struct mf_frame){ .pc = its->pc, .object = its->object };
	/*
	 * Parents are older than their children. A newer parent means that the memory is damaged and may contain a cycle.
	 */
	return its->parent < node && !mf_thread_table_is_node(store, &nodes_of(store)[its->parent]) ? its->parent :
												     MF_NODE_ROOT;
}

uint32_t mf_trie_node_frames(const struct mf_store *store, uint32_t node, struct mf_frame *frames,
			     uint32_t max)
{
	uint32_t n = 0;

	if (!mf_store_fits(store, MF_REGION_NODES, node, sizeof(struct mf_node)) ||
	    mf_thread_table_is_node(store, &nodes_of(store)[node]))
		return 0;
	while (node != MF_NODE_ROOT && n < max)
		node = mf_trie_read_node(store, node, &frames[n++]);
	return n;
}

uint32_t mf_trie_node_of(const struct mf_store *store, uint32_t context)
{
	const uint32_t *context_nodes = store->regions[MF_REGION_CONTEXT_NODES];

	return mf_store_fits(store, MF_REGION_CONTEXT_NODES, context, sizeof(uint32_t)) ? context_nodes[context] :
											   MF_NODE_ROOT;
}

uint32_t mf_trie_frames(const struct mf_store *store, uint32_t context, struct mf_frame *frames,
			uint32_t max)
{
	return mf_trie_node_frames(store, mf_trie_node_of(store, context), frames, max);
}
