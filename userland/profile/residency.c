// SPDX-License-Identifier: GPL-2.0
// What the resident pages of a process hold.

#include "profile/residency.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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
	for (size_t i = 0; i < detail->n_areas; i++)
		free(detail->areas[i].name);
	free(detail->areas);
	free(detail->sites);
	free(detail->touches);
	*detail = (struct mf_residency_detail){ 0 };
}

int mf_residency_detail_copy(struct mf_residency_detail *to, const struct mf_residency_detail *from)
{
	struct mf_residency_detail copy = *from;
	bool ok;

	copy.sites = reallocarray(NULL, from->n_sites + 1, sizeof(*copy.sites));
	copy.areas = calloc(from->n_areas + 1, sizeof(*copy.areas));
	copy.touches = reallocarray(NULL, from->n_touches + 1, sizeof(*copy.touches));
	ok = copy.sites && copy.areas && copy.touches;
	if (ok && from->n_sites)
		memcpy(copy.sites, from->sites, from->n_sites * sizeof(*copy.sites));
	if (ok && from->n_touches)
		memcpy(copy.touches, from->touches, from->n_touches * sizeof(*copy.touches));
	copy.n_areas = 0;
	while (ok && copy.n_areas < from->n_areas) {
		struct mf_residency_area *area = &copy.areas[copy.n_areas++];

		*area = from->areas[copy.n_areas - 1];
		area->name = strdup(area->name);
		ok = area->name;
	}
	mf_residency_detail_deinit(ok ? to : &copy);
	if (!ok)
		return -ENOMEM;
	*to = copy;
	return 0;
}

void mf_residency_deinit(struct mf_residency *residency)
{
	free(residency->samples);
	mf_residency_detail_deinit(&residency->peak);
	mf_residency_detail_deinit(&residency->last);
	for (size_t i = 0; i < residency->n_moments; i++)
		mf_residency_detail_deinit(&residency->moments[i]);
	free(residency->moments);
	*residency = (struct mf_residency){ 0 };
}
