// SPDX-License-Identifier: GPL-2.0
// The live blocks of the heap: a radix table over addresses.
//
// The address space is divided into parts of 2^18 granules. The directory contains the position of each part's leaf, or
// 0 if the part has no leaf yet. A leaf has a slot of 4 bytes for each granule. A granule is 16 bytes, the usual
// alignment of blocks, or 32 bytes if the allocator's blocks are at least that far apart. The possible values of a
// slot:
//
//     0                                          no block
//     0 << 31 | upper << 30 | context << 7 | size << 1
//                                                a usual block of less than 64 bytes; it begins at the
//                                                granule's first byte or, with upper, in the middle
//     0 << 31 | upper << 30 | context << 7 | 1   a usual block of 64 bytes or more. It reaches at least to the
//                                                end of the next granule, so no other block begins there;
//                                                the next granule's slot is
//     3 << 30 | size                             the size of that block
//     0 << 31 | upper << 30 | 1 << 29 | context << 13 | more << 7 | size << 1
//     0 << 31 | upper << 30 | 1 << 29 | context << 7 | more << 1 | 1
//                                                the same two kinds of blocks if the capacity exceeds that of a
//                                                new block, by more * 16 bytes (a realloc that shrinks a block
//                                                keeps its capacity)
//     2 << 30 | index                            a chain of wide blocks, for everything else
//
// Leaf 0 is special: it contains no slots, but the part numbers of all other leaves. Each leaf has a few more slots
// than granules, for the size of a block that begins in the last granule.
//
// On x86-64, blocks at odd multiples of 8 are recorded as if they were 8 bytes lower, in a separate half of the
// directory (see MF_BLOCKS_ODD).
//
// Wide blocks are the rare cases: huge blocks, blocks at addresses that are not a multiple of 8, several blocks in one
// granule, and blocks inside other blocks, for example if an allocator gets its memory from another allocator.

#include "model/blocks.h"

#include "model/model.h"
#include "model/trie.h"

struct mf_wide_block {
	uint64_t address, size, capacity;
	uint32_t context;
	uint32_t next; /* number of the next wide block in the chain or the free list; 0: none */
};

static struct mf_wide_block *wide_of(const struct mf_store *store)
{
	return store->regions[MF_REGION_WIDE_BLOCKS];
}

