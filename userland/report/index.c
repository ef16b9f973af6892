// SPDX-License-Identifier: GPL-2.0
// A hash table from pairs of numbers to numbers: open addressing, linear probing.

#include "report/index.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

static size_t slot_of(const struct mf_index *index, uint64_t key, uint32_t key2)
{
	return (size_t)mf_hash(key, key2) & (index->room - 1);
}

static struct mf_index_entry *find(struct mf_index *index, uint64_t key, uint32_t key2)
{
	size_t slot = slot_of(index, key, key2);

	for (;; slot = (slot + 1) & (index->room - 1)) {
		struct mf_index_entry *entry = &index->entries[slot];

		if (entry->value == UINT32_MAX || (entry->key == key && entry->key2 == key2))
			return entry;
	}
}

static bool grow(struct mf_index *index)
{
	struct mf_index larger = { .room = index->room ? index->room * 2 : 1024 };

	larger.entries = calloc(larger.room, sizeof(*larger.entries));
	if (!larger.entries)
		return false;
	memset(larger.entries, 0xff, larger.room * sizeof(*larger.entries));
	larger.count = index->count;
	for (size_t i = 0; i < index->room; i++) {
		const struct mf_index_entry *entry = &index->entries[i];

		if (entry->value != UINT32_MAX)
			*find(&larger, entry->key, entry->key2) = *entry;
	}
	free(index->entries);
	*index = larger;
	return true;
}

uint32_t *mf_index_put(struct mf_index *index, uint64_t key, uint32_t key2, uint32_t value)
{
	struct mf_index_entry *entry;

	/* At most three quarters of the slots are used, so that probing is short and always terminates. */
	if (index->count * 4 >= index->room * 3 && !grow(index))
		return NULL;
	entry = find(index, key, key2);
	if (entry->value == UINT32_MAX) {
		*entry = (struct mf_index_entry){ key, key2, value };
		index->count++;
	}
	return &entry->value;
}

void mf_index_deinit(struct mf_index *index)
{
	free(index->entries);
	*index = (struct mf_index){ 0 };
}
