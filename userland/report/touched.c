// SPDX-License-Identifier: GPL-2.0
// The pages of a sample by the code that touched them first, in the form of a snapshot.

#include "report/touched.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
	const struct mf_leaf *one = a, *other = b;

	return one->context < other->context ? -1 : one->context > other->context;
}

int mf_touched_leaves_make(struct mf_touched_leaves *touched, const struct mf_residency_detail *detail, uint32_t bands,
			   struct mf_error *err)
{
	struct mf_leaf *leaves = calloc(detail->n_touches + 1, sizeof(*leaves));
	size_t n = 0, used = 0;

	*touched = (struct mf_touched_leaves){ .leaves = leaves };
	if (!leaves)
		return mf_error_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < detail->n_touches; i++)
		if (bands & 1u << detail->touches[i].band)
			leaves[n++] = (struct mf_leaf){ .context = detail->touches[i].context,
							.bytes = detail->touches[i].bytes };
	/* A context can have pages in several bands. */
	qsort(leaves, n, sizeof(*leaves), compare);
	for (size_t i = 0; i < n; i++) {
		touched->snapshot.heap_bytes += leaves[i].bytes;
		if (used && leaves[used - 1].context == leaves[i].context)
			leaves[used - 1].bytes += leaves[i].bytes;
		else
			leaves[used++] = leaves[i];
	}
	touched->snapshot.tree = MF_TREE_DETAILED;
	touched->snapshot.leaves = leaves;
	touched->snapshot.n_leaves = used;
	touched->snapshot.n_seen = used ? (size_t)leaves[used - 1].context + 1 : 0;
	return 0;
}

void mf_touched_leaves_deinit(struct mf_touched_leaves *touched)
{
	free(touched->leaves);
}

static uint32_t read_without_kind(const void *source, uint32_t number, struct mf_frame *frames)
{
	const struct mf_profile *profile = source;
	uint32_t n = profile->read_context(profile->source, number, frames);

	if (n < 2)
		return n;
	memmove(frames, frames + 1, (n - 1) * sizeof(*frames));
	return n - 1;
}

void mf_touched_profile(const struct mf_first_touches *touches, struct mf_profile *profile)
{
	*profile = *touches->profile;
	if (!touches->with_kinds)
		return;
	profile->source = touches->profile;
	profile->read_context = read_without_kind;
}

void mf_touched_moment(struct mf_moment *moment, const struct mf_first_touches *touches, struct mf_profile *profile)
{
	mf_touched_profile(touches, profile);
	moment->profile = profile;
	moment->symbolizer = touches->symbolizer;
	moment->is_touches = true;
}
