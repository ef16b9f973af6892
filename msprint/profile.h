/* SPDX-License-Identifier: GPL-2.0 */
/* What the graph needs of a massif.out file: a few numbers of each snapshot. */
#ifndef MF_MSPRINT_PROFILE_H
#define MF_MSPRINT_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "number.h"

struct mf_failure;
struct mf_record;

struct mf_snapshot {
	struct mf_number time;	/* in the header's unit */
	struct mf_number total;	/* heap + extra + stacks, bytes */
	bool has_tree;
	bool is_peak;		/* its index is the number of the file's last peak */
};

struct mf_profile {
	struct mf_snapshot *snapshots;
	size_t count;
	size_t room;
	struct mf_number largest;	/* total, at least 0, bytes */
	struct mf_number peak;		/* number of the last peak */
	bool has_peak;
};

#define MF_PROFILE_AUTO __attribute__((cleanup(mf_profile_deinit))) struct mf_profile

/* Adds the snapshot that comes next; total is the record's, in bytes. All zero is none yet. */
void mf_profile_add(struct mf_profile *profile, const struct mf_record *record,
		    struct mf_number total);

/*
 * Finds the peak, after the last snapshot. Fails if there is none, or if one is later than the last:
 * such a profile cannot be drawn.
 */
int mf_profile_finish(struct mf_profile *profile, const char *path, struct mf_failure *failure);
void mf_profile_deinit(struct mf_profile *profile);

#endif
