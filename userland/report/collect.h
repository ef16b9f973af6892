/* SPDX-License-Identifier: GPL-2.0 */
/* Builds a finished profile from a store. */
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
	const struct mf_store *store; /* the store from which contexts are read */
	struct mf_leaf *leaves;	      /* array of the leaves of all snapshots' trees */
	size_t n_leaves, room_leaves;
	void *memory[16]; /* memory that mf_collection_release() has to free */
	size_t n_memory;
	char **paths; /* resolved paths of the objects */
	size_t n_paths;
};

/*
 * Builds a profile from @store in @collection. @store must outlive the profile: contexts and paths are read when
 * needed, and are never removed from the store. @end says how and when the profile ends; @store is not changed. The
 * caller sets profile.desc and profile.cmd. Returns 0 or -errno. The profile contains no invalid references, whatever a
 * killed or faulty program left in the store.
 */
int mf_collect(const struct mf_store *store, struct mf_end end, struct mf_collection *collection,
	       struct mf_error *err);

/*
 * Like mf_collect(), but collects a single snapshot of the current state at time @now. The snapshot has a tree if
 * @detailed is true. If the program is running, the parts of the snapshot are from slightly different points in time.
 */
int mf_collect_present(const struct mf_store *store, int64_t now, bool detailed,
		       struct mf_collection *collection, struct mf_error *err);

/*
 * Adds the counts of all contexts to a profile that was built by mf_collect(). The program has ended, or the counts are
 * from slightly different points in time. Returns 0 or -ENOMEM.
 */
int mf_collect_counts(struct mf_collection *collection, struct mf_error *err);

/* Adds the contexts' details to a profile that was built by mf_collect(), if the store keeps them. Returns 0 or -ENOMEM. */
int mf_collect_details(struct mf_collection *collection, struct mf_error *err);

/*
 * Adds the threads to a profile that was built by mf_collect(), if the store keeps their stacks apart. Returns 0 or
 * -ENOMEM.
 */
int mf_collect_threads(struct mf_collection *collection, struct mf_error *err);

/* Builds a profile that contains only the objects of @store. */
int mf_collect_objects(const struct mf_store *store, struct mf_collection *collection,
		       struct mf_error *err);

/* Frees the memory of the collection, but not the store. */
void mf_collection_release(struct mf_collection *collection);

#endif
