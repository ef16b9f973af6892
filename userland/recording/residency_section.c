// SPDX-License-Identifier: GPL-2.0
// The section of a recording that has samples of the resident set.

#include "recording/residency_section.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"

/*
 * The section begins as in massif 0.1's first format, whose readers ignore what follows. The numbers that have been added are
 * written after it, with their count for each sample, site and area, so that more of them can be added later.
 */
#define SAMPLE_NUMBERS 5u
#define SITE_NUMBERS   3u
#define AREA_NUMBERS   11u

/* massif 0.2 wrote fewer for each area. */
#define AREA_NUMBERS_LEAST 9u

/*
 * More than any version keeps. Samples are cheap, but reports add up the tree of all stacks for each moment: a file of a few
 * megabytes could have enough moments for hours.
 */
#define SAMPLES_MAX 16384u
#define MOMENTS_MAX 1024u

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

static void add_more_of_sample(struct mf_bytes *bytes, const struct mf_residency_sample *sample)
{
	mf_bytes_add_signed(bytes, sample->time);
	mf_bytes_add_unsigned(bytes, sample->reasons);
	mf_bytes_add_unsigned(bytes, sample->shared);
	mf_bytes_add_unsigned(bytes, sample->shared_heap);
	mf_bytes_add_unsigned(bytes, sample->huge_zeros);
}

static void add_areas(struct mf_bytes *bytes, const struct mf_residency_detail *detail)
{
	mf_bytes_add_unsigned(bytes, detail->n_areas);
	for (size_t i = 0; i < detail->n_areas; i++) {
		const struct mf_residency_area *area = &detail->areas[i];

		mf_bytes_add_text(bytes, area->name);
		mf_bytes_add_unsigned(bytes, area->band);
		mf_bytes_add_unsigned(bytes, area->start);
		mf_bytes_add_unsigned(bytes, area->n);
		mf_bytes_add_unsigned(bytes, area->mapped);
		mf_bytes_add_unsigned(bytes, area->rss);
		mf_bytes_add_unsigned(bytes, area->pss);
		mf_bytes_add_unsigned(bytes, area->swapped);
		mf_bytes_add_unsigned(bytes, area->copied);
		mf_bytes_add_unsigned(bytes, area->huge);
		mf_bytes_add_unsigned(bytes, area->areas);
		mf_bytes_add_unsigned(bytes, area->threads);
	}
}

