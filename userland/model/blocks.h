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
 * The table's form; blocks.c tells it. The slots of a usual block are written and read by the thread
 * that has the block, without a lock: nobody else has a block there at that time.
 */
#define MF_BLOCKS_ALIGN_BITS   4  /* of a usual block's address */
#define MF_BLOCKS_LEAF_BITS    18 /* granules of one leaf */
#define MF_BLOCKS_LEAF_GRANULES (1u << MF_BLOCKS_LEAF_BITS)
#define MF_BLOCKS_LINE_SLOTS   16u /* of a cache line */
#define MF_BLOCKS_LEAF_SLOTS   (MF_BLOCKS_LEAF_GRANULES + MF_BLOCKS_LINE_SLOTS)
#define MF_BLOCKS_LEAF_BYTES   (MF_BLOCKS_LEAF_SLOTS * sizeof(uint32_t))

/*
 * A block's place in the table is that of its address. But some allocators (jemalloc, tcmalloc) put blocks of 8
 * bytes beside each other: those at odd multiples of 8 have the half for themselves in which there are no
 * addresses of programs, if there is such a half.
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

#define MF_BLOCKS_LONG		1u /* there is a second slot */
#define MF_BLOCKS_LOW_SHIFT	1  /* of a size; or, of a long block, of more */
#define MF_BLOCKS_LOW_MAX	63u
#define MF_BLOCKS_CONTEXT_SHIFT 7
#define MF_BLOCKS_CONTEXT_BITS	22
#define MF_BLOCKS_SHRUNK	(1u << 29) /* a capacity above a fresh block's */
#define MF_BLOCKS_SHRUNK_SHIFT	13	   /* of the context of such a block that is not long */
#define MF_BLOCKS_SHRUNK_BITS	16
#define MF_BLOCKS_KIND		(3u << 30)
#define MF_BLOCKS_UPPER		(1u << 30)
#define MF_BLOCKS_WIDE		(2u << 30)
#define MF_BLOCKS_SIZE		(3u << 30) /* and a size */
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

