/* SPDX-License-Identifier: GPL-2.0 */
/* Makes a finished profile from a store. */
#ifndef MASSIF_REPORT_COLLECT_H
#define MASSIF_REPORT_COLLECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/ending.h"
#include "model/store.h"
#include "profile/profile.h"

/* A profile and its memory. It must not be moved, because the profile points into it. */
struct mf_collection {
	struct mf_profile profile;
	const struct mf_store *store; /* the session that contexts are read from */
	struct mf_leaf *leaves;	      /* leaves of all snapshots */
	size_t n_leaves, room_leaves;
	void *memory[8]; /* freed by mf_collection_release() */
	size_t n_memory;
	char **paths; /* resolved paths of the objects */
	size_t n_paths;
};

/*
 * Makes a profile of @store in @collection. @store must outlive it: contexts and paths are read when they are needed,
 * and are never removed. The profile ends as @end says; @store is not changed. The caller sets profile.desc and
 * profile.cmd. Returns 0 or -errno. The profile has no invalid references, whatever a killed or faulty program left in
 * the store.
 */
int mf_collect(const struct mf_store *store, struct mf_end end, struct mf_collection *collection,
	       struct mf_error *err);

/*
 * Like mf_collect(), with a single snapshot of the present state at @now, which has a tree if @detailed. If the program
 * is running, the parts of the snapshot are of slightly different moments.
 */
int mf_collect_present(const struct mf_store *store, int64_t now, bool detailed,
		       struct mf_collection *collection, struct mf_error *err);

/* Makes a profile that has only the objects of @store. */
int mf_collect_objects(const struct mf_store *store, struct mf_collection *collection,
		       struct mf_error *err);

/* Frees the memory of the collection, but not the store. */
void mf_collection_release(struct mf_collection *collection);

#endif
