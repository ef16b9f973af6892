/* SPDX-License-Identifier: GPL-2.0 */
/* A list of address ranges, each with a number. Zero-initialise it. */
#ifndef MASSIF_SYMBOLS_RANGES_H
#define MASSIF_SYMBOLS_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mf_range {
	uint64_t start, end; /* start and end of the range; @end is exclusive */
	uint64_t value;
};

struct mf_ranges {
	struct mf_range *list;
	size_t count, room;
};

/* Adds a range. Returns false if out of memory. */
bool mf_ranges_add(struct mf_ranges *ranges, uint64_t start, uint64_t end, uint64_t value);

/* Sorts the ranges. Call this once, after the last mf_ranges_add() and before the first mf_ranges_find(). */
void mf_ranges_sort(struct mf_ranges *ranges);

/* Returns the range that contains @address, or NULL. If several do, returns the one with the highest start. */
const struct mf_range *mf_ranges_find(const struct mf_ranges *ranges, uint64_t address);

void mf_ranges_deinit(struct mf_ranges *ranges);

#endif
