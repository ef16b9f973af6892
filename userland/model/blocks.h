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

/* What finding a slot takes, none of which changes once there are blocks. */
struct mf_blocks {
	const uint32_t *directory;
	uint64_t *leaves;
	uint64_t rounding;     /* of a block's size: alignment - 1, */
	uint64_t rounded;      /* and the bits that are left */
	uint32_t granule_bits;
	uint32_t upper;	       /* the bit of an address that says which half of a granule; 0: none */
};

static inline struct mf_blocks mf_blocks_of(const struct mf_store *store)
{
	/* A granule has two halves where its bits are one more than an address's. */
	return (struct mf_blocks){
		.directory = store->regions[MF_REGION_BLOCK_DIRECTORY],
		.leaves = store->regions[MF_REGION_BLOCK_LEAVES],
		.rounding = mf_model_of(store)->options.alignment - 1,
		.rounded = ~(uint64_t)(mf_model_of(store)->options.alignment - 1),
		.granule_bits = mf_blocks_granule_bits(store),
		.upper = mf_blocks_granule_bits(store) > MF_BLOCKS_ALIGN_BITS ?
				 1u << MF_BLOCKS_ALIGN_BITS :
				 0,
	};
}

/* The slot of @granule, whose part of the table is in the directory; NULL if it was never entered. */
static inline uint64_t *mf_blocks_slot_in(const struct mf_blocks *blocks, uint64_t granule)
{
	uint32_t leaf = __atomic_load_n(&blocks->directory[granule >> MF_BLOCKS_LEAF_BITS],
					__ATOMIC_ACQUIRE);

	if (__builtin_expect(!leaf, 0))
		return NULL;
	return blocks->leaves + (uint64_t)leaf * MF_BLOCKS_LEAF_SLOTS +
	       granule % MF_BLOCKS_LEAF_SLOTS;
}

/* The same for any address. */
static inline uint64_t *mf_blocks_slot(const struct mf_store *store, uint64_t address)
{
	struct mf_blocks blocks = mf_blocks_of(store);

	return address >> MF_BLOCKS_ADDRESS_BITS ?
		       NULL :
		       mf_blocks_slot_in(&blocks, address >> blocks.granule_bits);
}

/* The same for an address at which a usual block may begin; NULL for others. */
static inline uint64_t *mf_blocks_usual_slot(const struct mf_blocks *blocks, uint64_t address)
{
	/* The low bits, which must be 0, go to the upper end: then it is beyond the table. */
	uint64_t turned = address >> MF_BLOCKS_ALIGN_BITS | address << (64 - MF_BLOCKS_ALIGN_BITS);

	if (__builtin_expect(turned >> (MF_BLOCKS_ADDRESS_BITS - MF_BLOCKS_ALIGN_BITS), 0))
		return NULL;
	return mf_blocks_slot_in(blocks, address >> blocks->granule_bits);
}

/* Says that the slot of a usual block at @address will be written. */
static inline void mf_blocks_prefetch(const struct mf_blocks *blocks, uint64_t address)
{
	uint64_t *slot = mf_blocks_usual_slot(blocks, address);

	if (slot)
		__builtin_prefetch(slot, 1);
}

/* Where in its granule, of one or two places, a usual block at @address lies. */
static inline uint64_t mf_blocks_place(const struct mf_blocks *blocks, uint64_t address)
{
	return (address & blocks->upper) * (MF_BLOCKS_UPPER >> MF_BLOCKS_ALIGN_BITS);
}

/*
 * mf_blocks_capacity() of blocks up to that size, for which it is the next multiple of the
 * alignment, whichever that is.
 */
#define MF_BLOCKS_ROUNDED_MAX (4194304u - 64u - 4096u)

static inline uint64_t mf_blocks_rounded(const struct mf_blocks *blocks, uint64_t size)
{
	return (size + blocks->rounding) & blocks->rounded;
}

/* Bytes of the capacity of the block in @slot above that of a fresh one. */
static inline uint64_t mf_blocks_more(uint64_t slot)
{
	return (slot >> MF_BLOCKS_MORE_SHIFT & MF_BLOCKS_MORE_MAX) << MF_BLOCKS_ALIGN_BITS;
}

/* A usual block, whose capacity is that of a fresh one, as a slot. */
static inline uint64_t mf_blocks_fresh(const struct mf_blocks *blocks, uint64_t address,
				       uint64_t size, uint32_t context)
{
	return mf_blocks_place(blocks, address) | (uint64_t)context << MF_BLOCKS_CONTEXT_SHIFT |
	       size;
}

/* @block as a slot of the usual kind; 0 if it is not of that kind. */
static inline uint64_t mf_blocks_pack(const struct mf_store *store, const struct mf_block *block)
{
	struct mf_blocks blocks = mf_blocks_of(store);
	uint32_t alignment = mf_model_of(store)->options.alignment;
	uint64_t more = block->capacity - mf_blocks_capacity(block->size, alignment);

	if (block->address % (1u << MF_BLOCKS_ALIGN_BITS) ||
	    block->size >> MF_BLOCKS_MORE_SHIFT || block->context >> MF_BLOCKS_CONTEXT_BITS ||
	    more % (1u << MF_BLOCKS_ALIGN_BITS) ||
	    more >> MF_BLOCKS_ALIGN_BITS > MF_BLOCKS_MORE_MAX)
		return 0;
	return mf_blocks_place(&blocks, block->address) |
	       (uint64_t)block->context << MF_BLOCKS_CONTEXT_SHIFT |
	       more >> MF_BLOCKS_ALIGN_BITS << MF_BLOCKS_MORE_SHIFT | block->size;
}

static inline struct mf_block mf_blocks_unpack(uint64_t address, uint64_t slot, uint32_t alignment)
{
	uint64_t size = slot & ((1ull << MF_BLOCKS_MORE_SHIFT) - 1);

	return (struct mf_block){
		.address = address,
		.size = size,
		.capacity = mf_blocks_capacity(size, alignment) + mf_blocks_more(slot),
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

/* The slot of the block at @address, and the block; NULL if it is not of the usual kind. */
static inline uint64_t *mf_blocks_find_usual(const struct mf_blocks *blocks, uint64_t address,
					     struct mf_block *block)
{
	uint64_t *slot = mf_blocks_usual_slot(blocks, address);

	if (!slot || !*slot ||
	    (*slot & (MF_BLOCKS_WIDE | MF_BLOCKS_UPPER)) != mf_blocks_place(blocks, address))
		return NULL;
	*block = mf_blocks_unpack(address, *slot, (uint32_t)blocks->rounding + 1);
	return slot;
}

/* Enters @block. Returns false when the store is full or the address is beyond the table. */
bool mf_blocks_put(struct mf_store *store, const struct mf_block *block);

/* Removes the latest block at @address and copies it to @block. Returns false if there is none. */
bool mf_blocks_take(struct mf_store *store, uint64_t address, struct mf_block *block);

/*
 * Copies the latest block at @address to @block. Returns false if there is none. Takes whatever the memory
 * holds: for readers of what another program writes.
 */
bool mf_blocks_find(const struct mf_store *store, uint64_t address, struct mf_block *block);

/*
 * Calls @visit for every live block, in no particular order. For tests and reports: it reads the
 * whole table.
 */
void mf_blocks_walk(const struct mf_store *store,
		    void (*visit)(const struct mf_block *block, void *data), void *data);

#endif
