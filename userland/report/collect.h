/* SPDX-License-Identifier: GPL-2.0 */
/* Makes a finished profile of a store. */
#ifndef MASSIF_REPORT_COLLECT_H
#define MASSIF_REPORT_COLLECT_H

#include "base/error.h"
#include "model/store.h"
#include "report/profile.h"

/* A profile and the memory behind it. */
struct mf_collection {
	struct mf_profile profile;
	void *memory[8]; /* what _release frees */
	size_t n_memory;
	char **paths; /* of the objects, resolved */
	size_t n_paths;
};

/*
 * Copies what @store holds to @collection. Set profile.desc and profile.cmd yourself: they are not
 * copied. With @objects NULL the objects are the store's own, and their paths stay in the store,
 * which must then live as long as the collection. Returns 0 or -errno. Whatever a dying or broken
 * program left in the store, the result is a profile without wild references.
 */
int mf_collect(const struct mf_store *store, const struct mf_object *objects, size_t n_objects,
	       struct mf_collection *collection, struct mf_error *err);

/* Only the objects of @store, in the same way; the rest of the profile is empty. */
int mf_collect_objects(const struct mf_store *store, struct mf_collection *collection,
		       struct mf_error *err);

void mf_collection_release(struct mf_collection *collection);

#endif
