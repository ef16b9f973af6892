// SPDX-License-Identifier: GPL-2.0
// The section of a recording that says which code touched the pages of the samples first.

#include "recording/touches_section.h"

#include <errno.h>
#include <stdlib.h>

/* How many numbers the section begins with, and how many each sample has before its sums. Later versions may add more. */
#define HEAD_NUMBERS   3u
#define SAMPLE_NUMBERS 1u

static void add_detail(struct mf_bytes *bytes, const struct mf_residency_detail *detail)
{
	uint32_t context = 0;

	mf_bytes_add_unsigned(bytes, detail->counted);
	mf_bytes_add_unsigned(bytes, detail->n_touches);
	for (size_t i = 0; i < detail->n_touches; i++) {
		const struct mf_residency_touch *touch = &detail->touches[i];

		mf_bytes_add_unsigned(bytes, touch->band);
		mf_bytes_add_signed(bytes, (int64_t)touch->context - context);
		mf_bytes_add_unsigned(bytes, touch->bytes);
		context = touch->context;
	}
}

void mf_touches_section_add(struct mf_bytes *bytes, const struct mf_first_touches *touches,
			    const struct mf_residency *residency)
{
	mf_bytes_add_unsigned(bytes, HEAD_NUMBERS);
	mf_bytes_add_unsigned(bytes, SAMPLE_NUMBERS);
	mf_bytes_add_unsigned(bytes, touches->peak);
	mf_bytes_add_unsigned(bytes, touches->peak_ms);
	mf_bytes_add_unsigned(bytes, touches->lost);
	add_detail(bytes, &residency->peak);
	add_detail(bytes, &residency->last);
	for (size_t i = 0; i < residency->n_moments; i++)
		add_detail(bytes, &residency->moments[i]);
}

/* Skips numbers that a later version has added. */
static void skip(struct mf_cursor *cursor, uint64_t n, uint64_t known)
{
	for (; n > known && !cursor->bad; n--)
		mf_cursor_unsigned(cursor);
}

static int take_detail(struct mf_cursor *cursor, uint64_t n_numbers, size_t n_contexts, struct mf_residency_detail *detail)
{
	enum mf_band band = MF_BAND_LIVE;
	int64_t context = 0;
	size_t n;

	detail->counted = mf_cursor_unsigned(cursor);
	skip(cursor, n_numbers, SAMPLE_NUMBERS);
	n = mf_cursor_count(cursor, 3);
	if (cursor->bad)
		return -EBADMSG;
	detail->touches = calloc(n + 1, sizeof(*detail->touches));
	if (!detail->touches)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		enum mf_band next = (enum mf_band)mf_cursor_at_most(cursor, MF_BANDS - 1);
		int64_t step = mf_cursor_signed(cursor);

		/* Bands are in ascending order, and so are the contexts of each, which occur once. */
		if (cursor->bad || next < band || (i && next == band && step <= 0) || step < -context ||
		    step >= (int64_t)n_contexts - context)
			return -EBADMSG;
		band = next;
		context += step;
		/* No sum may overflow. */
		detail->touches[i] = (struct mf_residency_touch){ band, (uint32_t)context,
								  mf_cursor_at_most(cursor, UINT64_MAX / (n + 1)) };
	}
	detail->n_touches = n;
	return cursor->bad ? -EBADMSG : 0;
}

int mf_touches_section_take(struct mf_cursor *cursor, size_t n_contexts, struct mf_first_touches *touches,
			    struct mf_residency *residency)
{
	uint64_t n_head = mf_cursor_unsigned(cursor), n_sample = mf_cursor_unsigned(cursor);
	int ret;

	if (cursor->bad || n_head < HEAD_NUMBERS || n_sample < SAMPLE_NUMBERS)
		return -EBADMSG;
	touches->peak = mf_cursor_unsigned(cursor);
	touches->peak_ms = mf_cursor_at_most(cursor, INT64_MAX);
	touches->lost = mf_cursor_unsigned(cursor);
	skip(cursor, n_head, HEAD_NUMBERS);
	ret = take_detail(cursor, n_sample, n_contexts, &residency->peak);
	ret = ret ?: take_detail(cursor, n_sample, n_contexts, &residency->last);
	for (size_t i = 0; i < residency->n_moments && !ret; i++)
		ret = take_detail(cursor, n_sample, n_contexts, &residency->moments[i]);
	return ret;
}
