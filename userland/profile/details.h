/* SPDX-License-Identifier: GPL-2.0 */
/* Details of what a context allocates, in a profile that has them (--record-detail=full). */
#ifndef MASSIF_PROFILE_DETAILS_H
#define MASSIF_PROFILE_DETAILS_H

#include <stdint.h>

/*
 * Classes of sizes, as in profile/size_class.h, of lifetimes and of ages (model/details.h). The last one also has everything
 * that is larger.
 */
#define MF_DETAIL_CLASSES 48u

enum mf_detail_histogram {
	MF_DETAIL_SIZES,
	MF_DETAIL_LIFETIMES,
	MF_DETAIL_AGES,
	MF_DETAIL_HISTOGRAMS,
};

struct mf_class_count {
	uint32_t class;
	uint64_t count; /* not 0 */
};

/* The details of one context. Classes are in ascending order. */
struct mf_context_details {
	uint64_t largest; /* size of the largest block that it has allocated; 0 if it has allocated none */
	const struct mf_class_count *sizes;	/* all blocks that it has allocated */
	const struct mf_class_count *lifetimes; /* those of them that were freed */
	const struct mf_class_count *ages; /* those of these that were freed by the thread that had allocated them */
	uint32_t n_sizes, n_lifetimes, n_ages;
};

/* Returns how many other blocks a thread can at most have allocated before it frees a block in class @class of the ages. */
static inline uint64_t mf_details_others(uint32_t class)
{
	return (1ull << class) - 1;
}

/* Returns how many blocks of the context are in @class of a histogram. */
static inline uint64_t mf_details_count(const struct mf_context_details *details, enum mf_detail_histogram histogram,
					uint32_t class)
{
	const struct {
		const struct mf_class_count *classes;
		uint32_t n;
	} all[MF_DETAIL_HISTOGRAMS] = {
		[MF_DETAIL_SIZES] = { details->sizes, details->n_sizes },
		[MF_DETAIL_LIFETIMES] = { details->lifetimes, details->n_lifetimes },
		[MF_DETAIL_AGES] = { details->ages, details->n_ages },
	};

	for (uint32_t i = 0; i < all[histogram].n; i++)
		if (all[histogram].classes[i].class == class)
			return all[histogram].classes[i].count;
	return 0;
}

#endif
