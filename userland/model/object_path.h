/* SPDX-License-Identifier: GPL-2.0 */
/* Copies the path of an object out of the memory of its program. */
#ifndef MASSIF_MODEL_OBJECT_PATH_H
#define MASSIF_MODEL_OBJECT_PATH_H

#include "model/objects.h"
#include "model/store.h"

/*
 * Copies the path of @object, which mf_objects_read() has filled from @store, because the program can change it at any time.
 * The caller frees it. Returns NULL if the object has no path, or if out of memory.
 */
char *mf_object_path_copy(const struct mf_store *store, const struct mf_object *object);

#endif
