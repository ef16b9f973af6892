// SPDX-License-Identifier: GPL-2.0
// The section of a recording that has samples of the resident set.

#include "recording/residency_section.h"

#include <errno.h>
#include <stdlib.h>

/* The bands' number is written, so that a later version can have more of them. */
static void add_sample(struct mf_bytes *bytes, const struct mf_residency_sample *sample)
{
	mf_bytes_add_unsigned(bytes, sample->time_ms);
	mf_bytes_add_unsigned(bytes, sample->took_us);
	for (int i = 0; i < MF_BANDS; i++)
		mf_bytes_add_unsigned(bytes, sample->bands[i]);
	mf_bytes_add_unsigned(bytes, sample->mapped);
	mf_bytes_add_unsigned(bytes, sample->swapped);
	mf_bytes_add_unsigned(bytes, sample->pss);
	mf_bytes_add_unsigned(bytes, sample->huge);
	mf_bytes_add_unsigned(bytes, sample->untouched);
	mf_bytes_add_unsigned(bytes, sample->heap_swapped);
}

/* If the program still runs, the sample may have contexts that the profile does not have yet. */
static size_t sites_in(const struct mf_residency_detail *detail, size_t n_contexts)
{
	size_t n = detail->n_sites;

	while (n && detail->sites[n - 1].context >= n_contexts)
		n--;
	return n;
}

static void add_detail(struct mf_bytes *bytes, const struct mf_residency_detail *detail, size_t n_contexts)
{
	size_t n = sites_in(detail, n_contexts);
	uint32_t context = 0;

	add_sample(bytes, &detail->sample);
	for (int i = 0; i < MF_FILLINGS; i++)
		mf_bytes_add_unsigned(bytes, detail->fillings[i]);
	mf_bytes_add_unsigned(bytes, n);
	for (size_t i = 0; i < n; i++) {
		const struct mf_residency_site *site = &detail->sites[i];

		mf_bytes_add_unsigned(bytes, site->context - context);
		mf_bytes_add_unsigned(bytes, site->live);
		mf_bytes_add_unsigned(bytes, site->untouched);
		mf_bytes_add_unsigned(bytes, site->pinned);
		context = site->context;
	}
}

void mf_residency_section_add(struct mf_bytes *bytes, const struct mf_residency *residency, size_t n_contexts)
{
	mf_bytes_add_unsigned(bytes, MF_BANDS);
	mf_bytes_add_unsigned(bytes, MF_FILLINGS);
	mf_bytes_add_unsigned(bytes, residency->peak_rss);
	mf_bytes_add_unsigned(bytes, residency->n_samples);
	for (size_t i = 0; i < residency->n_samples; i++)
		add_sample(bytes, &residency->samples[i]);
	add_detail(bytes, &residency->peak, n_contexts);
	add_detail(bytes, &residency->last, n_contexts);
}

static void take_sample(struct mf_cursor *cursor, struct mf_residency_sample *sample)
{
	/* No sum of bands may overflow. */
	const uint64_t most = UINT64_MAX / MF_BANDS;

	sample->time_ms = mf_cursor_at_most(cursor, INT64_MAX);
	sample->took_us = mf_cursor_unsigned(cursor);
	for (int i = 0; i < MF_BANDS; i++)
		sample->bands[i] = mf_cursor_at_most(cursor, most);
	sample->mapped = mf_cursor_unsigned(cursor);
	sample->swapped = mf_cursor_unsigned(cursor);
	sample->pss = mf_cursor_unsigned(cursor);
	sample->huge = mf_cursor_unsigned(cursor);
	sample->untouched = mf_cursor_unsigned(cursor);
	sample->heap_swapped = mf_cursor_unsigned(cursor);
}

static int take_detail(struct mf_cursor *cursor, size_t n_contexts, struct mf_residency_detail *detail)
{
	/* No sum over sites may overflow. */
	const uint64_t most = UINT64_MAX / ((uint64_t)n_contexts + 1);
	uint64_t context = 0;
	size_t n;

	take_sample(cursor, &detail->sample);
	for (int i = 0; i < MF_FILLINGS; i++)
		detail->fillings[i] = mf_cursor_at_most(cursor, UINT64_MAX / MF_FILLINGS);
	n = mf_cursor_count(cursor, 4);
	if (cursor->bad || n > n_contexts)
		return -EBADMSG;
	detail->sites = calloc(n + 1, sizeof(*detail->sites));
	if (!detail->sites)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct mf_residency_site *site = &detail->sites[i];
		uint64_t step = mf_cursor_at_most(cursor, n_contexts - 1 - context);

		/* Contexts are in ascending order, and each occurs once. */
		if (cursor->bad || (i && !step))
			return -EBADMSG;
		context += step;
		site->context = (uint32_t)context;
		site->live = mf_cursor_at_most(cursor, most);
		site->untouched = mf_cursor_at_most(cursor, most);
		site->pinned = mf_cursor_at_most(cursor, most);
	}
	detail->n_sites = n;
	return cursor->bad ? -EBADMSG : 0;
}

int mf_residency_section_take(struct mf_cursor *cursor, size_t n_contexts, struct mf_residency *residency)
{
	size_t n;
	int ret;

	if (mf_cursor_unsigned(cursor) != MF_BANDS || mf_cursor_unsigned(cursor) != MF_FILLINGS)
		return -EBADMSG;
	residency->peak_rss = mf_cursor_unsigned(cursor);
	n = mf_cursor_count(cursor, MF_BANDS + 8);
	residency->samples = calloc(n + 1, sizeof(*residency->samples));
	if (!residency->samples)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		take_sample(cursor, &residency->samples[i]);
	residency->n_samples = n;
	ret = cursor->bad ? -EBADMSG : take_detail(cursor, n_contexts, &residency->peak);
	return ret ?: take_detail(cursor, n_contexts, &residency->last);
}
