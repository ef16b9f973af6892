/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The store's table of what was mapped where; see profile/object.h for the meaning. Records stay for ever,
 * since nodes of the trie name them by number; those that are mapped now are linked to a list.
 */
#ifndef MASSIF_MODEL_OBJECTS_H
#define MASSIF_MODEL_OBJECTS_H

#include <stdint.h>

#include "model/store.h"
#include "profile/object.h"

struct mf_object_record {
	uint32_t kind; /* enum mf_object_kind */
	uint32_t retired; /* no longer mapped: its addresses may belong to another object */
	uint64_t start, end, bias;
	uint64_t device, inode;
	int64_t modified_ns;
	uint32_t path, path_size; /* in the strings region, with its final NUL */
	uint8_t build_id[MF_BUILD_ID_MAX];
	uint8_t build_id_size;
	uint8_t has_nodes; /* of the trie */
	uint8_t reserved[2];
	uint32_t next; /* in the list of mapped objects; 0: this is the last one */

	/* Only for whoever adds and retires objects (preload/core/objects.c). */
	uint32_t next_alike; /* of the same hash */
	uint32_t round;	     /* of the scan that saw it last */
	uint32_t name_hash;  /* of the dynamic linker's name for it */
	uint64_t headers;    /* address of its program headers */
};

/* Object 0, the unknown one. */
#define MF_OBJECT_NONE 0u

void mf_objects_init(struct mf_store *store);

static inline struct mf_object_record *mf_objects_record(const struct mf_store *store,
							 uint32_t object)
{
	return (struct mf_object_record *)store->regions[MF_REGION_OBJECTS] + object;
}

/*
 * Adds a copy of @object, which is mapped unless it is a note. Returns its number, or MF_OBJECT_NONE when
 * the store is full. Context: only one thread at a time adds, retires and revives objects.
 */
uint32_t mf_objects_add(struct mf_store *store, const struct mf_object *object);

/* @number is not mapped any more, until the same object is mapped at the same address again. */
void mf_objects_retire(struct mf_store *store, uint32_t number);
void mf_objects_revive(struct mf_store *store, uint32_t number);

/* The mapped object that was added or revived first, and the next one after @number; MF_OBJECT_NONE: no more. */
uint32_t mf_objects_first(const struct mf_store *store);
uint32_t mf_objects_next(const struct mf_store *store, uint32_t number);

/* The mapped object that holds @address, or MF_OBJECT_NONE. Takes no lock; safe against damaged memory. */
uint32_t mf_objects_find(const struct mf_store *store, uint64_t address);

/*
 * Makes @object from record @number; its path stays in the store. Returns false if there is no such
 * record. Safe against damaged memory.
 */
bool mf_objects_read(const struct mf_store *store, uint32_t number, struct mf_object *object);

#endif
