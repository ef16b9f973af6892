/* SPDX-License-Identifier: GPL-2.0 */
/* Counts of a profile's stacks, in the form of a snapshot, so that everything that shows a snapshot can show them. */
#ifndef MASSIF_REPORT_COUNTED_H
#define MASSIF_REPORT_COUNTED_H

#include "report/moment.h"

/* A moment whose leaves have a count of each context in place of live bytes. */
struct mf_counted {
	struct mf_moment moment;
	struct mf_profile_snapshot snapshot;
	struct mf_leaf *leaves;
};

/*
 * Makes @counted of @moment, whose profile has counts. Must not be moved. Returns 0 or -ENOMEM. Release it by
 * mf_counted_deinit().
 */
int mf_counted_init(struct mf_counted *counted, const struct mf_moment *moment, enum mf_count count,
		    struct mf_error *err);
void mf_counted_deinit(struct mf_counted *counted);

/* The same for the live blocks of each context in the moment's snapshot, which has_blocks. */
int mf_counted_init_blocks(struct mf_counted *counted, const struct mf_moment *moment, struct mf_error *err);

/* The same for the largest block of each context, and for its blocks in a class; the profile has details. */
int mf_counted_init_largest(struct mf_counted *counted, const struct mf_moment *moment, struct mf_error *err);
int mf_counted_init_class(struct mf_counted *counted, const struct mf_moment *moment,
			  enum mf_detail_histogram histogram, uint32_t class, struct mf_error *err);

#endif
