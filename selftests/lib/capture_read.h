/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads one tree version: the bytes of all contexts at the time of one detailed snapshot. To read several versions, use
 * a single struct mf_rewind and go from the newest version to the oldest.
 */
#ifndef MASSIF_SELFTESTS_CAPTURE_READ_H
#define MASSIF_SELFTESTS_CAPTURE_READ_H

#include <stdlib.h>

#include "model/rewind.h"

/*
 * Reads the tree version @capture with mf_rewind_to(), starting at the current state. @capture, @bytes, @max and the
 * result are those of mf_rewind_to().
 */
static inline uint32_t capture_read(const struct mf_store *store, uint64_t capture, uint64_t *bytes,
				    uint32_t max)
{
	struct mf_rewind rewind;
	uint64_t *cells = calloc(mf_rewind_prepare(&rewind, store) + 1, sizeof(*cells));
	uint32_t n = 0;

	if (cells) {
		mf_rewind_begin(&rewind, cells);
		n = mf_rewind_to(&rewind, capture, bytes, max);
	}
	free(cells);
	return n;
}

#endif
