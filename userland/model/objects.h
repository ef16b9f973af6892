/* SPDX-License-Identifier: GPL-2.0 */
/* The store's table of what was mapped where; see symbols/object.h for the meaning. */
#ifndef MASSIF_MODEL_OBJECTS_H
#define MASSIF_MODEL_OBJECTS_H

#include <stdint.h>

#include "model/store.h"
#include "symbols/object.h"

struct mf_object_record {
	uint32_t kind; /* enum mf_object_kind */
	uint32_t retired; /* no longer mapped: its addresses may belong to another object */
	uint64_t start, end, bias;
	uint32_t path, path_size; /* in the strings region, with its final NUL */
	uint8_t build_id[MF_BUILD_ID_MAX];
	uint8_t build_id_size;
	uint8_t reserved[7];
};

/* Object 0, the unknown one. */
#define MF_OBJECT_NONE 0u

void mf_objects_init(struct mf_store *store);

static inline struct mf_object_record *mf_objects_record(const struct mf_store *store,
							 uint32_t object)
{
	return (struct mf_object_record *)store->regions[MF_REGION_OBJECTS] + object;
}

/* Adds a copy of @object. Returns its number, or MF_OBJECT_NONE when the store is full. */
uint32_t mf_objects_add(struct mf_store *store, const struct mf_object *object);

/* The mapped object that holds @address, or MF_OBJECT_NONE. */
uint32_t mf_objects_find(const struct mf_store *store, uint64_t address);

/*
 * Makes @object from record @number; its path stays in the store. Returns false if there is no such
 * record. Safe against damaged memory.
 */
bool mf_objects_read(const struct mf_store *store, uint32_t number, struct mf_object *object);

#endif
