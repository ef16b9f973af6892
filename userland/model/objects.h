/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The store's table of mapped objects; see profile/object.h. Records are never removed, since nodes of the trie refer
 * to them by number. Objects that are currently mapped are also in a list.
 */
#ifndef MASSIF_MODEL_OBJECTS_H
#define MASSIF_MODEL_OBJECTS_H

#include <stdint.h>

#include "model/store.h"
#include "profile/object.h"

struct mf_object_record {
	uint32_t kind; /* enum mf_object_kind */
	uint32_t retired; /* the object is no longer mapped; its addresses may belong to another object now */
	uint64_t start, end, bias;
	uint64_t device, inode;
	int64_t modified_ns;
	uint32_t path, path_size; /* offset of the path in the strings region, and its size including the NUL */
	uint8_t build_id[MF_BUILD_ID_MAX];
	uint8_t build_id_size;
	uint8_t has_nodes; /* true if nodes of the trie refer to this object */
	uint8_t reserved[2];
	uint32_t next; /* next object in the list of mapped objects; 0 if this is the last */

	/* Used only by the code that adds and retires objects (preload/core/objects.c). */
	uint32_t next_alike; /* next object with the same hash of path and address */
	uint32_t round;	     /* number of the latest scan of the loaded objects in which this object was found */
	uint32_t name_hash;  /* hash of the object's name in the dynamic linker */
	uint64_t headers;    /* address of the object's program headers */
};

/* Object number that means "no object" or "unknown object". */
#define MF_OBJECT_NONE 0u

/* Initialises the table of a new store. */
void mf_objects_init(struct mf_store *store);

static inline struct mf_object_record *mf_objects_record(const struct mf_store *store,
							 uint32_t object)
{
	return (struct mf_object_record *)store->regions[MF_REGION_OBJECTS] + object;
}

/*
 * Adds a copy of @object to the table. Also adds it to the list of mapped objects, unless its kind is MF_OBJECT_NOTE (a
 * text that stands for a frame in the report, such as "[heap]"). Returns its number, or MF_OBJECT_NONE if the store is
 * full. Context: only one thread at a time may add, retire or revive objects.
 */
uint32_t mf_objects_add(struct mf_store *store, const struct mf_object *object);

/*
 * mf_objects_retire() records that object @number is no longer mapped; mf_objects_revive() records that it is mapped
 * again at the same address. Context: as for mf_objects_add().
 */
void mf_objects_retire(struct mf_store *store, uint32_t number);
void mf_objects_revive(struct mf_store *store, uint32_t number);

/* Iterate over the mapped objects in the order in which they were added or revived. MF_OBJECT_NONE ends the list. */
uint32_t mf_objects_first(const struct mf_store *store);
uint32_t mf_objects_next(const struct mf_store *store, uint32_t number);

/* Returns the mapped object that contains @address, or MF_OBJECT_NONE. Takes no lock; safe against damaged memory. */
uint32_t mf_objects_find(const struct mf_store *store, uint64_t address);

/*
 * Fills @object from the record @number; its path points into the store. Returns false if there is no such record. Safe
 * against damaged memory.
 */
bool mf_objects_read(const struct mf_store *store, uint32_t number, struct mf_object *object);

#endif
