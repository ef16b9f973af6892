/* SPDX-License-Identifier: GPL-2.0 */
/* Details of what a context allocates, in a profile that has them (--record-detail=full). */
#ifndef MASSIF_PROFILE_DETAILS_H
#define MASSIF_PROFILE_DETAILS_H

#include <stdint.h>

/* Classes of sizes, as in profile/size_class.h, and of lifetimes. The last one also has everything that is larger. */
#define MF_DETAIL_CLASSES 48u

enum mf_detail_histogram {
	MF_DETAIL_SIZES,
	MF_DETAIL_LIFETIMES,
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
	uint32_t n_sizes, n_lifetimes;
};

/* Returns how many blocks of the context are in @class of a histogram. */
static inline uint64_t mf_details_count(const struct mf_context_details *details, enum mf_detail_histogram histogram,
					uint32_t class)
{
	const struct mf_class_count *classes = histogram == MF_DETAIL_SIZES ? details->sizes : details->lifetimes;
	uint32_t n = histogram == MF_DETAIL_SIZES ? details->n_sizes : details->n_lifetimes;

	for (uint32_t i = 0; i < n; i++)
		if (classes[i].class == class)
			return classes[i].count;
	return 0;
}

#endif
