// SPDX-License-Identifier: GPL-2.0
// What the resident pages of a process hold.

#include "profile/residency.h"

#include <stdlib.h>

const struct mf_band_name mf_band_names[MF_BANDS] = {
	[MF_BAND_LIVE] = { "live", "live blocks" },
	[MF_BAND_OVERHEAD] = { "overhead", "overhead of the allocator" },
	[MF_BAND_FREE_PARTS] = { "free-parts", "free, in pages with live blocks" },
	[MF_BAND_FREE_PAGES] = { "free-pages", "free pages of the allocator" },
	[MF_BAND_ANONYMOUS] = { "anonymous", "other anonymous mappings" },
	[MF_BAND_STACKS] = { "stacks", "stacks" },
	[MF_BAND_FILES] = { "files", "mapped files" },
	[MF_BAND_SHARED] = { "shared", "shared memory" },
	[MF_BAND_MASSIF] = { "massif", "massif's own memory" },
	[MF_BAND_OTHER] = { "other", "mappings of the kernel" },
};

uint64_t mf_residency_rss(const struct mf_residency_sample *sample)
{
	uint64_t rss = 0;

	for (int i = 0; i < MF_BANDS; i++)
		rss += sample->bands[i];
	return rss;
}

void mf_residency_detail_deinit(struct mf_residency_detail *detail)
{
	free(detail->sites);
	*detail = (struct mf_residency_detail){ 0 };
}

void mf_residency_deinit(struct mf_residency *residency)
{
	free(residency->samples);
	mf_residency_detail_deinit(&residency->peak);
	mf_residency_detail_deinit(&residency->last);
	*residency = (struct mf_residency){ 0 };
}
