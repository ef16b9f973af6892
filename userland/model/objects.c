// SPDX-License-Identifier: GPL-2.0
// The store's table of what was mapped where.

#include "model/objects.h"

#include <string.h>

void mf_objects_init(struct mf_store *store)
{
	store->header->n_objects = 1;
	store->header->n_string_bytes = 1; /* string 0 is empty */
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
		.path = path_size ? header->n_string_bytes : 0,
		.path_size = (uint32_t)path_size,
		.build_id_size = object->build_id_size,
	};
	memcpy(record->build_id, object->build_id, sizeof(record->build_id));
	if (path_size)
		memcpy((char *)store->regions[MF_REGION_STRINGS] + header->n_string_bytes,
		       object->path, path_size);
	header->n_string_bytes += (uint32_t)path_size;
	/* Readers of the table take no lock. */
	__atomic_store_n(&header->n_objects, header->n_objects + 1, __ATOMIC_RELEASE);
	return header->n_objects - 1;
}

uint32_t mf_objects_find(const struct mf_store *store, uint64_t address)
{
	for (uint32_t i = __atomic_load_n(&store->header->n_objects, __ATOMIC_ACQUIRE); i-- > 1;) {
		const struct mf_object_record *record = mf_objects_record(store, i);

		if (!record->retired && address >= record->start && address < record->end)
			return i;
	}
	return MF_OBJECT_NONE;
}

bool mf_objects_read(const struct mf_store *store, uint32_t number, struct mf_object *object)
{
	const struct mf_object_record *record = mf_objects_record(store, number);
	const char *strings = store->regions[MF_REGION_STRINGS];
	uint64_t n_strings = store->sizes[MF_REGION_STRINGS];

	memset(object, 0, sizeof(*object));
	if (!mf_store_fits(store, MF_REGION_OBJECTS, number, sizeof(*record)))
		return false;
	object->start = record->start;
	object->end = record->end;
	object->bias = record->bias;
	object->unloaded = record->retired;
	if (record->path_size && record->path < n_strings &&
	    record->path_size <= n_strings - record->path &&
	    !strings[record->path + record->path_size - 1])
		object->path = strings + record->path;
	if (object->path && record->kind <= MF_OBJECT_NOTE)
		object->kind = (enum mf_object_kind)record->kind;
	if (record->build_id_size <= MF_BUILD_ID_MAX) {
		memcpy(object->build_id, record->build_id, sizeof(object->build_id));
		object->build_id_size = record->build_id_size;
	}
	return true;
}
