/* SPDX-License-Identifier: GPL-2.0 */
/* The pages of a sample by the code that touched them first, in the form of a snapshot. */
#ifndef MASSIF_REPORT_TOUCHED_H
#define MASSIF_REPORT_TOUCHED_H

#include "base/error.h"
#include "profile/first_touches.h"
#include "profile/profile.h"
#include "profile/residency.h"
#include "report/moment.h"

/* Bands, as bits: those that are not massif's own memory. MF_BAND_LIVE stands for all bands of the allocator. */
#define MF_TOUCHED_ALL (((1u << MF_BANDS) - 1) & ~(1u << MF_BAND_MASSIF))

/* A snapshot of the profile of first touches (first_touches.h). */
struct mf_touched_leaves {
	struct mf_profile_snapshot snapshot;
	struct mf_leaf *leaves;
};

/*
 * Makes a snapshot of the pages in @detail that are in one of @bands. Must not be moved. Returns 0 or -ENOMEM. Release it by
 * mf_touched_leaves_deinit().
 */
int mf_touched_leaves_make(struct mf_touched_leaves *touched, const struct mf_residency_detail *detail, uint32_t bands,
			   struct mf_error *err);
/*
 * Sets *@profile to that of @touches, but so that the stacks begin with the code that touched: while the process is still being
 * profiled, they begin with the kind of page. Valid as long as @touches.
 */
void mf_touched_profile(const struct mf_first_touches *touches, struct mf_profile *profile);

/* Makes @moment one of @touches, whose profile mf_touched_profile() stores in *@profile; its snapshot remains the caller's. */
void mf_touched_moment(struct mf_moment *moment, const struct mf_first_touches *touches, struct mf_profile *profile);

void mf_touched_leaves_deinit(struct mf_touched_leaves *touched);

#endif