/* What finding a slot takes, none of which changes once there are blocks. */
struct mf_blocks {
	const uint32_t *directory;
	uint32_t *leaves;
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

/* As the directory says where a leaf begins: in cache lines. */
static inline uint32_t mf_blocks_leaf_line(uint32_t leaf)
{
	return leaf * (MF_BLOCKS_LEAF_SLOTS / MF_BLOCKS_LINE_SLOTS);
}

/* The slot of @granule, whose part of the table is in the directory; NULL if it was never entered. */
static inline uint32_t *mf_blocks_slot_in(const struct mf_blocks *blocks, uint64_t granule)
{
	uint32_t line = __atomic_load_n(&blocks->directory[granule >> MF_BLOCKS_LEAF_BITS],
					__ATOMIC_ACQUIRE);

	if (__builtin_expect(!line, 0))
		return NULL;
	return blocks->leaves + (uint64_t)line * MF_BLOCKS_LINE_SLOTS +
	       granule % MF_BLOCKS_LEAF_GRANULES;
}

/* The same for any address. */
static inline uint32_t *mf_blocks_slot(const struct mf_store *store, uint64_t address)
{
	struct mf_blocks blocks = mf_blocks_of(store);

	return address >> MF_BLOCKS_ADDRESS_BITS ?
		       NULL :
		       mf_blocks_slot_in(&blocks, mf_blocks_key(address) >> blocks.granule_bits);
}

/* The same for an address at which a usual block may begin; NULL for others. */
static inline uint32_t *mf_blocks_usual_slot(const struct mf_blocks *blocks, uint64_t address)
{
	/* The low bits, which must be 0, go to the upper end: then it is beyond the table. */
	uint64_t turned = address >> MF_BLOCKS_ALIGN_BITS | address << (64 - MF_BLOCKS_ALIGN_BITS);

	if (__builtin_expect(turned >> (MF_BLOCKS_ADDRESS_BITS - MF_BLOCKS_ALIGN_BITS), 0)) {
		if (!mf_blocks_is_odd(address) || address >> MF_BLOCKS_ADDRESS_BITS)
			return NULL;
		address = mf_blocks_key(address);
	}
	return mf_blocks_slot_in(blocks, address >> blocks->granule_bits);
}

/* Says that the slot of a usual block at @address will be written. */
static inline void mf_blocks_prefetch(const struct mf_blocks *blocks, uint64_t address)
{
	uint32_t *slot = mf_blocks_usual_slot(blocks, address);

	if (slot)
		__builtin_prefetch(slot, 1);
}

/* Where in its granule, of one or two places, a usual block at @address lies. */
static inline uint32_t mf_blocks_place(const struct mf_blocks *blocks, uint64_t address)
{
	return ((uint32_t)address & blocks->upper) * (MF_BLOCKS_UPPER >> MF_BLOCKS_ALIGN_BITS);
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

/* Whether a block of @size bytes has a second slot (as an index), which has its size. */
static inline uint32_t mf_blocks_is_long(uint64_t size)
{
	return size > MF_BLOCKS_LOW_MAX;
}

/* A usual block, whose capacity is that of a fresh one. */
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

/* The block of @first is in that slot no more. */
static inline void mf_blocks_clear(uint32_t *slot, uint32_t first)
{
	uint32_t is_long = first & MF_BLOCKS_LONG;

	slot[0] = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	slot[is_long] = 0;
}

/*
 * The same for a thread that is the only one, which has read @second from the next granule's slot, of
 * whichever block that is. Where it reads and writes does not depend on what it has read, so that nobody who
 * comes by next has to wait for that. A signal handler that has a block there finds its slot as it left it.
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

/* A usual block in its slots: the first of them, and of a long one the second. */
struct mf_usual {
	uint32_t first, second;
};

/* @block in that form; first is 0 if it is not of that kind. */
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

/* What slots say of their block, whose @first is without the kind. */
struct mf_usual_block {
	uint32_t size, more, context; /* more: bytes of the capacity above a fresh block's */
};

/*
 * For most blocks. Any bits are taken: of what is no such block, the context has more than
 * MF_BLOCKS_CONTEXT_BITS.
 */
static inline struct mf_usual_block mf_blocks_parse_fresh(uint32_t first, uint32_t second)
{
	uint32_t low = first >> MF_BLOCKS_LOW_SHIFT & MF_BLOCKS_LOW_MAX;
	uint32_t if_long = -(first & MF_BLOCKS_LONG);

	return (struct mf_usual_block){
		/* Not by a branch: which block is freed next nobody foresees. A long one has 0 there. */
		.size = low | (second & if_long & MF_BLOCKS_SIZE_MAX),
		.context = first >> MF_BLOCKS_CONTEXT_SHIFT,
	};
}

/* For all. */
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

/* What is in @slot, which has a block's beginning. */
static inline struct mf_usual mf_blocks_read(const uint32_t *slot)
{
	uint32_t first = *slot;

	return (struct mf_usual){ first, slot[first & MF_BLOCKS_LONG] };
}

/* Enters @block where that takes no more than writing its slots; else returns false. */
static inline bool mf_blocks_put_usual(struct mf_store *store, const struct mf_block *block)
{
	uint32_t *slot = mf_blocks_slot(store, block->address);
	struct mf_usual usual = mf_blocks_pack(store, block);

	if (!slot || !usual.first || slot[0] || slot[usual.first & MF_BLOCKS_LONG])
		return false;
	slot[usual.first & MF_BLOCKS_LONG] = usual.second;
	/* Whoever ends here leaves no block without a size: the second comes first, and goes last. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	slot[0] = usual.first;
	return true;
}

/* The slot of the block at @address, and the block; NULL if it is not of the usual kind. */
static inline uint32_t *mf_blocks_find_usual(const struct mf_blocks *blocks, uint64_t address,
					     struct mf_block *block)
{
	uint32_t *slot = mf_blocks_usual_slot(blocks, address);

	if (!slot || !*slot || (*slot & MF_BLOCKS_KIND) != mf_blocks_place(blocks, address))
		return NULL;
	*block = mf_blocks_unpack(address, mf_blocks_read(slot), (uint32_t)blocks->rounding + 1);
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
