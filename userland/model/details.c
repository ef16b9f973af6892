// SPDX-License-Identifier: GPL-2.0
// Details of what each context allocates: its largest block, its live blocks, the sizes and lifetimes of its blocks.

#include "model/details.h"

static void lose(struct mf_store *store)
{
	__atomic_fetch_add(&store->header->details_lost, 1, __ATOMIC_RELAXED);
}

static struct mf_detail_line *line_at(const struct mf_store *store, uint32_t number)
{
	return (struct mf_detail_line *)store->regions[MF_REGION_DETAIL_LINES] + number;
}

/* Returns the number of a new line, or 0 if the region is full. Several threads may add lines at the same time. */
static uint32_t add_line(struct mf_store *store)
{
	uint32_t *n = &store->header->n_detail_lines, number = __atomic_load_n(n, __ATOMIC_RELAXED);

	/* Check before incrementing as well, so that the number stops growing when the region is full. */
	if (mf_store_fits(store, MF_REGION_DETAIL_LINES, number, sizeof(struct mf_detail_line)))
		number = __atomic_fetch_add(n, 1, __ATOMIC_RELAXED);
	return mf_store_fits(store, MF_REGION_DETAIL_LINES, number, sizeof(struct mf_detail_line)) ? number : 0;
}

static uint32_t class_of(uint64_t number)
{
	uint32_t class = mf_size_class(number);

	return class < MF_DETAIL_CLASSES ? class : MF_DETAIL_CLASSES - 1;
}

static void count(struct mf_store *store, struct mf_detail *detail, enum mf_detail_histogram histogram, uint32_t class,
		  uint64_t change)
{
	uint32_t *line = &detail->lines[histogram][class / MF_DETAIL_LINE_CLASSES];

	if (__builtin_expect(!*line, 0))
		__atomic_store_n(line, add_line(store), __ATOMIC_RELEASE);
	if (__builtin_expect(!*line, 0))
		lose(store);
	else
		line_at(store, *line)->counts[class % MF_DETAIL_LINE_CLASSES] += change;
}

/* Returns where the birth of a block at @address is kept, or NULL if nowhere. */
static uint64_t *birth_at(const struct mf_store *store, uint64_t address)
{
	const uint32_t *slot = mf_blocks_slot(store, address);
	uint64_t number;

	if (__builtin_expect(!slot, 0))
		return NULL;
	number = (uint64_t)(slot - (const uint32_t *)store->regions[MF_REGION_BLOCK_LEAVES]);
	if (__builtin_expect(!mf_store_fits(store, MF_REGION_BIRTHS, number, sizeof(uint64_t)), 0))
		return NULL;
	return (uint64_t *)store->regions[MF_REGION_BIRTHS] + number;
}

/* Blocks whose free was not noticed, and several blocks in one granule, leave births that are not known. */
static void begin_life(struct mf_store *store, uint64_t address, uint64_t size)
{
	uint64_t position = __atomic_add_fetch(&store->header->position, size, __ATOMIC_RELAXED);
	uint64_t *birth = birth_at(store, address);

	if (birth)
		*birth = *birth == MF_BIRTH_NONE ? position + 1 : MF_BIRTH_UNKNOWN;
}

void mf_details_alloc(struct mf_store *store, uint32_t shard, uint32_t context, uint64_t address, uint64_t size)
{
	struct mf_detail *detail = mf_details_of(store, shard, context);

	if (context < MF_CONTEXT_FIRST)
		return;
	begin_life(store, address, size);
	if (!detail) {
		lose(store);
		return;
	}
	detail->blocks++;
	if (size > detail->largest)
		detail->largest = size;
	count(store, detail, MF_DETAIL_SIZES, class_of(size), 1);
}

struct mf_life mf_details_end_life(struct mf_store *store, uint32_t shard, const struct mf_block *block)
{
	uint64_t *birth = birth_at(store, block->address);
	struct mf_life life = { .born = birth ? *birth : MF_BIRTH_NONE };
	struct mf_detail *detail = mf_details_of(store, shard, block->context);
	uint64_t position = __atomic_load_n(&store->header->position, __ATOMIC_RELAXED);

	if (block->context < MF_CONTEXT_FIRST)
		return (struct mf_life){ .born = MF_BIRTH_NONE };
	if (birth)
		*birth = MF_BIRTH_NONE;
	if (!detail || life.born == MF_BIRTH_NONE || life.born == MF_BIRTH_UNKNOWN) {
		lose(store);
		return life;
	}
	life.class = class_of(position - (life.born - 1));
	count(store, detail, MF_DETAIL_LIFETIMES, life.class, 1);
	return life;
}

void mf_details_leave(struct mf_store *store, uint32_t shard, uint32_t context)
{
	struct mf_detail *detail = mf_details_of(store, shard, context);

	if (context >= MF_CONTEXT_FIRST && detail)
		detail->blocks--;
}

void mf_details_free(struct mf_store *store, uint32_t shard, const struct mf_block *block)
{
	mf_details_end_life(store, shard, block);
	mf_details_leave(store, shard, block->context);
}

void mf_details_revive(struct mf_store *store, const struct mf_block *block, struct mf_life life)
{
	struct mf_detail *detail = mf_details_of(store, 0, block->context);
	uint64_t *birth = birth_at(store, block->address);

	if (block->context < MF_CONTEXT_FIRST)
		return;
	if (birth)
		*birth = *birth == MF_BIRTH_NONE ? life.born : MF_BIRTH_UNKNOWN;
	if (!detail || life.born == MF_BIRTH_NONE || life.born == MF_BIRTH_UNKNOWN)
		__atomic_fetch_sub(&store->header->details_lost, 1, __ATOMIC_RELAXED);
	else
		count(store, detail, MF_DETAIL_LIFETIMES, life.class, UINT64_MAX);
}

static void add_line_to(const struct mf_store *store, uint32_t number, uint64_t *counts)
{
	if (!number || !mf_store_fits(store, MF_REGION_DETAIL_LINES, number, sizeof(struct mf_detail_line)))
		return;
	for (uint32_t i = 0; i < MF_DETAIL_LINE_CLASSES; i++)
		counts[i] += __atomic_load_n(&line_at(store, number)->counts[i], __ATOMIC_RELAXED);
}

void mf_details_sum(const struct mf_store *store, uint32_t context, struct mf_detail_sum *sum)
{
	uint32_t n_tallies = store->header->n_tallies;

	*sum = (struct mf_detail_sum){ 0 };
	for (uint32_t shard = 0; shard == 0 || (shard < n_tallies && shard < MF_SHARDS_MAX); shard++) {
		const struct mf_detail *detail = mf_details_of(store, shard, context);
		uint64_t largest;

		if (!detail)
			return;
		largest = __atomic_load_n(&detail->largest, __ATOMIC_RELAXED);
		if (largest > sum->largest)
			sum->largest = largest;
		for (uint32_t i = 0; i < MF_DETAIL_CLASSES / MF_DETAIL_LINE_CLASSES; i++)
			for (uint32_t which = 0; which < MF_DETAIL_HISTOGRAMS; which++)
				add_line_to(store, __atomic_load_n(&detail->lines[which][i], __ATOMIC_ACQUIRE),
					    &sum->counts[which][i * MF_DETAIL_LINE_CLASSES]);
	}
}
