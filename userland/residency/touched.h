/* SPDX-License-Identifier: GPL-2.0 */
/* Adds up the resident pages of a sample by the code that touched them first, if something has recorded that. */
#ifndef MASSIF_RESIDENCY_TOUCHED_H
#define MASSIF_RESIDENCY_TOUCHED_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/residency.h"
#include "residency/heap_pages.h"

/* Called with the address of a page, and the context (in the profile of first touches) that touched it first. */
typedef void mf_touch_found(void *data, uint64_t address, uint32_t context);

/* What knows who touched the pages of a process first. */
struct mf_touch_source {
	/* Calls @found for each resident page from @start to @end. */
	void (*each)(void *data, uint64_t start, uint64_t end, mf_touch_found *found, void *found_data);
	uint64_t (*resident)(void *data); /* returns the number of resident bytes */
	void *data;
};

/* Zero-initialise it, but for the source. */
struct mf_touched {
	const struct mf_touch_source *source; /* NULL: nothing is known, and the functions below do nothing */
	struct {
		uint64_t *bytes; /* of each context */
		uint32_t n;
	} bands[MF_BANDS];
	bool failed; /* out of memory */
};

/* Adds the pages of a mapping that is in @band as a whole. */
void mf_touched_add_mapping(struct mf_touched *touched, enum mf_band band, uint64_t start, uint64_t end);

/*
 * Adds the pages of @range, in which blocks have been entered: those with blocks and, if @empty is MF_BAND_FREE_PAGES, the
 * others, too, to the allocator (MF_BAND_LIVE). Otherwise the others are in the band @empty.
 */
void mf_touched_add_range(struct mf_touched *touched, const struct mf_heap_range *range, uint64_t page, enum mf_band empty);

/* Lists the sums in @detail. Returns 0 or -ENOMEM. */
int mf_touched_finish(struct mf_touched *touched, struct mf_residency_detail *detail);

void mf_touched_deinit(struct mf_touched *touched);

#endif
