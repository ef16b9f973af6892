/* SPDX-License-Identifier: GPL-2.0 */
/* A hash table that maps pairs of numbers to numbers. Zero-initialise it. */
#ifndef MASSIF_REPORT_INDEX_H
#define MASSIF_REPORT_INDEX_H

#include <stddef.h>
#include <stdint.h>

struct mf_index_entry {
	uint64_t key;
	uint32_t key2, value; /* the entry is free if @value is UINT32_MAX */
};

struct mf_index {
	struct mf_index_entry *entries;
	size_t count, room; /* number of used entries, and of all entries: a power of two, or 0 */
};

/*
 * Returns a pointer to the value for the pair (@key, @key2). If the pair is new, its value is first set to @value (less
 * than UINT32_MAX). The pointer is valid until the next call. Returns NULL if out of memory.
 */
uint32_t *mf_index_put(struct mf_index *index, uint64_t key, uint32_t key2, uint32_t value);

void mf_index_deinit(struct mf_index *index);

#endif
