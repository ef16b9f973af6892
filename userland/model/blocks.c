// SPDX-License-Identifier: GPL-2.0
// The live blocks of the heap: a radix table over addresses.
//
// The directory has an entry for each 4 MiB of address space: the number of a leaf. A leaf has a
// slot of 8 bytes for each 16 bytes of addresses, since that is how allocators align. A slot holds
//
//     0                                          no block
//     0 << 63 | context << 40 | size             the usual block: of the capacity that follows from
//                                                its size, at the granule's first byte
//     1 << 63 | index                            a chain of wide blocks: anything else
//
// Leaf 0 is no leaf: it lists the addresses at which the others begin.
//
// The chain serves what is rare: huge blocks, blocks with the sticky capacity of a realloc in place,
// addresses not a multiple of 16, and several blocks in one granule.

#include "model/blocks.h"

#include "model/model.h"
#include "model/trie.h"

#define GRANULE_BITS 4
#define LEAF_BITS    22 /* addresses of one leaf: 4 MiB */
#define LEAF_SLOTS   (1u << (LEAF_BITS - GRANULE_BITS))
#define ADDRESS_BITS 48

#define SIZE_BITS    40
#define CONTEXT_BITS 23
#define WIDE	     (1ull << 63)

struct mf_wide_block {
	uint64_t address, size, capacity;
	uint32_t context;
	uint32_t next; /* in the chain or the free list; 0: none */
};

static struct mf_wide_block *wide_of(const struct mf_store *store)
{
	return store->regions[MF_REGION_WIDE_BLOCKS];
}

static uint64_t *leaf_of(const struct mf_store *store, uint32_t leaf)
{
	return (uint64_t *)store->regions[MF_REGION_BLOCK_LEAVES] + (uint64_t)leaf * LEAF_SLOTS;
}

static uint64_t *find_slot(const struct mf_store *store, uint64_t address)
{
	const uint32_t *directory = store->regions[MF_REGION_BLOCK_DIRECTORY];
	uint32_t leaf;

	if (address >> ADDRESS_BITS)
		return NULL;
	leaf = directory[address >> LEAF_BITS];
	if (!leaf)
		return NULL;
	return leaf_of(store, leaf) + (address >> GRANULE_BITS) % LEAF_SLOTS;
}

static uint64_t *make_slot(struct mf_store *store, uint64_t address)
{
	uint32_t *directory = store->regions[MF_REGION_BLOCK_DIRECTORY];
	uint64_t *slot = find_slot(store, address);

	if (slot || address >> ADDRESS_BITS)
		return slot;
	if (!mf_store_fits(store, MF_REGION_BLOCK_LEAVES, store->header->n_leaves,
			   LEAF_SLOTS * sizeof(uint64_t))) {
		mf_store_set_full(store, MF_STORE_FULL_BLOCKS);
		return NULL;
	}
	leaf_of(store, 0)[store->header->n_leaves] = address >> LEAF_BITS << LEAF_BITS;
	directory[address >> LEAF_BITS] = store->header->n_leaves++;
	return find_slot(store, address);
}

static uint32_t take_wide(struct mf_store *store)
{
	struct mf_store_header *header = store->header;
	uint32_t index = header->free_wide;

	if (index) {
		header->free_wide = wide_of(store)[index].next;
		return index;
	}
	if (!mf_store_fits(store, MF_REGION_WIDE_BLOCKS, header->n_wide,
			   sizeof(struct mf_wide_block))) {
		mf_store_set_full(store, MF_STORE_FULL_BLOCKS);
		return 0;
	}
	return header->n_wide++;
}

static bool push_wide(struct mf_store *store, uint64_t *slot, const struct mf_block *block)
{
	uint32_t index = take_wide(store);

	if (!index)
		return false;
	wide_of(store)[index] = (struct mf_wide_block){
		.address = block->address,
		.size = block->size,
		.capacity = block->capacity,
		.context = block->context,
		.next = *slot & WIDE ? (uint32_t)*slot : 0,
	};
	*slot = WIDE | index;
	return true;
}

static uint32_t alignment_of(const struct mf_store *store)
{
	return mf_model_of(store)->options.alignment;
}

static struct mf_block unpack(const struct mf_store *store, uint64_t address, uint64_t slot)
{
	uint64_t size = slot & ((1ull << SIZE_BITS) - 1);

	return (struct mf_block){
		.address = address,
		.size = size,
		.capacity = mf_blocks_capacity(size, alignment_of(store)),
		.context = (uint32_t)(slot >> SIZE_BITS),
	};
}

bool mf_blocks_put(struct mf_store *store, const struct mf_block *block)
{
	uint64_t *slot = make_slot(store, block->address);

	if (!slot)
		return false;
	if (!*slot && !(block->address & ((1u << GRANULE_BITS) - 1)) &&
	    !(block->size >> SIZE_BITS) && !(block->context >> CONTEXT_BITS) &&
	    block->capacity == mf_blocks_capacity(block->size, alignment_of(store))) {
		*slot = (uint64_t)block->context << SIZE_BITS | block->size;
		return true;
	}
	if (*slot && !(*slot & WIDE)) {
		/* The granule has a usual block already: it becomes the chain's first. */
		uint64_t base = block->address & ~((1ull << GRANULE_BITS) - 1);
		struct mf_block first = unpack(store, base, *slot);
		uint64_t chain = 0;

		if (!push_wide(store, &chain, &first))
			return false;
		*slot = chain;
	}
	return push_wide(store, slot, block);
}

bool mf_blocks_take(struct mf_store *store, uint64_t address, struct mf_block *block)
{
	struct mf_wide_block *wide = wide_of(store);
	uint64_t *slot = find_slot(store, address);
	uint32_t *link = NULL, index;

	if (!slot || !*slot)
		return false;
	if (!(*slot & WIDE)) {
		if (address & ((1u << GRANULE_BITS) - 1))
			return false;
		*block = unpack(store, address, *slot);
		*slot = 0;
		return true;
	}
	for (index = (uint32_t)*slot; index && wide[index].address != address;
	     index = wide[index].next)
		link = &wide[index].next;
	if (!index)
		return false;
	*block = (struct mf_block){
		.address = address,
		.size = wide[index].size,
		.capacity = wide[index].capacity,
		.context = wide[index].context,
	};
	if (link)
		*link = wide[index].next;
	else
		*slot = wide[index].next ? WIDE | wide[index].next : 0;
	wide[index].next = store->header->free_wide;
	store->header->free_wide = index;
	return true;
}

static void walk_slot(const struct mf_store *store, uint64_t address, uint64_t slot,
		      void (*visit)(const struct mf_block *block, void *data), void *data)
{
	const struct mf_wide_block *wide = wide_of(store);
	struct mf_block block;

	if (!(slot & WIDE)) {
		block = unpack(store, address, slot);
		visit(&block, data);
		return;
	}
	for (uint32_t i = (uint32_t)slot; i; i = wide[i].next) {
		block = (struct mf_block){ wide[i].address, wide[i].size, wide[i].capacity,
					   wide[i].context };
		visit(&block, data);
	}
}

void mf_blocks_walk(const struct mf_store *store,
		    void (*visit)(const struct mf_block *block, void *data), void *data)
{
	for (uint32_t i = 1; i < store->header->n_leaves; i++) {
		const uint64_t *leaf = leaf_of(store, i);
		uint64_t base = leaf_of(store, 0)[i];

		for (uint64_t j = 0; j < LEAF_SLOTS; j++)
			if (leaf[j])
				walk_slot(store, base | j << GRANULE_BITS, leaf[j], visit, data);
	}
}
