// SPDX-License-Identifier: GPL-2.0
// Details of what each context allocates: its largest block, its live blocks, the sizes, lifetimes and ages of its blocks.

#include "model/details.h"

#include "model/tally.h"

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
static struct mf_birth *birth_at(const struct mf_store *store, uint64_t address)
{
	const uint32_t *slot = mf_blocks_slot(store, address);
	uint64_t number;

	if (__builtin_expect(!slot, 0))
		return NULL;
	number = (uint64_t)(slot - (const uint32_t *)store->regions[MF_REGION_BLOCK_LEAVES]);
	if (__builtin_expect(!mf_store_fits(store, MF_REGION_BIRTHS, number, sizeof(struct mf_birth)), 0))
		return NULL;
	return (struct mf_birth *)store->regions[MF_REGION_BIRTHS] + number;
}

static bool is_known(struct mf_birth born)
{
	return born.position != MF_BIRTH_NONE && born.position != MF_BIRTH_UNKNOWN;
}

/* Blocks whose free was not noticed, and several blocks in one granule, leave births that are not known. */
static void set_birth(struct mf_birth *birth, struct mf_birth born)
{
	static const struct mf_birth unknown = { .position = MF_BIRTH_UNKNOWN };

	if (birth)
		*birth = birth->position == MF_BIRTH_NONE ? born : unknown;
}

void mf_details_alloc(struct mf_store *store, struct mf_detail_place place, uint32_t context, uint64_t address,
		      uint64_t size)
{
	struct mf_detail *detail = mf_details_of(store, place.shard, context);
	struct mf_birth born;

	if (context < MF_CONTEXT_FIRST)
		return;
	born.position = __atomic_add_fetch(&store->header->position, size, __ATOMIC_RELAXED) + 1;
	born.number = mf_tally_of(store, place.tally)->allocations * MF_SHARDS_MAX + place.tally;
	set_birth(birth_at(store, address), born);
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
	struct mf_birth *birth = birth_at(store, block->address);
	struct mf_life life = { .born = birth ? *birth : (struct mf_birth){ .position = MF_BIRTH_NONE } };
	struct mf_detail *detail = mf_details_of(store, shard, block->context);
	uint64_t position = __atomic_load_n(&store->header->position, __ATOMIC_RELAXED);

	if (block->context < MF_CONTEXT_FIRST)
		return (struct mf_life){ .born.position = MF_BIRTH_NONE };
	if (birth)
		birth->position = MF_BIRTH_NONE;
	if (!detail || !is_known(life.born)) {
		lose(store);
		return life;
	}
	life.class = class_of(position - (life.born.position - 1));
	count(store, detail, MF_DETAIL_LIFETIMES, life.class, 1);
	return life;
}

void mf_details_end_age(struct mf_store *store, struct mf_detail_place place, const struct mf_block *block,
			struct mf_birth born, bool was_last)
{
	struct mf_detail *detail = mf_details_of(store, place.shard, block->context);
	const struct mf_tally *tally = mf_tally_of(store, place.tally);
	uint64_t number = born.number / MF_SHARDS_MAX;

	if (block->context < MF_CONTEXT_FIRST || !detail)
		return;
	if (was_last)
		count(store, detail, MF_DETAIL_AGES, 0, 1);
	else if (is_known(born) && born.number % MF_SHARDS_MAX == place.tally && number > tally->others_allocations)
		count(store, detail, MF_DETAIL_AGES, class_of(tally->allocations - number + 1), 1);
}

void mf_details_leave(struct mf_store *store, uint32_t shard, uint32_t context)
{
	struct mf_detail *detail = mf_details_of(store, shard, context);

	if (context >= MF_CONTEXT_FIRST && detail)
		detail->blocks--;
}

void mf_details_free(struct mf_store *store, struct mf_detail_place place, const struct mf_block *block)
{
	struct mf_life life = mf_details_end_life(store, place.shard, block);

	mf_details_end_age(store, place, block, life.born, mf_tally_of(store, place.tally)->last_alloc == block->address);
	mf_details_leave(store, place.shard, block->context);
}

void mf_details_revive(struct mf_store *store, const struct mf_block *block, struct mf_life life)
{
	struct mf_detail *detail = mf_details_of(store, 0, block->context);

	if (block->context < MF_CONTEXT_FIRST)
		return;
	set_birth(birth_at(store, block->address), life.born);
	if (!detail || !is_known(life.born))
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
