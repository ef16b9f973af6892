// SPDX-License-Identifier: GPL-2.0
// Prints which code touched the pages of a sample of the resident set first.

#include "touch_view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "ctl/message/quantity.h"
#include "ctl/query/site_table.h"
#include "ctl/query/tree_view.h"
#include "report/touched.h"

/* A part is only shown if it is at least one so-many-th of the resident set. */
#define WORTH 100u

#define ROWS 5u

/* The bands that are shown, each with what its pages are called. */
static const struct {
	enum mf_band band;
	const char *words;
} parts[] = {
	{ MF_BAND_ANONYMOUS, "Other anonymous mappings" },
	{ MF_BAND_STACKS, "Stacks" },
	{ MF_BAND_FILES, "Mapped files" },
	{ MF_BAND_SHARED, "Shared memory" },
};

void mf_touch_view_print_source(const struct mf_terminal *terminal, const struct mf_recorded *process,
				const struct mf_residency_detail *detail)
{
	const struct mf_first_touches *touches = process->profile.touches;
	FILE *out = terminal->out;
	char counted[96] = "", words[256];

	if (!touches) {
		mf_terminal_print_wrapped(terminal, "Source: /proc, sampled. It does not say which code touched the pages "
						    "first, nor what was resident between samples.");
		return;
	}
	if (detail->counted)
		snprintf(counted, sizeof(counted), ", and %s when this sample was taken",
			 mf_quantity_bytes(detail->counted).text);
	snprintf(words, sizeof(words), "Source: massif.ko and /proc. massif.ko counted at most %s, at %s%s.",
		 mf_quantity_bytes(touches->peak).text, mf_quantity_time((int64_t)touches->peak_ms, MF_TIME_MS).text, counted);
	mf_terminal_print_wrapped(terminal, words);
	if (touches->lost)
		fprintf(out, "massif.ko lost %" PRIu64 " records: pages of unknown origin are under [lost].\n", touches->lost);
}

static int print_tree(const struct mf_terminal *terminal, const struct mf_query *query, const struct mf_recorded *touched,
		      const struct mf_profile_snapshot *snapshot, struct mf_error *err)
{
	const struct mf_moment moment = { &touched->profile, snapshot, &query->options.report, touched->symbolizer };

	return mf_tree_view_print(terminal, &moment, query->all_calls, err);
}

/* Prints the sites of @snapshot, which the column @title has, beside all that they have touched of the sample. */
static int print_table(const struct mf_terminal *terminal, const struct mf_query *query, struct mf_recorded *touched,
		       const struct mf_profile_snapshot *snapshot, const char *title,
		       const struct mf_residency_detail *detail, struct mf_error *err)
{
	struct mf_touched_leaves in_all;
	struct mf_query limited = *query;
	struct mf_site_table_part part = { touched, { snapshot, &in_all.snapshot } };
	const struct mf_site_table table = {
		.query = &limited,
		.parts = &part,
		.n_parts = 1,
		.titles = { title, "in all" },
		.is_touches = true,
		.by = query->by_given ? query->by : MF_SITES_BY_SITE,
	};
	int code = mf_touched_leaves_make(&in_all, detail, MF_TOUCHED_ALL, err);

	if (!limited.top)
		limited.top = ROWS;
	code = code ?: mf_site_table_print(terminal, &table, err);
	mf_touched_leaves_deinit(&in_all);
	return code;
}

static int print_part(const struct mf_terminal *terminal, const struct mf_query *query, struct mf_recorded *process,
		      const struct mf_residency_detail *detail, size_t i, struct mf_error *err)
{
	struct mf_touched_leaves leaves;
	int code = mf_touched_leaves_make(&leaves, detail, 1u << parts[i].band, err);

	if (!code && leaves.snapshot.heap_bytes && leaves.snapshot.heap_bytes >= mf_residency_rss(&detail->sample) / WORTH) {
		fprintf(terminal->out, "\n%s%s, by the code that touched their pages first%s\n", mf_terminal_bold(terminal),
			parts[i].words, mf_terminal_plain(terminal));
		code = query->tree ? print_tree(terminal, query, process->touched, &leaves.snapshot, err) :
				     print_table(terminal, query, process->touched, &leaves.snapshot, "there", detail, err);
	}
	mf_touched_leaves_deinit(&leaves);
	return code;
}

/*
 * If the resident set was larger than in any sample, prints who had touched it then; that snapshot has been taken by the
 * module's count, and has massif's own memory, too.
 */
static int print_peak(const struct mf_terminal *terminal, const struct mf_query *query, struct mf_recorded *process,
		      const struct mf_residency_detail *detail, struct mf_error *err)
{
	const struct mf_first_touches *touches = process->profile.touches;
	const struct mf_profile_snapshot *peak = mf_profile_peak(touches->profile, touches->end);

	if (detail != &process->residency.peak || touches->peak <= detail->counted + detail->counted / WORTH ||
	    peak->heap_bytes <= detail->counted)
		return 0;
	fprintf(terminal->out, "\n%sThe peak was between samples: %s then, by the code that touched the pages first%s\n",
		mf_terminal_bold(terminal), mf_quantity_bytes(peak->heap_bytes).text, mf_terminal_plain(terminal));
	return query->tree ? print_tree(terminal, query, process->touched, peak, err) :
			     print_table(terminal, query, process->touched, peak, "then", detail, err);
}

int mf_touch_view_print(const struct mf_terminal *terminal, const struct mf_query *query, struct mf_recorded *process,
			const struct mf_residency_detail *detail, struct mf_error *err)
{
	int code;

	if (!process->touched || !detail->n_touches)
		return 0;
	code = print_peak(terminal, query, process, detail, err);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && !code; i++)
		code = print_part(terminal, query, process, detail, i, err);
	return code;
}
