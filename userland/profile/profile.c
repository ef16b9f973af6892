// SPDX-License-Identifier: GPL-2.0
// A finished profile.

#include "profile/profile.h"

const struct mf_profile_snapshot *mf_profile_peak(const struct mf_profile *profile,
						  const struct mf_profile_snapshot *end)
{
	const struct mf_profile_snapshot *largest = end;

	for (size_t i = 0; i < profile->n_snapshots; i++) {
		const struct mf_profile_snapshot *snapshot = &profile->snapshots[i];

		if (snapshot->tree == MF_TREE_PEAK)
			return snapshot;
		if (snapshot->tree != MF_TREE_EMPTY && mf_profile_total(snapshot) > mf_profile_total(largest))
			largest = snapshot;
	}
	return largest;
}

const struct mf_profile_snapshot *mf_profile_first(const struct mf_profile *profile,
						   const struct mf_profile_snapshot *end)
{
	for (size_t i = 0; i < profile->n_snapshots; i++)
		if (profile->snapshots[i].tree != MF_TREE_EMPTY)
			return &profile->snapshots[i];
	return end;
}

size_t mf_profile_list_counts(const struct mf_profile *profile, enum mf_count count, struct mf_leaf *leaves)
{
	size_t n = 0;

	for (uint32_t i = 0; i < profile->n_contexts; i++) {
		uint64_t number = mf_profile_count(&profile->counts[i], count);

		if (number)
			leaves[n++] = (struct mf_leaf){ .context = i, .bytes = number };
	}
	return n;
}
