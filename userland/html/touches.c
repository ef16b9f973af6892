// SPDX-License-Identifier: GPL-2.0
// Which code touched the pages of a sample first, in a page.

#include "html/touches.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "report/standard.h"
#include "report/touched.h"

/* More sites of a part of the resident set are one. */
#define SITES 20u

struct reading {
	struct mf_html_process *process;
	struct mf_html_calls *calls;
};

static int take_stack(void *data, const struct mf_moment_stack *stack, struct mf_error *err)
{
	const struct reading *reading = data;
	const struct mf_report_options *options = reading->process->options;
	size_t site = mf_standard_touching_calls(stack->calls, stack->n, options);
	uint32_t number = mf_html_calls_number(reading->calls, &stack->calls[site], options);

	reading->process->touching[stack->context] = number;
	return number == UINT32_MAX ? mf_error_set(err, -ENOMEM, "out of memory") : 0;
}

/* Marks the contexts that have touched a page of @detail first. */
static void mark(struct mf_leaf *leaves, const struct mf_residency_detail *detail)
{
	for (size_t i = 0; i < detail->n_touches; i++)
		leaves[detail->touches[i].context].bytes = 1;
}

int mf_html_touches_read(struct mf_html_process *process, struct mf_html_calls *calls, struct mf_error *err)
{
	const struct mf_residency *residency = process->profile.residency;
	const struct mf_first_touches *touches = process->profile.touches;
	struct reading reading = { process, calls };
	mf_auto_free struct mf_leaf *leaves = NULL;
	struct mf_profile_snapshot snapshot = { 0 };
	struct mf_profile profile;
	struct mf_moment moment = { .snapshot = &snapshot, .options = process->options };

	if (!residency || !touches)
		return 0;
	mf_touched_moment(&moment, touches, &profile);
	leaves = calloc(profile.n_contexts + 1, sizeof(*leaves));
	process->touching = calloc(profile.n_contexts + 1, sizeof(*process->touching));
	if (!leaves || !process->touching)
		return mf_error_set(err, -ENOMEM, "out of memory");
	mark(leaves, &residency->peak);
	mark(leaves, &residency->last);
	for (size_t i = 0; i < residency->n_moments; i++)
		mark(leaves, &residency->moments[i]);
	snapshot.leaves = leaves;
	for (uint32_t i = 0; i < profile.n_contexts; i++) {
		process->touching[i] = UINT32_MAX;
		if (leaves[i].bytes)
			leaves[snapshot.n_leaves++] = (struct mf_leaf){ .context = i, .bytes = 1 };
	}
	return mf_moment_each(&moment, take_stack, &reading, err);
}

/* The bytes that a site has touched first in a part of the resident set. */
struct row {
	enum mf_band band;
	uint32_t call; /* UINT32_MAX: sites that are not shown */
	uint64_t bytes;
};

static int compare_sites(const void *left, const void *right)
{
	const struct row *a = left, *b = right;

	if (a->band != b->band)
		return a->band < b->band ? -1 : 1;
	return a->call < b->call ? -1 : a->call > b->call;
}

static int compare_bytes(const void *left, const void *right)
{
	const struct row *a = left, *b = right;

	if (a->band != b->band)
		return a->band < b->band ? -1 : 1;
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	return a->call < b->call ? -1 : a->call > b->call;
}

/* Makes one row of those that have the same site. Returns how many there are. */
static size_t merge(struct row *rows, size_t n)
{
	size_t used = 0;

	qsort(rows, n, sizeof(*rows), compare_sites);
	for (size_t i = 0; i < n; i++) {
		if (used && compare_sites(&rows[used - 1], &rows[i]) == 0)
			rows[used - 1].bytes += rows[i].bytes;
		else
			rows[used++] = rows[i];
	}
	qsort(rows, used, sizeof(*rows), compare_bytes);
	return used;
}

int mf_html_touches_print(const struct mf_html_process *process, FILE *out, const struct mf_residency_detail *detail,
			  struct mf_html_calls *calls, struct mf_error *err)
{
	mf_auto_free struct row *rows = calloc(detail->n_touches + 1, sizeof(*rows));
	size_t n = 0, of_band = 0;

	if (!rows)
		return mf_error_set(err, -ENOMEM, "out of memory");
	/* Ignored stacks have no site. */
	for (size_t i = 0; i < detail->n_touches; i++) {
		const struct mf_residency_touch *touch = &detail->touches[i];

		if (touch->band != MF_BAND_MASSIF && process->touching[touch->context] != UINT32_MAX)
			rows[n++] = (struct row){ touch->band, process->touching[touch->context], touch->bytes };
	}
	n = n ? merge(rows, n) : 0;
	for (size_t i = 0; i < n; i++) {
		of_band = i && rows[i].band == rows[i - 1].band ? of_band + 1 : 0;
		if (of_band >= SITES)
			rows[i].call = UINT32_MAX;
	}
	n = n ? merge(rows, n) : 0;
	fputs(",\n\"touched\":[", out);
	for (size_t i = 0; i < n; i++) {
		fprintf(out, "%s%d,", i ? "," : "", (int)rows[i].band);
		if (rows[i].call == UINT32_MAX)
			fputs("-1,", out);
		else
			fprintf(out, "%" PRIu32 ",", mf_html_calls_use(calls, rows[i].call));
		mf_html_print_number(out, rows[i].bytes);
	}
	putc(']', out);
	return 0;
}
