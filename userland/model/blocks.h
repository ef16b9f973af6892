/* SPDX-License-Identifier: GPL-2.0 */
/* The table of the heap's live blocks, indexed by address. */
#ifndef MASSIF_MODEL_BLOCKS_H
#define MASSIF_MODEL_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"
#include "model/store.h"

struct mf_block {
	uint64_t address;
	uint64_t size;	   /* bytes requested */
	uint64_t capacity; /* bytes that are usable according to the model, at least size */
	uint32_t context;  /* context that allocated the block; never MF_CONTEXT_NONE */
};

/*
 * Sets the expected minimum distance between blocks to @bytes (16 or 32). With 32, the table needs half the memory;
 * blocks that are closer together can still be entered. Call this before the first block is entered.
 */
void mf_blocks_set_distance(struct mf_store *store, uint32_t bytes);

/*
 * Returns the capacity that a new block of @size bytes would have in Massif's own allocator. The size is rounded up to
 * a multiple of @alignment (16, or --alignment if that is greater). Above 4 MiB, it is rounded up further, to a whole
 * number of pages less the 64 bytes that the allocator needs for itself. See Documentation/model.rst.
 */
static inline uint64_t mf_blocks_capacity(uint64_t size, uint32_t alignment)
{
	uint64_t rounded = (size + alignment - 1) & ~(uint64_t)(alignment - 1);

	if (rounded + 64 > 4194304)
		rounded = ((rounded + 64 + 4095) & ~4095ull) - 64;
	return rounded;
}

/*
 * The layout of the table; see blocks.c. The slots of a usual block, which is one that fits into slots, are read and
 * written without a lock by the thread that owns the block: no other thread can own a block at this address at the same
 * time.
 */
#define MF_BLOCKS_ALIGN_BITS   4  /* log2 of the alignment of the blocks that are stored in slots (see blocks.c) */
#define MF_BLOCKS_LEAF_BITS    18 /* log2 of the number of granules in a leaf */
#define MF_BLOCKS_LEAF_GRANULES (1u << MF_BLOCKS_LEAF_BITS)
#define MF_BLOCKS_LINE_SLOTS   16u /* number of slots in a cache line of the processor */
#define MF_BLOCKS_LEAF_SLOTS   (MF_BLOCKS_LEAF_GRANULES + MF_BLOCKS_LINE_SLOTS)
#define MF_BLOCKS_LEAF_BYTES   (MF_BLOCKS_LEAF_SLOTS * sizeof(uint32_t))

/*
 * Some allocators (jemalloc, tcmalloc) put blocks of 8 bytes side by side, so that one granule contains two of them. On
 * x86-64, programs use only the lower half of a 48-bit address space. Blocks at odd multiples of 8 are therefore
 * entered at addresses in the upper half.
 */
#ifdef __x86_64__
#define MF_BLOCKS_ADDRESS_BITS 47
#define MF_BLOCKS_ODD	       (1ull << MF_BLOCKS_ADDRESS_BITS)
#else
#define MF_BLOCKS_ADDRESS_BITS 48
#define MF_BLOCKS_ODD	       0ull
#endif

static inline bool mf_blocks_is_odd(uint64_t address)
{
	return MF_BLOCKS_ODD && address % (1u << MF_BLOCKS_ALIGN_BITS) == 8;
}

static inline uint64_t mf_blocks_key(uint64_t address)
{
	return mf_blocks_is_odd(address) ? address - 8 + MF_BLOCKS_ODD : address;
}

#define MF_BLOCKS_LONG		1u /* flag in a block's first slot: the block has a second slot, for its size */
/*
 * bit position of a 6-bit field in a block's first slot. The field contains the block's size or, if the size is in a
 * second slot, the block's surplus capacity in units of 16 bytes.
 */
