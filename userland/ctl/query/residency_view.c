// SPDX-License-Identifier: GPL-2.0
// Prints what the resident set of a process consisted of, and which code kept its pages.

#include "residency_view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "ctl/message/quantity.h"
#include "ctl/query/residency_summary.h"
#include "ctl/query/sample_choice.h"
#include "ctl/query/site_table.h"
#include "ctl/query/touch_view.h"
#include "report/counted.h"

#define BAR   30u /* columns of the bar for all bytes, if the terminal is wide enough */
#define WORDS 34u /* columns of the longest words of a row */
#define BEFORE_BAR (22 + WORDS)

/* A table is only printed if it is about at least this part of the resident set. */
#define WORTH 100u

/* A site has rows in the tables in which its number is not 0. */
#define ROWS 5u

static void print_bar(const struct mf_terminal *terminal, uint64_t part, uint64_t whole, const char *words)
{
	unsigned int room = terminal->width > BEFORE_BAR ? terminal->width - BEFORE_BAR : 0, longest = room < BAR ? room : BAR;
	unsigned int n = (unsigned int)(mf_quantity_share(part, whole) / 100 * longest + 0.5);

	if (n)
		fprintf(terminal->out, "%*s", (int)(WORDS + 1) - (int)strlen(words), "");
	for (; n; n--)
		fputs(terminal->utf8 ? "█" : "#", terminal->out);
}

static void print_row(const struct mf_terminal *terminal, uint64_t part, uint64_t whole, const char *words)
{
	fprintf(terminal->out, "%11s %6.2f%%  %s", mf_quantity_bytes(part).text, mf_quantity_share(part, whole), words);
	print_bar(terminal, part, whole, words);
	putc('\n', terminal->out);
}

static void print_heading(const struct mf_terminal *terminal, const struct mf_recorded *process,
			  const struct mf_residency_detail *detail)
{
	const struct mf_residency *residency = process->profile.residency;
	const struct mf_residency_sample *sample = &detail->sample;
	bool is_peak = detail == &residency->peak;
	FILE *out = terminal->out;
	char words[160] = "";
	uint64_t longest = 0;
	size_t n = 0;

	for (size_t i = 0; i < residency->n_samples; i++)
		if (residency->samples[i].took_us > longest)
			longest = residency->samples[i].took_us;
	fprintf(out, "%sresident set  %s%s at %s, %s of %zu sample%s\n", mf_terminal_bold(terminal),
		mf_quantity_bytes(mf_residency_rss(sample)).text, mf_terminal_plain(terminal),
		mf_quantity_time((int64_t)sample->time_ms, MF_TIME_MS).text,
		is_peak ? "the largest" : detail == &residency->last ? "the last" : "one",
		residency->n_samples, residency->n_samples == 1 ? "" : "s");
	if (!is_peak)
		n = (size_t)snprintf(words, sizeof(words), "--at=peak shows the largest sample. ");
	else if (residency->peak_rss)
		n = (size_t)snprintf(words, sizeof(words), "The kernel's peak (VmHWM) is %s. ",
				     mf_quantity_bytes(residency->peak_rss).text);
	snprintf(words + n, sizeof(words) - n, "The program ran on while a sample was taken, in at most %" PRIu64 ".%" PRIu64
		 " ms.", longest / 1000, longest / 100 % 10);
	mf_terminal_print_wrapped(terminal, words);
	mf_touch_view_print_source(terminal, process, detail);
	putc('\n', out);
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

/* Returns what an area is called. */
static const char *name_of(const struct mf_residency_area *area)
{
	return *area->name ? area->name : mf_band_names[area->band].words;
}

static int compare_areas(const void *left, const void *right)
{
	const struct mf_residency_area *a = *(const struct mf_residency_area *const *)left;
	const struct mf_residency_area *b = *(const struct mf_residency_area *const *)right;

	return a->rss < b->rss ? 1 : -(a->rss > b->rss);
}

/* The files, stacks and other mappings that have most, apart from the allocator's and massif's own. */
static int print_areas(const struct mf_terminal *terminal, const struct mf_query *query,
		       const struct mf_residency_detail *detail, struct mf_error *err)
{
	mf_auto_free const struct mf_residency_area **areas = calloc(detail->n_areas + 1, sizeof(*areas));
	uint64_t rss = mf_residency_rss(&detail->sample), rest = 0, hidden = 0;
	size_t n = 0, top = query->top ? query->top : ROWS;
	bool is_counted = true;

	if (!areas)
		return mf_error_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < detail->n_areas; i++) {
		const struct mf_residency_area *area = &detail->areas[i];

		if (area->band == MF_BAND_LIVE || area->band == MF_BAND_MASSIF || !area->rss)
			continue;
		if (area->n) {
			areas[n++] = area;
			continue;
		}
		/* The rest of a band; earlier versions did not record of how many areas. */
		rest += area->rss;
		hidden += area->areas ? area->areas : 1;
		is_counted = is_counted && area->areas;
	}
	if (!n)
		return 0;
	qsort(areas, n, sizeof(*areas), compare_areas);
	for (size_t i = 0; i < n; i++) {
		if (!i && areas[i]->rss < rss / WORTH)
			return 0;
		if (!i)
			fprintf(terminal->out, "\n%sLargest mappings that are not the allocator's%s\n",
				mf_terminal_bold(terminal), mf_terminal_plain(terminal));
		if (i >= top) {
			rest += areas[i]->rss;
			hidden++;
			continue;
		}
		fprintf(terminal->out, "%11s %6.2f%%  ", mf_quantity_bytes(areas[i]->rss).text,
			mf_quantity_share(areas[i]->rss, rss));
		mf_terminal_print_cut(terminal, name_of(areas[i]), terminal->width > 50 ? terminal->width - 22 : 28);
		putc('\n', terminal->out);
	}
	if (hidden)
		fprintf(terminal->out, "%11s %6.2f%%  %s%" PRIu64 " more\n", mf_quantity_bytes(rest).text,
			mf_quantity_share(rest, rss), is_counted ? "" : "at least ", hidden);
	return 0;
}

