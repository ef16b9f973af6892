/* SPDX-License-Identifier: GPL-2.0 */
/* Counts of a profile's stacks, in the form of a snapshot, so that everything that shows a snapshot can show them. */
#ifndef MASSIF_REPORT_COUNTED_H
#define MASSIF_REPORT_COUNTED_H

#include "profile/residency.h"
#include "report/moment.h"

/* What is known of a context in a sample of the resident set (struct mf_residency_site), in bytes. */
enum mf_resident_number {
	MF_RESIDENT_LIVE,      /* its live blocks */
	MF_RESIDENT_TOUCHED,   /* those parts of them that are on pages in memory, or swapped out */
	MF_RESIDENT_UNTOUCHED, /* the others, on pages that were never touched */
	MF_RESIDENT_PINNED,    /* free memory in the pages of its blocks */
};

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

/* Returns the last sample of the resident set, or else the largest one; NULL if the profile has no samples. */
const struct mf_residency_detail *mf_resident_detail(const struct mf_profile *profile, bool is_end);

/* Returns what @detail says of a context; 0 if it has no live blocks there. */
uint64_t mf_resident_of(const struct mf_residency_detail *detail, uint32_t context, enum mf_resident_number number);

uint64_t mf_resident_number(const struct mf_residency_site *site, enum mf_resident_number number);

/* The same for a number of each context in @detail, a sample of the profile's process. */
int mf_counted_init_resident(struct mf_counted *counted, const struct mf_moment *moment,
			     const struct mf_residency_detail *detail, enum mf_resident_number number, struct mf_error *err);

#endif
