// SPDX-License-Identifier: GPL-2.0
// Prints what the resident set of a process consisted of, and which code kept its pages.

#include "residency_view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "ctl/message/quantity.h"
#include "ctl/query/site_table.h"

#define BAR 30u /* columns of the bar for all bytes */

/* A table is only printed if it is about at least this part of the resident set. */
#define WORTH 100u

/* A site has rows in the tables in which its number is not 0. */
#define ROWS 5u

static void print_bar(const struct mf_terminal *terminal, uint64_t part, uint64_t whole)
{
	for (unsigned int n = whole ? (unsigned int)(mf_quantity_share(part, whole) / 100 * BAR + 0.5) : 0; n; n--)
		fputs(terminal->utf8 ? "█" : "#", terminal->out);
}

static void print_row(const struct mf_terminal *terminal, uint64_t part, uint64_t whole, const char *words)
{
	fprintf(terminal->out, "%11s %6.2f%%  %-32s ", mf_quantity_bytes(part).text, mf_quantity_share(part, whole), words);
	print_bar(terminal, part, whole);
	putc('\n', terminal->out);
}

static void print_heading(const struct mf_terminal *terminal, const struct mf_residency *residency,
			  const struct mf_residency_sample *sample, bool is_peak)
{
	FILE *out = terminal->out;
	uint64_t longest = 0;

	for (size_t i = 0; i < residency->n_samples; i++)
		if (residency->samples[i].took_us > longest)
			longest = residency->samples[i].took_us;
	fprintf(out, "%sresident set  %s%s at %s, %s of %zu samples%s\n", mf_terminal_bold(terminal),
		mf_quantity_bytes(mf_residency_rss(sample)).text, mf_terminal_plain(terminal),
		mf_quantity_time((int64_t)sample->time_ms, MF_TIME_MS).text, is_peak ? "the largest" : "the last",
		residency->n_samples, is_peak ? "" : " (the largest: --at=peak)");
	if (is_peak && residency->peak_rss)
		fprintf(out, "The kernel's peak (VmHWM) is %s. ", mf_quantity_bytes(residency->peak_rss).text);
	fprintf(out, "The program ran on while a sample was taken, in at most %" PRIu64 ".%" PRIu64 " ms.\n\n", longest / 1000,
		longest / 100 % 10);
}

static void print_bands(const struct mf_terminal *terminal, const struct mf_residency_sample *sample)
{
	uint64_t rss = mf_residency_rss(sample);

	for (int i = 0; i < MF_BANDS; i++)
		if (sample->bands[i])
			print_row(terminal, sample->bands[i], rss, mf_band_names[i].words);
}

static void print_beside(FILE *out, const struct mf_residency_sample *sample)
{
	const struct {
		const char *words;
		uint64_t bytes;
	} rows[] = {
		{ "swapped out", sample->swapped },
		{ "of live blocks never touched", sample->untouched },
		{ "in huge pages", sample->huge },
		{ "shared with other processes (resident less Pss)",
		  mf_residency_rss(sample) > sample->pss ? mf_residency_rss(sample) - sample->pss : 0 },
	};

	fprintf(out, "\n%11s  mapped in all\n", mf_quantity_bytes(sample->mapped).text);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].bytes)
			fprintf(out, "%11s  %s\n", mf_quantity_bytes(rows[i].bytes).text, rows[i].words);
}

static void print_fillings(const struct mf_terminal *terminal, const struct mf_residency_detail *detail)
{
	static const char *const words[MF_FILLINGS] = {
		[MF_FILLING_NONE] = "without a live block",
		[MF_FILLING_10] = "less than 10 % used by live blocks",
		[MF_FILLING_25] = "10 to 25 %",
		[MF_FILLING_50] = "25 to 50 %",
		[MF_FILLING_MORE] = "50 % or more",
	};
	uint64_t all = 0;

	for (int i = 0; i < MF_FILLINGS; i++)
		all += detail->fillings[i];
	if (!all)
		return;
	fprintf(terminal->out, "\n%sHow full the allocator's pages are%s\n", mf_terminal_bold(terminal),
		mf_terminal_plain(terminal));
	for (int i = 0; i < MF_FILLINGS; i++)
		if (detail->fillings[i])
			print_row(terminal, detail->fillings[i], all, words[i]);
}

