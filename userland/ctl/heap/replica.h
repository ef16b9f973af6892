/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The session of another process, seen through that process's memory: where nobody has the file behind it.
 * Pages are copied as they are first read, so this needs as much as is looked at. What is changed in it is the
 * copy.
 */
#ifndef MASSIF_CTL_REPLICA_H
#define MASSIF_CTL_REPLICA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "model/store.h"

/* Where a part of the session is mapped in the process. */
struct mf_mapping {
	uint64_t start, end; /* addresses */
	uint64_t offset;     /* of @start, in the session */
};

struct mf_mappings {
	struct mf_mapping *items; /* owned */
	size_t count;
};

/*
 * The session's mappings in process @pid. Returns 0; -ENOENT when it has none; or another -errno. With
 * words for the user.
 */
int mf_mappings_find(pid_t pid, struct mf_mappings *mappings, struct mf_error *err);
void mf_mappings_free(struct mf_mappings *mappings); /* also of one that is all zero */

/* Makes the replica; there can be one at a time. Returns 0 or -errno, with words for the user. */
int mf_replica_open(struct mf_store *store, pid_t pid, const struct mf_mappings *mappings,
		    struct mf_error *err);

/* Forgets all copies: what is read from now on is as it is now. */
void mf_replica_refresh(void);

/*
 * Whether since then no event was accounted in the process; or, if not @all, only nothing that would put what
 * was read before at variance with what is read now.
 */
bool mf_replica_is_current(bool all);

/* Whether the process was there as long as pages were copied. */
bool mf_replica_is_whole(void);

void mf_replica_close(struct mf_store *store);

#endif
