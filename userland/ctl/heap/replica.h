/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A copy of another process's session, read from that process's memory; used when no descriptor of the session's file
 * is available. Pages are copied when they are first read, so only pages that are read take up memory. Writes affect
 * only the copy.
 */
#ifndef MASSIF_CTL_REPLICA_H
#define MASSIF_CTL_REPLICA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "model/store.h"

/* A mapping of the session's memory, or of part of it, in the address space of the profiled process. */
struct mf_mapping {
	uint64_t start, end; /* addresses of the mapping in the process */
	uint64_t offset;     /* offset of @start in the session's file, in bytes */
};

struct mf_mappings {
	struct mf_mapping *items; /* array of mappings; owned */
	size_t count;
};

/*
 * Finds the session's mappings in process @pid. Returns 0, -ENOENT if it has none, or another -errno, with a
 * message for the user in @err.
 */
int mf_mappings_find(pid_t pid, struct mf_mappings *mappings, struct mf_error *err);
/* Frees the list of mappings and sets @mappings to all zero. Does nothing if it is already all zero. */
void mf_mappings_free(struct mf_mappings *mappings);

/* Opens the replica; only one can be open at a time. Returns 0 or -errno, with a message for the user in @err. */
int mf_replica_open(struct mf_store *store, pid_t pid, const struct mf_mappings *mappings,
		    struct mf_error *err);

/* Discards all copied pages, so that subsequent reads return the current contents. */
void mf_replica_refresh(void);

/*
 * Returns whether the pages copied since the last refresh are consistent with each other. If @all is true, they are
 * inconsistent if any event has occurred since then. If @all is false, they are inconsistent only if an event has moved
 * the contexts' saved byte counts (struct mf_past, see model/tree_version.h) to another place in the store. Code that
 * reads the replica tolerates all other changes, but it would miss a saved byte count that was moved.
 */
bool mf_replica_is_current(bool all);

/* Returns whether every page read so far could be copied. Copying fails if the process has ended. */
bool mf_replica_is_whole(void);

void mf_replica_close(struct mf_store *store);

#endif