#define MF_BLOCKS_LOW_SHIFT	1
#define MF_BLOCKS_LOW_MAX	63u
#define MF_BLOCKS_CONTEXT_SHIFT 7
#define MF_BLOCKS_CONTEXT_BITS	22
#define MF_BLOCKS_SHRUNK	(1u << 29) /* flag: the capacity is greater than that of a new block of this size */
/*
 * bit position of the context in the first slot of a block for which MF_BLOCKS_SHRUNK is set and MF_BLOCKS_LONG is not
 */
#define MF_BLOCKS_SHRUNK_SHIFT	13
#define MF_BLOCKS_SHRUNK_BITS	16
#define MF_BLOCKS_KIND		(3u << 30)
#define MF_BLOCKS_UPPER		(1u << 30)
#define MF_BLOCKS_WIDE		(2u << 30)
/* value of the MF_BLOCKS_KIND bits in a block's second slot; the other bits contain the block's size */
#define MF_BLOCKS_SIZE		(3u << 30)
#define MF_BLOCKS_SIZE_MAX	(~MF_BLOCKS_KIND)

static inline unsigned int mf_blocks_granule_bits(const struct mf_store *store)
{
	return store->header->granule_bits;
}

static inline uint32_t *mf_blocks_leaf(const struct mf_store *store, uint32_t leaf)
{
	return (uint32_t *)store->regions[MF_REGION_BLOCK_LEAVES] +
	       (uint64_t)leaf * MF_BLOCKS_LEAF_SLOTS;
}

/* The parameters for finding a slot. They never change once there are blocks. */
struct mf_blocks {
	const uint32_t *directory;
	uint32_t *leaves;
	/* the alignment minus 1; to round a size up to the alignment, add this value, then AND the sum with @rounded */
	uint64_t rounding;
	uint64_t rounded;      /* the mask that clears the low bits of a size to which @rounding was added */
	uint32_t granule_bits;
	uint32_t upper;	       /* the address bit that selects half of a granule; 0 if granules have no halves */
};

