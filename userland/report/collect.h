/* SPDX-License-Identifier: GPL-2.0 */
/* Makes a finished profile of a store. */
#ifndef MASSIF_REPORT_COLLECT_H
#define MASSIF_REPORT_COLLECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/ending.h"
#include "model/store.h"
#include "profile/profile.h"

/* A profile and the memory behind it. It must stay where it is: the profile refers to it. */
struct mf_collection {
	struct mf_profile profile;
	const struct mf_store *store; /* contexts are read from there */
	struct mf_leaf *leaves;	      /* of all snapshots */
	size_t n_leaves, room_leaves;
	void *memory[8]; /* what _release frees */
	size_t n_memory;
	char **paths; /* of the objects, resolved */
	size_t n_paths;
};

/*
 * Makes @collection of what @store holds, which must live as long: contexts and the objects' paths are
 * read there when they are needed; both only ever become more. The profile ends as @end says; @store itself
 * does not change. Set profile.desc and profile.cmd yourself. Returns 0 or -errno. Whatever a dying or
 * broken program left in the store, the result is a profile without wild references.
 */
int mf_collect(const struct mf_store *store, struct mf_end end, struct mf_collection *collection,
	       struct mf_error *err);

/*
 * The same with one snapshot, of what the store holds now, at @now: with a tree if @detailed. While
 * its program runs the parts of it are of slightly different moments.
 */
int mf_collect_present(const struct mf_store *store, int64_t now, bool detailed,
		       struct mf_collection *collection, struct mf_error *err);

/* Only the objects of @store, in the same way; the rest of the profile is empty. */
int mf_collect_objects(const struct mf_store *store, struct mf_collection *collection,
		       struct mf_error *err);

void mf_collection_release(struct mf_collection *collection);

#endif