static uint32_t *make_slot(struct mf_store *store, uint64_t address)
{
	uint32_t *directory = store->regions[MF_REGION_BLOCK_DIRECTORY];
	uint32_t *slot = mf_blocks_slot(store, address);
	uint64_t part;

	if (slot || address >> MF_BLOCKS_ADDRESS_BITS)
		return slot;
	if (!mf_store_fits(store, MF_REGION_BLOCK_LEAVES, store->header->n_leaves,
			   MF_BLOCKS_LEAF_BYTES)) {
		mf_store_set_full(store, MF_STORE_FULL_BLOCKS);
		return NULL;
	}
	part = mf_blocks_key(address) >> mf_blocks_granule_bits(store) >> MF_BLOCKS_LEAF_BITS;
	mf_blocks_leaf(store, 0)[store->header->n_leaves] = (uint32_t)part;
	/* Use release order, because other threads read the directory of the table of blocks without a lock. */
	__atomic_store_n(&directory[part], mf_blocks_leaf_line(store->header->n_leaves++), __ATOMIC_RELEASE);
	return mf_blocks_slot(store, address);
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

static bool push_wide(struct mf_store *store, uint32_t *slot, const struct mf_block *block)
{
	uint32_t index = take_wide(store);

	if (!index)
		return false;
	wide_of(store)[index] = (struct mf_wide_block){
		.address = block->address,
		.size = block->size,
		.capacity = block->capacity,
		.context = block->context,
		.next = *slot & ~MF_BLOCKS_KIND,
	};
	*slot = MF_BLOCKS_WIDE | index;
	return true;
}

/*
 * Decodes a block that is stored in slots rather than in a chain. @usual holds its slots, the first of which is the
 * slot of @address.
 */
static inline struct mf_block unpack_with(uint64_t address, struct mf_usual usual, unsigned int granule_bits,
					  uint32_t alignment)
{
	bool is_odd = mf_blocks_is_odd(address);

	address &= ~((1ull << granule_bits) - 1);
	if (usual.first & MF_BLOCKS_UPPER)
		address |= 1u << MF_BLOCKS_ALIGN_BITS;
	address += is_odd ? 8 : 0;
	return mf_blocks_unpack(address, usual, alignment);
}

static struct mf_block unpack_at(const struct mf_store *store, uint64_t address, struct mf_usual usual)
{
	return unpack_with(address, usual, mf_blocks_granule_bits(store), mf_model_of(store)->options.alignment);
}

/*
 * Converts a usual block (one stored in slots) to a wide block (one stored in a chain outside the slots). @slot is the
 * block's first slot, which is also the slot for @address. Afterwards, @slot refers to a chain that contains only this
 * block. If the block had a second slot, that slot becomes free.
 */
static bool make_wide(struct mf_store *store, uint32_t *slot, uint64_t address)
{
	struct mf_block block = unpack_at(store, address, mf_blocks_read(slot));
	uint32_t chain = 0;

	if (!push_wide(store, &chain, &block))
		return false;
	mf_blocks_clear(slot, *slot);
	*slot = chain;
	return true;
}

void mf_blocks_set_distance(struct mf_store *store, uint32_t bytes)
{
	store->header->granule_bits = bytes > 1u << MF_BLOCKS_ALIGN_BITS ?
					      MF_BLOCKS_ALIGN_BITS + 1 :
					      MF_BLOCKS_ALIGN_BITS;
}

bool mf_blocks_put(struct mf_store *store, const struct mf_block *block)
{
	uint32_t *slot = make_slot(store, block->address);

	if (!slot)
		return false;
	/*
	 * The new block's slot is in use: it contains the size of a long block, which begins in the previous granule
	 * and includes the new block's address. Move the long block to a chain of wide blocks, so that the slot is
	 * free.
	 */
	if ((*slot & MF_BLOCKS_KIND) == MF_BLOCKS_SIZE &&
	    !make_wide(store, slot - 1,
		       block->address - (1ull << mf_blocks_granule_bits(store))))
		return false;
	if (mf_blocks_put_usual(store, block))
		return true;
	if (*slot && !(*slot & MF_BLOCKS_WIDE) && !make_wide(store, slot, block->address))
		return false;
	return push_wide(store, slot, block);
}

bool mf_blocks_take(struct mf_store *store, uint64_t address, struct mf_block *block)
{
	struct mf_wide_block *wide = wide_of(store);
	uint32_t *slot = mf_blocks_slot(store, address);
	uint32_t *link = NULL, index;

	if (!slot || !*slot || (*slot & MF_BLOCKS_KIND) == MF_BLOCKS_SIZE)
		return false;
	if (!(*slot & MF_BLOCKS_WIDE)) {
		*block = unpack_at(store, address, mf_blocks_read(slot));
		if (block->address != address)
			return false;
		mf_blocks_clear(slot, *slot);
		return true;
	}
	for (index = *slot & ~MF_BLOCKS_KIND; index && wide[index].address != address;
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
		*slot = wide[index].next ? MF_BLOCKS_WIDE | wide[index].next : 0;
	wide[index].next = store->header->free_wide;
	store->header->free_wide = index;
	return true;
}

struct find {
	uint64_t address;
	struct mf_block *block;
	bool found;
};

static void compare(const struct mf_block *block, void *data)
{
	struct find *find = data;

	if (find->found || block->address != find->address)
		return;
	*find->block = *block;
	find->found = true;
}

/* A walk over the table. What the program can change meanwhile is read only once. */
struct walk {
	const struct mf_store *store;
	uint32_t n_leaves, n_wide; /* which are inside their regions */
	uint64_t wide_left; /* how many more wide blocks are visited */
	unsigned int granule_bits;
	uint32_t alignment;
	void (*visit)(const struct mf_block *block, void *data);
	void *data;
};

/*
 * Each wide block is in one chain. While a table is read that the program changes, a block can move to another chain, which is
 * read later. So a walk visits so many times as many wide blocks as there are.
 */
#define WIDE_VISITS 2ull

/* Returns whether granules can have so many bytes, of which this is the binary logarithm. */
static bool is_granule(unsigned int bits)
{
	return bits == MF_BLOCKS_ALIGN_BITS || bits == MF_BLOCKS_ALIGN_BITS + 1;
}

static struct walk walk_of(const struct mf_store *store, void (*visit)(const struct mf_block *block, void *data), void *data)
{
	struct walk walk = {
		.store = store,
		.n_leaves = store->header->n_leaves,
		.n_wide = store->header->n_wide,
		.granule_bits = mf_blocks_granule_bits(store),
		.alignment = mf_model_of(store)->options.alignment,
		.visit = visit,
		.data = data,
	};

	if (!is_granule(walk.granule_bits) ||
	    !mf_store_fits(store, MF_REGION_BLOCK_LEAVES, walk.n_leaves - 1, MF_BLOCKS_LEAF_BYTES))
		walk.n_leaves = 0;
	if (!mf_store_fits(store, MF_REGION_WIDE_BLOCKS, walk.n_wide - 1, sizeof(struct mf_wide_block)))
		walk.n_wide = 0;
	walk.wide_left = WIDE_VISITS * walk.n_wide;
	return walk;
}

/*
 * Visits a chain of wide blocks. The chain may contain a cycle if the program is changing it or died while doing so. So visit
 * at most n_wide blocks, the number of elements in the array of wide blocks. In a damaged table, any number of slots can have
 * the same chain.
 */
static void walk_chain(struct walk *walk, uint32_t first)
{
	const struct mf_wide_block *wide = wide_of(walk->store);
	uint64_t left = walk->n_wide < walk->wide_left ? walk->n_wide : walk->wide_left;

	for (uint32_t i = first; i && i < walk->n_wide && left; i = wide[i].next, left--, walk->wide_left--) {
		const struct mf_block block = { wide[i].address, wide[i].size, wide[i].capacity, wide[i].context };

		walk->visit(&block, walk->data);
	}
}

/* Visits each block in @slot, which is the slot of @address. */
static inline void walk_slot(struct walk *walk, uint64_t address, const uint32_t *slot)
{
	struct mf_usual usual;
	struct mf_block block;

	usual.first = __atomic_load_n(slot, __ATOMIC_RELAXED);
	usual.second = __atomic_load_n(&slot[usual.first & MF_BLOCKS_LONG], __ATOMIC_RELAXED);
	if (!usual.first || (usual.first & MF_BLOCKS_KIND) == MF_BLOCKS_SIZE)
		return;
	if (usual.first & MF_BLOCKS_WIDE) {
		walk_chain(walk, usual.first & ~MF_BLOCKS_KIND);
		return;
	}
	block = unpack_with(address, usual, walk->granule_bits, walk->alignment);
	walk->visit(&block, walk->data);
}

bool mf_blocks_find(const struct mf_store *store, uint64_t address, struct mf_block *block)
{
	const uint32_t *directory = store->regions[MF_REGION_BLOCK_DIRECTORY];
	unsigned int granule_bits = mf_blocks_granule_bits(store);
	struct find find = { .address = address, .block = block };
	uint64_t granule, part;
	struct walk walk;
	uint32_t leaf;

	if (!is_granule(granule_bits))
		return false;
	granule = mf_blocks_key(address) >> granule_bits;
	part = granule >> MF_BLOCKS_LEAF_BITS;
	if (!mf_store_fits(store, MF_REGION_BLOCK_DIRECTORY, part, sizeof(*directory)))
		return false;
	leaf = __atomic_load_n(&directory[part], __ATOMIC_ACQUIRE) / mf_blocks_leaf_line(1);
	if (!leaf || !mf_store_fits(store, MF_REGION_BLOCK_LEAVES, leaf, MF_BLOCKS_LEAF_BYTES))
		return false;
	walk = walk_of(store, compare, &find);
	walk_slot(&walk, address, &mf_blocks_leaf(store, leaf)[granule % MF_BLOCKS_LEAF_GRANULES]);
	return find.found;
}

static uint64_t address_of(uint64_t key)
{
	return key & MF_BLOCKS_ODD ? key - MF_BLOCKS_ODD + 8 : key;
}

/* Returns whether all slots of a cache line are empty. Most are, and this is faster than looking at each. */
static bool is_empty_line(const uint32_t *slots)
{
	uint32_t any = 0;

	for (unsigned int i = 0; i < MF_BLOCKS_LINE_SLOTS; i++)
		any |= slots[i];
	return !any;
}

/* How many cache lines ahead the table is fetched. The processor itself does not fetch beyond the end of a page. */
#define LINES_AHEAD 32u

/*
 * Returns whether the directory refers to a leaf. If the number of leaves is damaged, the others have never been written, and
 * there can be gigabytes of them: reading them would allocate their memory.
 */
static bool is_in_use(const struct walk *walk, uint32_t leaf)
{
	const uint32_t *directory = walk->store->regions[MF_REGION_BLOCK_DIRECTORY];
	uint32_t part = mf_blocks_leaf(walk->store, 0)[leaf];

	return mf_store_fits(walk->store, MF_REGION_BLOCK_DIRECTORY, part, sizeof(*directory)) &&
	       __atomic_load_n(&directory[part], __ATOMIC_RELAXED) == mf_blocks_leaf_line(leaf);
}

/* Visits the blocks in those lines of a leaf that begin from slot @slot to slot @end. */
static void walk_lines(struct walk *walk, uint32_t number, uint64_t slot, uint64_t end)
{
	const uint32_t *leaf = mf_blocks_leaf(walk->store, number);
	uint64_t first = (uint64_t)mf_blocks_leaf(walk->store, 0)[number] << MF_BLOCKS_LEAF_BITS;

	if (!is_in_use(walk, number))
		return;
	if (end > MF_BLOCKS_LEAF_GRANULES)
		end = MF_BLOCKS_LEAF_GRANULES;
	for (; slot < end; slot += MF_BLOCKS_LINE_SLOTS) {
		if (slot + LINES_AHEAD * MF_BLOCKS_LINE_SLOTS < end)
			__builtin_prefetch(&leaf[slot + LINES_AHEAD * MF_BLOCKS_LINE_SLOTS]);
		if (is_empty_line(&leaf[slot]))
			continue;
		for (uint64_t i = slot; i < slot + MF_BLOCKS_LINE_SLOTS; i++)
			if (leaf[i])
				walk_slot(walk, address_of((first + i) << walk->granule_bits), &leaf[i]);
	}
}

void mf_blocks_walk(const struct mf_store *store,
		    void (*visit)(const struct mf_block *block, void *data), void *data)
{
	struct walk walk = walk_of(store, visit, data);

	for (uint32_t i = 1; i < walk.n_leaves; i++)
		walk_lines(&walk, i, 0, MF_BLOCKS_LEAF_GRANULES);
}

void mf_blocks_walk_part(const struct mf_store *store, uint64_t start, uint64_t end,
			 void (*visit)(const struct mf_block *block, void *data), void *data)
{
	struct walk walk = walk_of(store, visit, data);
	const uint64_t leaf_bytes = MF_BLOCKS_LEAF_BYTES, slot_bytes = sizeof(uint32_t);

	if (start < leaf_bytes)
		start = leaf_bytes;
	if (end > walk.n_leaves * leaf_bytes)
		end = walk.n_leaves * leaf_bytes;
	while (start < end) {
		uint64_t leaf = start / leaf_bytes, next = (leaf + 1) * leaf_bytes, until = next < end ? next : end;

		walk_lines(&walk, (uint32_t)leaf, (start - leaf * leaf_bytes) / slot_bytes,
			   (until - leaf * leaf_bytes) / slot_bytes);
		start = until;
	}
}
