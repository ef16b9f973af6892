/* SPDX-License-Identifier: GPL-2.0 */
/* The live blocks of the heap, found by address. */
#ifndef MASSIF_MODEL_BLOCKS_H
#define MASSIF_MODEL_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"
#include "model/store.h"

struct mf_block {
	uint64_t address;
	uint64_t size;	   /* bytes requested */
	uint64_t capacity; /* bytes usable in the model, at least size */
	uint32_t context;  /* never MF_CONTEXT_NONE */
};

/*
 * Says that blocks are at least @bytes (a power of two, 16 or 32) apart, before the first one is
 * entered: then the table needs half the memory. Those that are closer are entered all the same.
 */
void mf_blocks_set_distance(struct mf_store *store, uint32_t bytes);

/*
 * Capacity of a fresh block of @size bytes: what Massif's own allocator would hand out. It keeps a
 * granule of 16 bytes and rounds blocks above 4 MiB to pages, with 64 bytes for itself. An
 * --alignment above 16 makes the granule larger (Documentation/model.rst).
 */
static inline uint64_t mf_blocks_capacity(uint64_t size, uint32_t alignment)
{
	uint64_t rounded = (size + alignment - 1) & ~(uint64_t)(alignment - 1);

	if (rounded + 64 > 4194304)
		rounded = ((rounded + 64 + 4095) & ~4095ull) - 64;
	return rounded;
}

/*
 * The table's form; blocks.c tells it. A slot of the usual kind is written and read by the thread
 * that has the block, without a lock: nobody else has a block there at that time.
 */
#define MF_BLOCKS_ALIGN_BITS   4  /* of a usual block's address */
_Static_assert(MF_BLOCKS_ALIGN_BITS % 2 == 0, "mf_blocks_place");
#define MF_BLOCKS_LEAF_BITS    18 /* slots of one leaf */
#define MF_BLOCKS_LEAF_SLOTS   (1u << MF_BLOCKS_LEAF_BITS)
#define MF_BLOCKS_ADDRESS_BITS 48

#define MF_BLOCKS_MORE_SHIFT	32 /* and the bits of a size */
#define MF_BLOCKS_MORE_MAX	127u
#define MF_BLOCKS_CONTEXT_SHIFT 39
#define MF_BLOCKS_CONTEXT_BITS	23
#define MF_BLOCKS_UPPER		(1ull << 62)
#define MF_BLOCKS_WIDE		(1ull << 63)

static inline unsigned int mf_blocks_granule_bits(const struct mf_store *store)
{
	return store->header->granule_bits;
}

static inline uint64_t *mf_blocks_leaf(const struct mf_store *store, uint32_t leaf)
{
	return (uint64_t *)store->regions[MF_REGION_BLOCK_LEAVES] +
	       (uint64_t)leaf * MF_BLOCKS_LEAF_SLOTS;
}

/* The slot of @address; NULL if nothing near it was ever entered. */
static inline uint64_t *mf_blocks_slot(const struct mf_store *store, uint64_t address)
{
	const uint32_t *directory = store->regions[MF_REGION_BLOCK_DIRECTORY];
	uint64_t granule = address >> mf_blocks_granule_bits(store);
	uint32_t leaf;

	if (address >> MF_BLOCKS_ADDRESS_BITS)
		return NULL;
	leaf = __atomic_load_n(&directory[granule >> MF_BLOCKS_LEAF_BITS], __ATOMIC_ACQUIRE);
	if (!leaf)
		return NULL;
	return mf_blocks_leaf(store, leaf) + granule % MF_BLOCKS_LEAF_SLOTS;
}

/* Where in its granule, of one or two places, a usual block at @address lies. */
static inline uint64_t mf_blocks_place(const struct mf_store *store, uint64_t address)
{
	/* A granule has two where its bits are one more than an address's, an odd number. */
	return (address >> MF_BLOCKS_ALIGN_BITS & mf_blocks_granule_bits(store) & 1) *
	       MF_BLOCKS_UPPER;
}