/* A number of each site, in the form of a snapshot. */
static struct mf_profile_snapshot make_snapshot(const struct mf_residency_detail *detail, const struct mf_profile *profile,
						struct mf_leaf *leaves, size_t number)
{
	struct mf_profile_snapshot snapshot = {
		.tree = MF_TREE_DETAILED, .n_seen = profile->n_contexts, .leaves = leaves,
	};

	for (size_t i = 0; i < detail->n_sites; i++) {
		const struct mf_residency_site *site = &detail->sites[i];
		uint64_t bytes = *(const uint64_t *)((const char *)site + number);

		if (bytes)
			leaves[snapshot.n_leaves++] = (struct mf_leaf){ .context = site->context, .bytes = bytes };
		snapshot.heap_bytes += bytes;
	}
	return snapshot;
}

/* The tables of sites: a number of each site, beside all its live bytes. */
static const struct {
	const char *heading, *title;
	size_t number; /* offset in struct mf_residency_site */
} tables[] = {
	{ "Free memory in pages that live blocks of these sites keep", "free there",
	  offsetof(struct mf_residency_site, pinned) },
	{ "Live blocks on pages that were never touched", "untouched", offsetof(struct mf_residency_site, untouched) },
};

static int print_table(const struct mf_terminal *terminal, const struct mf_query *query, struct mf_recorded *process,
		       const struct mf_residency_detail *detail, size_t i, struct mf_error *err)
{
	mf_auto_free struct mf_leaf *leaves = calloc(2 * detail->n_sites + 1, sizeof(*leaves));
	struct mf_profile_snapshot snapshots[MF_SITES_SIDES];
	struct mf_query limited = *query;
	struct mf_site_table_part part = { process, { &snapshots[0], &snapshots[1] } };
	const struct mf_site_table table = {
		.query = &limited,
		.parts = &part,
		.n_parts = 1,
		.titles = { tables[i].title, "live" },
		.by = query->by_given ? query->by : MF_SITES_BY_SITE,
	};

	if (!leaves)
		return mf_error_set(err, -ENOMEM, "out of memory");
	snapshots[0] = make_snapshot(detail, &process->profile, leaves, tables[i].number);
	snapshots[1] = make_snapshot(detail, &process->profile, leaves + detail->n_sites,
				     offsetof(struct mf_residency_site, live));
	if (snapshots[0].heap_bytes < mf_residency_rss(&detail->sample) / WORTH)
		return 0;
	if (!limited.top)
		limited.top = ROWS;
	fprintf(terminal->out, "\n%s%s%s\n", mf_terminal_bold(terminal), tables[i].heading, mf_terminal_plain(terminal));
	return mf_site_table_print(terminal, &table, err);
}

int mf_residency_view_print(const struct mf_terminal *terminal, const struct mf_query *query, struct mf_recorded *process,
			    struct mf_error *err)
{
	const struct mf_residency *residency = process->profile.residency;
	bool is_peak = !query->at || strcmp(query->at, "end") != 0;
	const struct mf_residency_detail *detail;
	int code = 0;

	if (!residency || !residency->n_samples)
		return mf_error_set(err, -ENODATA, "the file has no samples of the resident set: make the recording with "
						   "massif-ctl record --rss=yes");
	detail = is_peak ? &residency->peak : &residency->last;
	print_heading(terminal, residency, &detail->sample, is_peak);
	print_bands(terminal, &detail->sample);
	print_beside(terminal->out, &detail->sample);
	print_fillings(terminal, detail);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && !code; i++)
		code = print_table(terminal, query, process, detail, i, err);
	return code;
}