/* The tables of sites: a number of each site, beside all its live bytes. */
static const struct {
	const char *heading, *title;
	enum mf_resident_number number;
} tables[] = {
	{ "Free memory in pages that live blocks of these sites keep", "free there", MF_RESIDENT_PINNED },
	{ "Live blocks on pages that were never touched", "untouched", MF_RESIDENT_UNTOUCHED },
};

static int print_table(const struct mf_terminal *terminal, const struct mf_query *query, struct mf_recorded *process,
		       const struct mf_residency_detail *detail, size_t i, struct mf_error *err)
{
	const enum mf_resident_number numbers[MF_SITES_SIDES] = { tables[i].number, MF_RESIDENT_LIVE };
	const struct mf_moment moment = { .profile = &process->profile };
	struct mf_counted counted[MF_SITES_SIDES] = { 0 };
	struct mf_query limited = *query;
	struct mf_site_table_part part = { process, { &counted[0].snapshot, &counted[1].snapshot } };
	const struct mf_site_table table = {
		.query = &limited,
		.parts = &part,
		.n_parts = 1,
		.titles = { tables[i].title, "live" },
		.by = query->by_given ? query->by : MF_SITES_BY_SITE,
	};

	uint64_t sum;
	int code = 0;

	for (unsigned int side = 0; side < MF_SITES_SIDES && !code; side++)
		code = mf_counted_init_resident(&counted[side], &moment, detail, numbers[side], err);
	if (!limited.top)
		limited.top = ROWS;
	sum = counted[0].snapshot.heap_bytes;
	if (!code && sum && sum >= mf_residency_rss(&detail->sample) / WORTH) {
		fprintf(terminal->out, "\n%s%s%s\n", mf_terminal_bold(terminal), tables[i].heading,
			mf_terminal_plain(terminal));
		code = mf_site_table_print(terminal, &table, err);
	}
	for (unsigned int side = 0; side < MF_SITES_SIDES; side++)
		mf_counted_deinit(&counted[side]);
	return code;
}

int mf_residency_view_check(const struct mf_query *query, const struct mf_recorded *process, struct mf_error *err)
{
	const struct mf_residency *residency = process->profile.residency;

	if (!residency || !residency->n_samples)
		return mf_error_set(err, -ENODATA, "the file has no samples of the resident set: make the recording with "
						   "massif-ctl record --rss=yes; of a program that ends at once there may "
						   "be none");
	return mf_sample_choose(query, process, err) ? 0 : -ESRCH;
}

int mf_residency_view_print(const struct mf_terminal *terminal, const struct mf_query *query, struct mf_recorded *process,
			    struct mf_error *err)
{
	const struct mf_residency *residency = process->profile.residency;
	const struct mf_residency_detail *detail;
	int code = mf_residency_view_check(query, process, err);

	if (code)
		return code;
	detail = mf_sample_choose(query, process, err);
	print_heading(terminal, process, detail);
	code = mf_residency_summary_print(terminal, query, process, detail, err);
	if (code)
		return code;
	print_bands(terminal, &detail->sample);
	print_beside(terminal->out, &detail->sample);
	print_fillings(terminal, detail);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && !code; i++)
		code = print_table(terminal, query, process, detail, i, err);
	code = code ?: mf_touch_view_print(terminal, query, process, detail, err);
	code = code ?: print_areas(terminal, query, detail, err);
	if (!code)
		mf_sample_choices_print(terminal->out, residency, terminal->width);
	return code;
}