/* @block as a slot of the usual kind; 0 if it is not of that kind. */
static inline uint64_t mf_blocks_pack(const struct mf_store *store, const struct mf_block *block)
{
	uint32_t alignment = mf_model_of(store)->options.alignment;
	uint64_t more = block->capacity - mf_blocks_capacity(block->size, alignment);

	if (block->address % (1u << MF_BLOCKS_ALIGN_BITS) ||
	    block->size >> MF_BLOCKS_MORE_SHIFT || block->context >> MF_BLOCKS_CONTEXT_BITS ||
	    more % (1u << MF_BLOCKS_ALIGN_BITS) ||
	    more >> MF_BLOCKS_ALIGN_BITS > MF_BLOCKS_MORE_MAX)
		return 0;
	return mf_blocks_place(store, block->address) |
	       (uint64_t)block->context << MF_BLOCKS_CONTEXT_SHIFT |
	       more >> MF_BLOCKS_ALIGN_BITS << MF_BLOCKS_MORE_SHIFT | block->size;
}

static inline struct mf_block mf_blocks_unpack(const struct mf_store *store, uint64_t address,
					       uint64_t slot)
{
	uint32_t alignment = mf_model_of(store)->options.alignment;
	uint64_t size = slot & ((1ull << MF_BLOCKS_MORE_SHIFT) - 1);
	uint64_t more = slot >> MF_BLOCKS_MORE_SHIFT & MF_BLOCKS_MORE_MAX;

	return (struct mf_block){
		.address = address,
		.size = size,
		.capacity = mf_blocks_capacity(size, alignment) + (more << MF_BLOCKS_ALIGN_BITS),
		.context = (uint32_t)(slot >> MF_BLOCKS_CONTEXT_SHIFT) &
			   ((1u << MF_BLOCKS_CONTEXT_BITS) - 1),
	};
}

/* Enters @block where that takes no more than writing its slot; else returns false. */
static inline bool mf_blocks_put_usual(struct mf_store *store, const struct mf_block *block)
{
	uint64_t *slot = mf_blocks_slot(store, block->address);
	uint64_t packed = mf_blocks_pack(store, block);

	if (!slot || *slot || !packed)
		return false;
	*slot = packed;
	return true;
}

/* The same for a block whose capacity is that of a fresh one. */
static inline bool mf_blocks_put_fresh(struct mf_store *store, uint64_t address, uint64_t size,
				       uint32_t context)
{
	uint64_t *slot = mf_blocks_slot(store, address);

	if (!slot || *slot ||
	    address % (1u << MF_BLOCKS_ALIGN_BITS) | size >> MF_BLOCKS_MORE_SHIFT |
		    context >> MF_BLOCKS_CONTEXT_BITS)
		return false;
	*slot = mf_blocks_place(store, address) | (uint64_t)context << MF_BLOCKS_CONTEXT_SHIFT | size;
	return true;
}

/* The slot of the block at @address, and the block; NULL if it is not of the usual kind. */
static inline uint64_t *mf_blocks_find_usual(const struct mf_store *store, uint64_t address,
					     struct mf_block *block)
{
	uint64_t *slot = mf_blocks_slot(store, address);

	if (!slot || !*slot ||
	    (*slot & (MF_BLOCKS_WIDE | MF_BLOCKS_UPPER)) != mf_blocks_place(store, address) ||
	    address % (1u << MF_BLOCKS_ALIGN_BITS))
		return NULL;
	*block = mf_blocks_unpack(store, address, *slot);
	return slot;
}

/* Enters @block. Returns false when the store is full or the address is beyond the table. */
bool mf_blocks_put(struct mf_store *store, const struct mf_block *block);

/* Removes the latest block at @address and copies it to @block. Returns false if there is none. */
bool mf_blocks_take(struct mf_store *store, uint64_t address, struct mf_block *block);

/*
 * Calls @visit for every live block, in no particular order. For tests and reports: it reads the
 * whole table.
 */
void mf_blocks_walk(const struct mf_store *store,
		    void (*visit)(const struct mf_block *block, void *data), void *data);

#endif
