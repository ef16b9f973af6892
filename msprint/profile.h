/* SPDX-License-Identifier: GPL-2.0 */
/* The snapshots of a massif.out file without their trees: the numbers from which the graph is drawn. */
#ifndef MASSIF_MSPRINT_PROFILE_H
#define MASSIF_MSPRINT_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "number.h"

struct mf_failure;
struct mf_record;

struct mf_snapshot {
	struct mf_number time;	/* time of the snapshot, in the unit given in the file's header */
	struct mf_number total;	/* heap + extra + stacks, bytes */
	bool has_tree;
	/* true if the snapshot's index equals the number of the last snapshot marked as the peak */
	bool is_peak;
};

struct mf_profile {
	struct mf_snapshot *snapshots;
	size_t count;
	size_t room;
	struct mf_number largest;	/* largest total, at least 0, in bytes */
	struct mf_number peak;		/* snapshot number of the last peak */
	bool has_peak;
};

#define MF_PROFILE_AUTO __attribute__((cleanup(mf_profile_deinit))) struct mf_profile

/* Appends a snapshot. @total: the result of mf_syntax_record_total(@record). An all-zero profile is empty. */
void mf_profile_add(struct mf_profile *profile, const struct mf_record *record,
		    struct mf_number total);

/*
 * Call this after the last snapshot; it marks the peak. Fails if there are no snapshots, or if a snapshot's time is
 * later than the last one's, because such a profile cannot be drawn.
 */
int mf_profile_finish(struct mf_profile *profile, const char *path, struct mf_failure *failure);
void mf_profile_deinit(struct mf_profile *profile);

#endif
