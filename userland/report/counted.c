// SPDX-License-Identifier: GPL-2.0
// Counts of a profile's stacks, in the form of a snapshot.

#include "report/counted.h"

#include <errno.h>
#include <stdlib.h>

/* Makes a moment without leaves, for which there is room. */
static int begin(struct mf_counted *counted, const struct mf_moment *moment, bool in_blocks, struct mf_error *err)
{
	size_t n = moment->profile->n_contexts;

	*counted = (struct mf_counted){ .moment = *moment };
	counted->leaves = calloc(n + 1, sizeof(*counted->leaves));
	if (!counted->leaves)
		return mf_error_set(err, -ENOMEM, "out of memory");
	counted->snapshot = (struct mf_profile_snapshot){
		.tree = MF_TREE_DETAILED, .n_seen = n, .leaves = counted->leaves,
	};
	counted->moment.snapshot = &counted->snapshot;
	counted->moment.in_blocks = in_blocks;
	return 0;
}

static void add(struct mf_counted *counted, uint32_t context, uint64_t number)
{
	if (number)
		counted->leaves[counted->snapshot.n_leaves++] = (struct mf_leaf){ .context = context, .bytes = number };
	counted->snapshot.heap_bytes += number;
}

int mf_counted_init(struct mf_counted *counted, const struct mf_moment *moment, enum mf_count count,
		    struct mf_error *err)
{
	const struct mf_profile *profile = moment->profile;
	int code = begin(counted, moment, !mf_profile_is_in_bytes(count), err);

	if (code)
		return code;
	counted->snapshot.n_leaves = mf_profile_list_counts(profile, count, counted->leaves);
	for (size_t i = 0; i < counted->snapshot.n_leaves; i++)
		counted->snapshot.heap_bytes += counted->leaves[i].bytes;
	return 0;
}

void mf_counted_deinit(struct mf_counted *counted)
{
	free(counted->leaves);
}

int mf_counted_init_blocks(struct mf_counted *counted, const struct mf_moment *moment, struct mf_error *err)
{
	const struct mf_profile_snapshot *snapshot = moment->snapshot;
	int code = begin(counted, moment, true, err);

	for (size_t i = 0; !code && i < snapshot->n_leaves; i++)
		add(counted, snapshot->leaves[i].context, snapshot->leaves[i].blocks);
	return code;
}

int mf_counted_init_largest(struct mf_counted *counted, const struct mf_moment *moment, struct mf_error *err)
{
	const struct mf_profile *profile = moment->profile;
	int code = begin(counted, moment, false, err);

	for (uint32_t i = 0; !code && i < profile->n_contexts; i++)
		add(counted, i, profile->details[i].largest);
	return code;
}

int mf_counted_init_class(struct mf_counted *counted, const struct mf_moment *moment,
			  enum mf_detail_histogram histogram, uint32_t class, struct mf_error *err)
{
	const struct mf_profile *profile = moment->profile;
	int code = begin(counted, moment, true, err);

	for (uint32_t i = 0; !code && i < profile->n_contexts; i++)
		add(counted, i, mf_details_count(&profile->details[i], histogram, class));
	return code;
}

const struct mf_residency_detail *mf_resident_detail(const struct mf_profile *profile, bool is_end)
{
	const struct mf_residency *residency = profile->residency;

	if (!residency || !residency->n_samples)
		return NULL;
	return is_end ? &residency->last : &residency->peak;
}

static int compare_contexts(const void *key, const void *element)
{
	uint32_t context = *(const uint32_t *)key, other = ((const struct mf_residency_site *)element)->context;

	return context < other ? -1 : context > other;
}

uint64_t mf_resident_of(const struct mf_residency_detail *detail, uint32_t context, enum mf_resident_number number)
{
	const struct mf_residency_site *site = detail->n_sites ? bsearch(&context, detail->sites, detail->n_sites,
									 sizeof(*detail->sites), compare_contexts) : NULL;

	return site ? mf_resident_number(site, number) : 0;
}

uint64_t mf_resident_number(const struct mf_residency_site *site, enum mf_resident_number number)
{
	switch (number) {
	case MF_RESIDENT_LIVE:
		return site->live;
	case MF_RESIDENT_TOUCHED:
		return site->live > site->untouched ? site->live - site->untouched : 0;
	case MF_RESIDENT_UNTOUCHED:
		return site->untouched;
	case MF_RESIDENT_PINNED:
		return site->pinned;
	}
	return 0;
}

int mf_counted_init_resident(struct mf_counted *counted, const struct mf_moment *moment,
			     const struct mf_residency_detail *detail, enum mf_resident_number number, struct mf_error *err)
{
	int code = begin(counted, moment, false, err);

	for (size_t i = 0; !code && i < detail->n_sites; i++)
		if (detail->sites[i].context < moment->profile->n_contexts)
			add(counted, detail->sites[i].context, mf_resident_number(&detail->sites[i], number));
	return code;
}
