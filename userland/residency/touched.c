// SPDX-License-Identifier: GPL-2.0
// Adds up the resident pages of a sample by the code that touched them first, if something has recorded that.

#include "residency/touched.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "residency/pagemap.h"

#define PAGE_BYTES 4096u /* a page of a source */

static void add(struct mf_touched *touched, enum mf_band band, uint32_t context)
{
	uint32_t n = touched->bands[band].n;

	if (context >= n) {
		uint32_t room = context + context / 2 + 64;
		uint64_t *more = reallocarray(touched->bands[band].bytes, room, sizeof(*more));

		if (!more) {
			touched->failed = true;
			return;
		}
		memset(more + n, 0, (room - n) * sizeof(*more));
		touched->bands[band].bytes = more;
		touched->bands[band].n = room;
	}
	touched->bands[band].bytes[context] += PAGE_BYTES;
}

/* The part of a sample in which pages are found. */
struct part {
	struct mf_touched *touched;
	enum mf_band band; /* of the pages that hold no block */
	const struct mf_heap_range *range; /* NULL: no page holds blocks */
	uint64_t page;
};

static void found_in_mapping(void *data, uint64_t address, uint32_t context)
{
	const struct part *part = data;

	add(part->touched, part->band, context);
}

static void found_in_range(void *data, uint64_t address, uint32_t context)
{
	const struct part *part = data;
	size_t i = (size_t)((address - part->range->start) / part->page);
	enum mf_band band = part->band;

	if (part->range->states[i] & MF_PAGE_OWN)
		band = MF_BAND_MASSIF;
	else if (part->range->live[i] || part->range->used[i] || band == MF_BAND_FREE_PAGES)
		band = MF_BAND_LIVE;
	add(part->touched, band, context);
}

void mf_touched_add_mapping(struct mf_touched *touched, enum mf_band band, uint64_t start, uint64_t end)
{
	struct part part = { .touched = touched, .band = band };

	if (touched->source)
		touched->source->each(touched->source->data, start, end, found_in_mapping, &part);
}

void mf_touched_add_range(struct mf_touched *touched, const struct mf_heap_range *range, uint64_t page, enum mf_band empty)
{
	struct part part = { touched, empty, range, page };

	if (touched->source)
		touched->source->each(touched->source->data, range->start, range->end, found_in_range, &part);
}

int mf_touched_finish(struct mf_touched *touched, struct mf_residency_detail *detail)
{
	size_t n = 0;

	if (!touched->source)
		return 0;
	for (int band = 0; band < MF_BANDS; band++)
		for (uint32_t i = 0; i < touched->bands[band].n; i++)
			n += touched->bands[band].bytes[i] != 0;
	detail->touches = calloc(n + 1, sizeof(*detail->touches));
	if (!detail->touches || touched->failed)
		return -ENOMEM;
	for (int band = 0; band < MF_BANDS; band++)
		for (uint32_t i = 0; i < touched->bands[band].n; i++)
			if (touched->bands[band].bytes[i])
				detail->touches[detail->n_touches++] = (struct mf_residency_touch){
					(enum mf_band)band, i, touched->bands[band].bytes[i],
				};
	detail->counted = touched->source->resident(touched->source->data);
	return 0;
}

void mf_touched_deinit(struct mf_touched *touched)
{
	for (int band = 0; band < MF_BANDS; band++)
		free(touched->bands[band].bytes);
	*touched = (struct mf_touched){ 0 };
}
