// SPDX-License-Identifier: GPL-2.0
// Which blocks count as temporary: --temporary=N.

#include "temporary.h"

#include <errno.h>
#include <inttypes.h>

#include "ctl/options/number.h"

/* The last class of ages also has everything that is larger. */
#define LAST_CLASS (MF_DETAIL_CLASSES - 2)

int mf_temporary_parse(const char *text, struct mf_query *query, struct mf_error *err)
{
	uint32_t class = 0;
	int64_t number;

	if (!mf_number_parse_integer(text, &number) || number < 0)
		return mf_error_set(err, -EINVAL, "--temporary=%.200s: it needs a number of allocations: "
					  "0, 1, 3, 7, 15 and so on",
				    text);
	while (class < LAST_CLASS && mf_details_others(class) < (uint64_t)number)
		class++;
	query->temporary_given = true;
	query->temporary = class;
	if (mf_details_others(class) == (uint64_t)number)
		return 0;
	if (mf_details_others(class) < (uint64_t)number)
		return mf_error_set(err, -EINVAL, "--temporary=%.200s: the largest number that recordings can answer is "
						  "%" PRIu64,
				    text, mf_details_others(class));
	return mf_error_set(err, -EINVAL, "--temporary=%.200s: recordings count allocations in powers of two, so they cannot "
					  "answer this number; the next ones that they can answer are %" PRIu64 " and %" PRIu64,
			    text, mf_details_others(class - 1), mf_details_others(class));
}

static int check(const struct mf_query *query, const struct mf_profile *profile, struct mf_error *err)
{
	uint64_t others = mf_details_others(query->temporary);

	if (!profile->counts)
		return mf_error_set(err, -ENODATA, "--temporary: the file has no calls: it is of pages mode, or a "
					   "massif.out file");
	/* The counts have the blocks of class 0 as they are. */
	if (!query->temporary)
		return 0;
	if (!profile->details)
		return mf_error_set(err, -ENODATA, "--temporary=%" PRIu64 ": the file does not say how many allocations each "
						   "stack's blocks lived through: make the recording with "
						   "--record-detail=full", others);
	if (!profile->has_ages)
		return mf_error_set(err, -ENODATA, "--temporary=%" PRIu64 ": the file does not say how many allocations each "
						   "stack's blocks lived through, because an earlier version of massif has "
						   "made it: make it again with --record-detail=full", others);
	if (mf_query_is_of_totals(query, profile))
		return mf_error_set(err, -ENODATA, "--temporary=%" PRIu64 ": the file does not say this of each thread: make "
						   "the recording with --separate-threads=yes", others);
	return 0;
}

/* In a file that is meant to deceive, sums can overflow. */
static uint64_t add(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

int mf_temporary_apply(const struct mf_query *query, struct mf_recorded *process, struct mf_error *err)
{
	struct mf_profile *profile = &process->profile;

	if (!query->temporary_given)
		return 0;
	if (check(query, profile, err))
		return -ENODATA;
	if (!query->temporary)
		return 0;
	for (size_t i = 0; i < profile->n_contexts; i++) {
		uint64_t sum = 0;

		for (uint32_t class = 0; class <= query->temporary; class++)
			sum = add(sum, mf_details_count(&profile->details[i], MF_DETAIL_AGES, class));
		process->counts[i].temporaries = sum;
	}
	profile->temporary_others = mf_details_others(query->temporary);
	profile->thread_totals = NULL;
	profile->n_thread_totals = 0;
	return 0;
}
