/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Size classes: how many blocks of which sizes the program has allocated since its start. Class 0 is for blocks of 0 and
 * 1 bytes, class k for those of more than 2^(k-1) and up to 2^k bytes. Each shard (see tally.h) has counts of its own.
 */
#ifndef MASSIF_MODEL_SIZE_CLASSES_H
#define MASSIF_MODEL_SIZE_CLASSES_H

#include <stdint.h>

#include "model/store.h"
#include "profile/size_class.h"

/* Returns the classes of @shard, an array of MF_SIZE_CLASSES. */
static inline struct mf_size_class *mf_size_classes_of(const struct mf_store *store, uint32_t shard)
{
	return (struct mf_size_class *)store->regions[MF_REGION_SIZE_CLASSES] + shard * MF_SIZE_CLASSES;
}

static inline uint32_t mf_size_class(uint64_t size)
{
	uint64_t below = size - (size != 0);

	/* The position of the highest bit of 2 * below + 1. */
	return 63u - (uint32_t)__builtin_clzll(below << 1 | 1);
}

/* Counts a block that was allocated, or that realloc has given a size. The caller is the only one to change @classes. */
static inline void mf_size_classes_add(struct mf_size_class *classes, uint64_t size)
{
	struct mf_size_class *counted = &classes[mf_size_class(size)];

	counted->blocks++;
	counted->bytes += size;
}

/* Writes the sums of all shards to @classes, an array of MF_SIZE_CLASSES. */
void mf_size_classes_sum(const struct mf_store *store, struct mf_size_class *classes);

#endif
