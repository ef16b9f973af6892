// SPDX-License-Identifier: GPL-2.0
// A list of address ranges, each with a number.

#include "symbols/ranges.h"

#include <stdlib.h>

/*
 * Maximum number of ranges that a search examines, going backwards from the nearest start. In valid input, few ranges
 * overlap.
 */
#define LOOK_BACK 16

bool mf_ranges_add(struct mf_ranges *ranges, uint64_t start, uint64_t end, uint64_t value)
{
	if (ranges->count == ranges->room) {
		size_t room = ranges->room ? ranges->room * 2 : 64;
		struct mf_range *list = reallocarray(ranges->list, room, sizeof(*list));

		if (!list)
			return false;
		ranges->list = list;
		ranges->room = room;
	}
	ranges->list[ranges->count++] = (struct mf_range){ start, end, value };
	return true;
}

static int compare(const void *left, const void *right)
{
	const struct mf_range *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	/*
	 * Ranges with the same start are sorted longest first, since the search goes backwards and should find the
	 * shortest first.
	 */
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	return a->value < b->value ? -1 : a->value > b->value;
}

void mf_ranges_sort(struct mf_ranges *ranges)
{
	if (ranges->count)
		qsort(ranges->list, ranges->count, sizeof(*ranges->list), compare);
}

const struct mf_range *mf_ranges_find(const struct mf_ranges *ranges, uint64_t address)
{
	size_t low = 0, high = ranges->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges->list[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t steps = 0; low > 0 && steps < LOOK_BACK; steps++) {
		if (address < ranges->list[--low].end)
			return &ranges->list[low];
	}
	return NULL;
}

void mf_ranges_deinit(struct mf_ranges *ranges)
{
	free(ranges->list);
	*ranges = (struct mf_ranges){ 0 };
}
