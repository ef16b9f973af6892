// SPDX-License-Identifier: GPL-2.0
// The store's table of mapped objects.

#include "model/objects.h"

#include <string.h>

void mf_objects_init(struct mf_store *store)
{
	store->header->n_objects = 1;
	store->header->n_string_bytes = 1; /* string 0 is the empty string */
}

/* Returns the record of object @number, or NULL if there is no such object. */
static struct mf_object_record *existing_record(const struct mf_store *store, uint32_t number)
{
	if (number == MF_OBJECT_NONE ||
	    !mf_store_fits(store, MF_REGION_OBJECTS, number, sizeof(struct mf_object_record)))
		return NULL;
	return mf_objects_record(store, number);
}

uint32_t mf_objects_first(const struct mf_store *store)
{
	return __atomic_load_n(&store->header->first_object, __ATOMIC_ACQUIRE);
}

uint32_t mf_objects_next(const struct mf_store *store, uint32_t number)
{
	return __atomic_load_n(&mf_objects_record(store, number)->next, __ATOMIC_ACQUIRE);
}

/* Appends the object to the list of mapped objects, which is in the same order as the dynamic linker's list. */
static void link_object(struct mf_store *store, uint32_t number)
{
	struct mf_store_header *header = store->header;
	uint32_t *link = header->last_object ? &mf_objects_record(store, header->last_object)->next :
					       &header->first_object;

	__atomic_store_n(&mf_objects_record(store, number)->next, MF_OBJECT_NONE, __ATOMIC_RELAXED);
	__atomic_store_n(link, number, __ATOMIC_RELEASE);
	header->last_object = number;
}

/* Removes the object from the list. Its next field is kept, so that a reader that has reached this object can continue. */
static void unlink_object(struct mf_store *store, uint32_t number)
{
	struct mf_store_header *header = store->header;
	uint32_t *link = &header->first_object, before = MF_OBJECT_NONE;

	while (*link != number && *link != MF_OBJECT_NONE) {
		before = *link;
		link = &mf_objects_record(store, before)->next;
	}
	if (*link != number)
		return;
	__atomic_store_n(link, mf_objects_record(store, number)->next, __ATOMIC_RELEASE);
	if (header->last_object == number)
		header->last_object = before;
}

uint32_t mf_objects_add(struct mf_store *store, const struct mf_object *object)
{
	struct mf_store_header *header = store->header;
	size_t path_size = object->path ? strlen(object->path) + 1 : 0;
	struct mf_object_record *record = mf_objects_record(store, header->n_objects);

	if (!mf_store_fits(store, MF_REGION_OBJECTS, header->n_objects, sizeof(*record)) ||
	    !mf_store_fits(store, MF_REGION_STRINGS, header->n_string_bytes + path_size, 1)) {
		mf_store_set_full(store, MF_STORE_FULL_OBJECTS);
		return MF_OBJECT_NONE;
	}
	*record = (struct mf_object_record){
		.kind = object->kind,
		.start = object->start,
		.end = object->end,
		.bias = object->bias,
		.device = object->device,
		.inode = object->inode,
		.modified_ns = object->modified_ns,
		.path = path_size ? header->n_string_bytes : 0,
		.path_size = (uint32_t)path_size,
		.build_id_size = object->build_id_size,
	};
	memcpy(record->build_id, object->build_id, sizeof(record->build_id));
	if (path_size)
		memcpy((char *)store->regions[MF_REGION_STRINGS] + header->n_string_bytes,
		       object->path, path_size);
	header->n_string_bytes += (uint32_t)path_size;
	/* Use release order, because readers of the table take no lock. */
	__atomic_store_n(&header->n_objects, header->n_objects + 1, __ATOMIC_RELEASE);
	if (object->kind != MF_OBJECT_NOTE)
		link_object(store, header->n_objects - 1);
	return header->n_objects - 1;
}

void mf_objects_retire(struct mf_store *store, uint32_t number)
{
	mf_objects_record(store, number)->retired = 1;
	unlink_object(store, number);
}

void mf_objects_revive(struct mf_store *store, uint32_t number)
{
	mf_objects_record(store, number)->retired = 0;
	link_object(store, number);
}

uint32_t mf_objects_find(const struct mf_store *store, uint64_t address)
{
	uint64_t room = store->sizes[MF_REGION_OBJECTS] / sizeof(struct mf_object_record);
	uint64_t left = __atomic_load_n(&store->header->n_objects, __ATOMIC_ACQUIRE);
	uint32_t number = mf_objects_first(store);
	const struct mf_object_record *record;

	/*
	 * While objects are being relinked, a reader may see some of them twice, so the loop is bounded. The number can be
	 * damaged.
	 */
	if (left > room)
		left = room;
	for (; left && (record = existing_record(store, number)); left--) {
		if (!record->retired && address >= record->start && address < record->end)
			return number;
		number = mf_objects_next(store, number);
	}
	return MF_OBJECT_NONE;
}

bool mf_objects_read(const struct mf_store *store, uint32_t number, struct mf_object *object)
{
	struct mf_object_record record;
	const char *strings = store->regions[MF_REGION_STRINGS];
	uint64_t n_strings = store->sizes[MF_REGION_STRINGS];

	memset(object, 0, sizeof(*object));
	if (!mf_store_fits(store, MF_REGION_OBJECTS, number, sizeof(record)))
		return false;
	/* The program can change the record at any time, so check and use the same copy. */
	memcpy(&record, mf_objects_record(store, number), sizeof(record));
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	object->start = record.start;
	object->end = record.end < record.start ? record.start : record.end;
	object->bias = record.bias;
	object->unloaded = record.retired;
	object->device = record.device;
	object->inode = record.inode;
	object->modified_ns = record.modified_ns;
	if (store->files)
		object->held = __atomic_load_n(&store->files[number], __ATOMIC_ACQUIRE);
	if (record.path_size && record.path < n_strings &&
	    record.path_size <= n_strings - record.path &&
	    !strings[record.path + record.path_size - 1])
		object->path = strings + record.path;
	if (object->path && record.kind <= MF_OBJECT_NOTE)
		object->kind = (enum mf_object_kind)record.kind;
	if (record.build_id_size <= MF_BUILD_ID_MAX) {
		memcpy(object->build_id, record.build_id, sizeof(object->build_id));
		object->build_id_size = record.build_id_size;
	}
	return true;
}
