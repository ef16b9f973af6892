// SPDX-License-Identifier: GPL-2.0
// Size classes: how many blocks of which sizes the program has allocated since its start.

#include "model/size_classes.h"

#include <string.h>

#include "model/tally.h"

void mf_size_classes_sum(const struct mf_store *store, struct mf_size_class *classes)
{
	uint32_t n_tallies = store->header->n_tallies;

	memset(classes, 0, MF_SIZE_CLASSES * sizeof(*classes));
	for (uint32_t shard = 0; shard == 0 || (shard < n_tallies && shard < MF_SHARDS_MAX); shard++) {
		const struct mf_size_class *part = mf_size_classes_of(store, shard);

		for (uint32_t i = 0; i < MF_SIZE_CLASSES; i++) {
			classes[i].blocks += __atomic_load_n(&part[i].blocks, __ATOMIC_RELAXED);
			classes[i].bytes += __atomic_load_n(&part[i].bytes, __ATOMIC_RELAXED);
		}
	}
}