static inline struct mf_blocks mf_blocks_of(const struct mf_store *store)
{
	/* If a granule is twice as large as the alignment of blocks, a block may begin in either half of it. */
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

/* Returns the position at which @leaf begins. Like the positions in the directory, it is counted in cache lines. */
static inline uint32_t mf_blocks_leaf_line(uint32_t leaf)
{
	return leaf * (MF_BLOCKS_LEAF_SLOTS / MF_BLOCKS_LINE_SLOTS);
}

/*
 * Returns the slot of the granule with number @granule in the two-level table of blocks. Returns NULL if the table has
 * no leaf for the granule yet. The table's directory must have an entry for the granule.
 */
static inline uint32_t *mf_blocks_slot_in(const struct mf_blocks *blocks, uint64_t granule)
{
	uint32_t line = __atomic_load_n(&blocks->directory[granule >> MF_BLOCKS_LEAF_BITS],
					__ATOMIC_ACQUIRE);

	if (__builtin_expect(!line, 0))
		return NULL;
	return blocks->leaves + (uint64_t)line * MF_BLOCKS_LINE_SLOTS +
	       granule % MF_BLOCKS_LEAF_GRANULES;
}

/* Returns the slot for @address, which may be any address, in the table of blocks, or NULL if there is none. */
static inline uint32_t *mf_blocks_slot(const struct mf_store *store, uint64_t address)
{
	struct mf_blocks blocks = mf_blocks_of(store);

	return address >> MF_BLOCKS_ADDRESS_BITS ?
		       NULL :
		       mf_blocks_slot_in(&blocks, mf_blocks_key(address) >> blocks.granule_bits);
}

/*
 * Returns the slot of @address if a block that begins there may be stored in slots (see blocks.c). Returns NULL for any
 * other address, or if the slot does not exist.
 */
static inline uint32_t *mf_blocks_usual_slot(const struct mf_blocks *blocks, uint64_t address)
{
	/* Checks alignment and range in one comparison: the low bits, which must be 0, are rotated to the top. */
	uint64_t turned = address >> MF_BLOCKS_ALIGN_BITS | address << (64 - MF_BLOCKS_ALIGN_BITS);

	if (__builtin_expect(turned >> (MF_BLOCKS_ADDRESS_BITS - MF_BLOCKS_ALIGN_BITS), 0)) {
		if (!mf_blocks_is_odd(address) || address >> MF_BLOCKS_ADDRESS_BITS)
			return NULL;
		address = mf_blocks_key(address);
	}
	return mf_blocks_slot_in(blocks, address >> blocks->granule_bits);
}

/* Prefetches, for writing, the slot in which a block at @address would usually be stored. */
static inline void mf_blocks_prefetch(const struct mf_blocks *blocks, uint64_t address)
{
	uint32_t *slot = mf_blocks_usual_slot(blocks, address);

	if (slot)
		__builtin_prefetch(slot, 1);
}

/*
 * Returns the bit of a slot that says in which half of its granule a block at @address begins. The granule is the range
 * of addresses to which the slot belongs; see blocks.c.
 */
static inline uint32_t mf_blocks_place(const struct mf_blocks *blocks, uint64_t address)
{
	return ((uint32_t)address & blocks->upper) * (MF_BLOCKS_UPPER >> MF_BLOCKS_ALIGN_BITS);
}

/* Up to this size, mf_blocks_capacity() rounds up to a multiple of the alignment, whatever the alignment is. */
#define MF_BLOCKS_ROUNDED_MAX (4194304u - 64u - 4096u)

static inline uint64_t mf_blocks_rounded(const struct mf_blocks *blocks, uint64_t size)
{
	return (size + blocks->rounding) & blocks->rounded;
}

/* Returns 1 if a block of @size bytes needs a second slot for its size, otherwise 0. */
static inline uint32_t mf_blocks_is_long(uint64_t size)
{
	return size > MF_BLOCKS_LOW_MAX;
}

/*
 * Writes the slots of a usual block (one that fits into slots, see blocks.c) whose capacity has not been changed by a
 * realloc, that is, whose capacity is that of a new block of @size bytes.
 */
static inline void mf_blocks_write_fresh(const struct mf_blocks *blocks, uint32_t *slot, uint64_t address,
					 uint64_t size, uint32_t context)
{
	uint32_t first = mf_blocks_place(blocks, address) | context << MF_BLOCKS_CONTEXT_SHIFT;

	if (mf_blocks_is_long(size)) {
		slot[1] = MF_BLOCKS_SIZE | (uint32_t)size;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		slot[0] = first | MF_BLOCKS_LONG;
	} else {
		slot[0] = first | (uint32_t)size << MF_BLOCKS_LOW_SHIFT;
	}
}

/* Clears the slots of the block whose first slot is @slot; @first is that slot's old value. */
static inline void mf_blocks_clear(uint32_t *slot, uint32_t first)
{
	uint32_t is_long = first & MF_BLOCKS_LONG;

	slot[0] = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	slot[is_long] = 0;
}

/*
 * Like mf_blocks_clear(), for a program with one thread. @second is the value that was read from slot[1], the next
 * granule's slot. That slot belongs to this block only if the block is long (MF_BLOCKS_LONG). The addresses accessed
 * here do not depend on loaded values, so the processor knows them early and need not delay later loads. If a signal
 * handler has meanwhile allocated or freed a block in the next granule, slot[1] keeps the value that the handler
 * stored.
 */
static inline void mf_blocks_clear_alone(uint32_t *slot, uint32_t first, uint32_t second)
{
	uint32_t goes = second & -(first & MF_BLOCKS_LONG);

	slot[0] = 0;
#ifdef __x86_64__
	__asm__ volatile("xorl %1, %0" : "+m"(slot[1]) : "r"(goes) : "cc");
#else
	if (goes)
		slot[1] = 0;
#endif
}

/*
 * The contents of the slots of a usual block, i.e. one that is stored in slots rather than in a chain of wide blocks
 * (see blocks.c). A long block (MF_BLOCKS_LONG) has a second slot, for its size; for other blocks, @second is not used.
 */
struct mf_usual {
	uint32_t first, second;
};

/* Packs @block into slots. The @first of the result is 0 if the block cannot be stored in slots. */
static inline struct mf_usual mf_blocks_pack(const struct mf_store *store, const struct mf_block *block)
{
	struct mf_blocks blocks = mf_blocks_of(store);
	uint64_t more = block->capacity -
			mf_blocks_capacity(block->size, mf_model_of(store)->options.alignment);
	bool is_long = mf_blocks_is_long(block->size);
	uint32_t steps = (uint32_t)(more >> MF_BLOCKS_ALIGN_BITS);
	unsigned int bits = !is_long && more ? MF_BLOCKS_SHRUNK_BITS : MF_BLOCKS_CONTEXT_BITS;
	struct mf_usual usual = {0};

	if (mf_blocks_key(block->address) % (1u << MF_BLOCKS_ALIGN_BITS) || more % (1u << MF_BLOCKS_ALIGN_BITS) ||
	    block->size > MF_BLOCKS_ROUNDED_MAX || more >> MF_BLOCKS_ALIGN_BITS > MF_BLOCKS_LOW_MAX ||
	    block->context >> bits)
		return usual;
	usual.first = mf_blocks_place(&blocks, block->address) | (more ? MF_BLOCKS_SHRUNK : 0);
	if (is_long) {
		usual.first |= block->context << MF_BLOCKS_CONTEXT_SHIFT |
			       steps << MF_BLOCKS_LOW_SHIFT | MF_BLOCKS_LONG;
		usual.second = MF_BLOCKS_SIZE | (uint32_t)block->size;
	} else {
		usual.first |= (uint32_t)block->size << MF_BLOCKS_LOW_SHIFT;
		usual.first |= more ? block->context << MF_BLOCKS_SHRUNK_SHIFT |
					      steps << MF_BLOCKS_CONTEXT_SHIFT :
				      block->context << MF_BLOCKS_CONTEXT_SHIFT;
	}
	return usual;
}

/* The contents of a block's slots, except for the bits MF_BLOCKS_KIND. */
struct mf_usual_block {
	/* @more is the number of bytes by which the capacity exceeds that of a new block of this size. */
	uint32_t size, more, context;
};

/*
 * Decodes the slots of a block without surplus capacity: its capacity is that of a new block of the same size. Accepts
 * arbitrary bits: if they do not encode such a block, the resulting context has more than MF_BLOCKS_CONTEXT_BITS bits.
 */
static inline struct mf_usual_block mf_blocks_parse_fresh(uint32_t first, uint32_t second)
{
	uint32_t low = first >> MF_BLOCKS_LOW_SHIFT & MF_BLOCKS_LOW_MAX;
	uint32_t if_long = -(first & MF_BLOCKS_LONG);

	return (struct mf_usual_block){
		/*
		 * The size is in the second slot if there is one; in that case, the low field of the first slot is 0.
		 * Otherwise the size is in the low field, and if_long masks out the second slot. There is no branch,
		 * because the processor would often mispredict it.
		 */
		.size = low | (second & if_long & MF_BLOCKS_SIZE_MAX),
		.context = first >> MF_BLOCKS_CONTEXT_SHIFT,
	};
}

/*
 * Decodes the slots of a block that may have surplus capacity. After a realloc that shrank it, a block has more
 * capacity than a new block of the same size would have.
 */
static inline struct mf_usual_block mf_blocks_parse(uint32_t first, uint32_t second)
{
	uint32_t low = first >> MF_BLOCKS_LOW_SHIFT & MF_BLOCKS_LOW_MAX, steps;
	struct mf_usual_block block;

	if (!(first & MF_BLOCKS_SHRUNK))
		return mf_blocks_parse_fresh(first, second);
	first &= ~MF_BLOCKS_SHRUNK;
	block.context = first >> MF_BLOCKS_CONTEXT_SHIFT;
	if (first & MF_BLOCKS_LONG) {
		block.size = second & MF_BLOCKS_SIZE_MAX;
		steps = low;
	} else {
		block.size = low;
		steps = block.context & MF_BLOCKS_LOW_MAX;
		block.context = first >> MF_BLOCKS_SHRUNK_SHIFT;
	}
	block.more = steps << MF_BLOCKS_ALIGN_BITS;
	return block;
}

static inline struct mf_block mf_blocks_unpack(uint64_t address, struct mf_usual usual, uint32_t alignment)
{
	struct mf_usual_block block = mf_blocks_parse(usual.first & ~MF_BLOCKS_KIND, usual.second);

	return (struct mf_block){
		.address = address,
		.size = block.size,
		.capacity = mf_blocks_capacity(block.size, alignment) + block.more,
		.context = block.context,
	};
}

/*
 * Reads the one or two slots of a block. @slot is the block's first slot. It must hold the block itself rather than a
 * reference to a chain of wide blocks (see blocks.c).
 */
static inline struct mf_usual mf_blocks_read(const uint32_t *slot)
{
	uint32_t first = *slot;

	return (struct mf_usual){ first, slot[first & MF_BLOCKS_LONG] };
}

/* Enters @block in the table if that only requires writing its slots; otherwise returns false. */
static inline bool mf_blocks_put_usual(struct mf_store *store, const struct mf_block *block)
{
	uint32_t *slot = mf_blocks_slot(store, block->address);
	struct mf_usual usual = mf_blocks_pack(store, block);

	if (!slot || !usual.first || slot[0] || slot[usual.first & MF_BLOCKS_LONG])
		return false;
	slot[usual.first & MF_BLOCKS_LONG] = usual.second;
	/*
	 * The second slot is written first and cleared last, so that a process killed here leaves no block without a
	 * size.
	 */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	slot[0] = usual.first;
	return true;
}

/*
 * Finds the block at @address if it is stored in slots rather than in a chain (see blocks.c). Copies it to @block and
 * returns its first slot; returns NULL if there is no such block.
 */
static inline uint32_t *mf_blocks_find_usual(const struct mf_blocks *blocks, uint64_t address,
					     struct mf_block *block)
{
	uint32_t *slot = mf_blocks_usual_slot(blocks, address);

	if (!slot || !*slot || (*slot & MF_BLOCKS_KIND) != mf_blocks_place(blocks, address))
		return NULL;
	*block = mf_blocks_unpack(address, mf_blocks_read(slot), (uint32_t)blocks->rounding + 1);
	return slot;
}

/* Enters @block in the table. Returns false if the store is full or the address is outside the table. */
bool mf_blocks_put(struct mf_store *store, const struct mf_block *block);

/* Removes the block last entered in the table at @address and copies it to @block. Returns false if there is none. */
bool mf_blocks_take(struct mf_store *store, uint64_t address, struct mf_block *block);

/*
 * Copies the block last entered at @address to @block. Returns false if there is none. Safe even if the memory has
 * arbitrary contents or another program is writing it.
 */
bool mf_blocks_find(const struct mf_store *store, uint64_t address, struct mf_block *block);

/*
 * Calls @visit for every live block, in no particular order. This reads the whole table, so use it only for tests and
 * reports.
 */
void mf_blocks_walk(const struct mf_store *store,
		    void (*visit)(const struct mf_block *block, void *data), void *data);

/*
 * Like mf_blocks_walk(), for the part of MF_REGION_BLOCK_LEAVES from byte @start to byte @end, which are multiples of a cache
 * line's size. The region's end may be exceeded.
 */
void mf_blocks_walk_part(const struct mf_store *store, uint64_t start, uint64_t end,
			 void (*visit)(const struct mf_block *block, void *data), void *data);

#endif