static void add_more_of_detail(struct mf_bytes *bytes, const struct mf_residency_detail *detail, size_t n_contexts)
{
	size_t n = sites_in(detail, n_contexts);

	add_more_of_sample(bytes, &detail->sample);
	mf_bytes_add_signed(bytes, detail->of);
	for (size_t i = 0; i < n; i++) {
		mf_bytes_add_unsigned(bytes, detail->sites[i].shared);
		mf_bytes_add_unsigned(bytes, detail->sites[i].huge);
		mf_bytes_add_unsigned(bytes, detail->sites[i].huge_zeros);
	}
	add_areas(bytes, detail);
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
	mf_bytes_add_unsigned(bytes, SAMPLE_NUMBERS);
	mf_bytes_add_unsigned(bytes, SITE_NUMBERS);
	mf_bytes_add_unsigned(bytes, AREA_NUMBERS);
	for (size_t i = 0; i < residency->n_samples; i++)
		add_more_of_sample(bytes, &residency->samples[i]);
	add_more_of_detail(bytes, &residency->peak, n_contexts);
	add_more_of_detail(bytes, &residency->last, n_contexts);
	mf_bytes_add_unsigned(bytes, residency->n_moments);
	for (size_t i = 0; i < residency->n_moments; i++) {
		add_detail(bytes, &residency->moments[i], n_contexts);
		add_more_of_detail(bytes, &residency->moments[i], n_contexts);
	}
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

/* How many numbers a file has for each sample, site and area beyond those of the first format. */
struct numbers {
	size_t of_sample, of_site, of_area;
};

/* Skips numbers that a later version has added. */
static void skip(struct mf_cursor *cursor, size_t n, size_t known)
{
	while (n > known && !cursor->bad) {
		mf_cursor_unsigned(cursor);
		n--;
	}
}

static void take_more_of_sample(struct mf_cursor *cursor, const struct numbers *numbers, struct mf_residency_sample *sample)
{
	sample->time = mf_cursor_signed(cursor);
	/* Reasons that a later version has added are not known. */
	sample->reasons = (uint32_t)(mf_cursor_unsigned(cursor) & (MF_SAMPLE_REASONS - 1));
	sample->shared = mf_cursor_unsigned(cursor);
	sample->shared_heap = mf_cursor_unsigned(cursor);
	sample->huge_zeros = mf_cursor_unsigned(cursor);
	skip(cursor, numbers->of_sample, SAMPLE_NUMBERS);
}

static int take_area(struct mf_cursor *cursor, const struct numbers *numbers, uint64_t most, struct mf_residency_area *area)
{
	const char *name = mf_cursor_text(cursor);

	area->band = (enum mf_band)mf_cursor_at_most(cursor, MF_BANDS - 1);
	area->start = mf_cursor_unsigned(cursor);
	area->n = mf_cursor_at_most(cursor, most);
	area->mapped = mf_cursor_at_most(cursor, most);
	area->rss = mf_cursor_at_most(cursor, most);
	area->pss = mf_cursor_at_most(cursor, most);
	area->swapped = mf_cursor_at_most(cursor, most);
	area->copied = mf_cursor_at_most(cursor, most);
	area->huge = mf_cursor_at_most(cursor, most);
	if (numbers->of_area >= AREA_NUMBERS) {
		area->areas = mf_cursor_at_most(cursor, most);
		area->threads = mf_cursor_at_most(cursor, most);
	}
	skip(cursor, numbers->of_area, numbers->of_area < AREA_NUMBERS ? numbers->of_area : AREA_NUMBERS);
	if (cursor->bad || !name)
		return -EBADMSG;
	area->name = strdup(name);
	if (!area->name)
		return -ENOMEM;
	/* In a report, control characters could begin a line or control the terminal. */
	mf_printable_clean(area->name);
	return 0;
}

static int take_areas(struct mf_cursor *cursor, const struct numbers *numbers, struct mf_residency_detail *detail)
{
	size_t n = mf_cursor_count(cursor, numbers->of_area + 1);
	int ret = 0;

	if (cursor->bad)
		return -EBADMSG;
	detail->areas = calloc(n + 1, sizeof(*detail->areas));
	if (!detail->areas)
		return -ENOMEM;
	while (!ret && detail->n_areas < n) {
		/* No sum over areas may overflow. */
		ret = take_area(cursor, numbers, UINT64_MAX / (n + 1), &detail->areas[detail->n_areas]);
		detail->n_areas += !ret;
	}
	return ret;
}

static int take_more_of_detail(struct mf_cursor *cursor, const struct numbers *numbers, size_t n_contexts,
			       struct mf_residency_detail *detail)
{
	const uint64_t most = UINT64_MAX / ((uint64_t)n_contexts + 1);

	take_more_of_sample(cursor, numbers, &detail->sample);
	detail->of = mf_cursor_signed(cursor);
	for (size_t i = 0; i < detail->n_sites && !cursor->bad; i++) {
		detail->sites[i].shared = mf_cursor_at_most(cursor, most);
		detail->sites[i].huge = mf_cursor_at_most(cursor, most);
		detail->sites[i].huge_zeros = mf_cursor_at_most(cursor, most);
		skip(cursor, numbers->of_site, SITE_NUMBERS);
	}
	return cursor->bad ? -EBADMSG : take_areas(cursor, numbers, detail);
}

static int take_moments(struct mf_cursor *cursor, const struct numbers *numbers, size_t n_contexts,
			struct mf_residency *residency)
{
	size_t n = mf_cursor_count(cursor, 2 * MF_BANDS);
	int ret = 0;

	if (cursor->bad || n > MOMENTS_MAX)
		return -EBADMSG;
	residency->moments = calloc(n + 1, sizeof(*residency->moments));
	if (!residency->moments)
		return -ENOMEM;
	while (!ret && residency->n_moments < n) {
		struct mf_residency_detail *moment = &residency->moments[residency->n_moments++];

		ret = take_detail(cursor, n_contexts, moment) ?: take_more_of_detail(cursor, numbers, n_contexts, moment);
	}
	return ret;
}

/* Reads what later formats have added. */
static int take_more(struct mf_cursor *cursor, size_t n_contexts, struct mf_residency *residency)
{
	struct numbers numbers;
	int ret;

	if (cursor->at == cursor->end)
		return 0;
	numbers.of_sample = mf_cursor_unsigned(cursor);
	numbers.of_site = mf_cursor_unsigned(cursor);
	numbers.of_area = mf_cursor_unsigned(cursor);
	if (cursor->bad || numbers.of_sample < SAMPLE_NUMBERS || numbers.of_site < SITE_NUMBERS ||
	    numbers.of_area < AREA_NUMBERS_LEAST)
		return -EBADMSG;
	for (size_t i = 0; i < residency->n_samples && !cursor->bad; i++)
		take_more_of_sample(cursor, &numbers, &residency->samples[i]);
	if (cursor->bad)
		return -EBADMSG;
	ret = take_more_of_detail(cursor, &numbers, n_contexts, &residency->peak);
	ret = ret ?: take_more_of_detail(cursor, &numbers, n_contexts, &residency->last);
	return ret ?: take_moments(cursor, &numbers, n_contexts, residency);
}

int mf_residency_section_take(struct mf_cursor *cursor, size_t n_contexts, struct mf_residency *residency)
{
	size_t n;
	int ret;

	if (mf_cursor_unsigned(cursor) != MF_BANDS || mf_cursor_unsigned(cursor) != MF_FILLINGS)
		return -EBADMSG;
	residency->peak_rss = mf_cursor_unsigned(cursor);
	n = mf_cursor_count(cursor, MF_BANDS + 8);
	if (n > SAMPLES_MAX)
		return -EBADMSG;
	residency->samples = calloc(n + 1, sizeof(*residency->samples));
	if (!residency->samples)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		take_sample(cursor, &residency->samples[i]);
	residency->n_samples = n;
	ret = cursor->bad ? -EBADMSG : take_detail(cursor, n_contexts, &residency->peak);
	ret = ret ?: take_detail(cursor, n_contexts, &residency->last);
	return ret ?: take_more(cursor, n_contexts, residency);
}
