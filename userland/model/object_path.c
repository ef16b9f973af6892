// SPDX-License-Identifier: GPL-2.0
// Copies the path of an object out of the memory of its program.

#include "model/object_path.h"

#include <string.h>

char *mf_object_path_copy(const struct mf_store *store, const struct mf_object *object)
{
	const char *end = (const char *)store->regions[MF_REGION_STRINGS] + store->sizes[MF_REGION_STRINGS];

	/* The program can have overwritten the NUL since mf_objects_read() has seen it. */
	return object->path ? strndup(object->path, (size_t)(end - object->path)) : NULL;
}
