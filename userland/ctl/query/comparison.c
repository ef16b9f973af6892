// SPDX-License-Identifier: GPL-2.0
// Compares processes of two recordings, and prints what has changed.

#include "comparison.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/printable.h"
#include "ctl/message/quantity.h"
#include "ctl/query/label.h"
#include "report/counted.h"
#include "report/touched.h"

/* What is compared of a side as a whole. Each process has its peak at a time of its own. */
struct totals {
	uint64_t peak, end, allocations, reallocations, frees;
};

static struct totals totals_of(const struct mf_comparison_side *side)
{
	struct totals totals = { 0 };

	for (size_t i = 0; i < side->n; i++) {
		const struct mf_facts *facts = &side->processes[i]->facts;

		totals.peak += mf_profile_total(mf_query_peak(side->processes[i]));
		totals.end += mf_profile_total(side->processes[i]->end);
		totals.allocations += facts->allocations;
		totals.reallocations += facts->reallocations;
		totals.frees += facts->frees;
	}
	return totals;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Prints a change with its sign. */
static void print_change(FILE *out, uint64_t old, uint64_t new, bool bytes)
{
	char text[64];

	if (bytes)
		snprintf(text, sizeof(text), "%s%s", old == new ? "" : new > old ? "+" : "-",
			 mf_quantity_bytes(distance(old, new)).text);
	else
		snprintf(text, sizeof(text), "%s%" PRIu64, old == new ? "" : new > old ? "+" : "-",
			 distance(old, new));
	fprintf(out, "%11s ", text);
}

static void print_number(FILE *out, uint64_t number, bool bytes)
{
	if (bytes)
		fprintf(out, "%10s ", mf_quantity_bytes(number).text);
	else
		fprintf(out, "%10" PRIu64 " ", number);
}

static void print_total(const struct mf_terminal *terminal, const char *what, uint64_t old, uint64_t new, bool bytes)
{
	print_change(terminal->out, old, new, bytes);
	print_number(terminal->out, old, bytes);
	print_number(terminal->out, new, bytes);
	fprintf(terminal->out, " %s", what);
	if (old)
		fprintf(terminal->out, " (%+.2f%%)", 100 * ((double)new - (double)old) / (double)old);
	putc('\n', terminal->out);
}

/* Returns the sample of the process that is compared; NULL if it has none. */
static const struct mf_residency_detail *detail_of(const struct mf_comparison *c, const struct mf_recorded *process)
{
	return mf_resident_detail(&process->profile, c->query->at && strcmp(c->query->at, "end") == 0);
}

/* Returns how many processes of a side have samples of the resident set: those that are killed early have none. */
static size_t count_sampled(const struct mf_comparison *c, unsigned int side)
{
	size_t n = 0;

	for (size_t i = 0; i < c->sides[side].n; i++)
		n += detail_of(c, c->sides[side].processes[i]) != NULL;
	return n;
}

static void print_command(FILE *out, const struct mf_recorded *process)
{
	mf_auto_free char *cmd = strdup(process->facts.cmd);

	if (cmd)
		mf_printable_clean(cmd);
	fprintf(out, "%s\n", cmd ?: "?");
}

static void print_heads(const struct mf_terminal *terminal, const struct mf_comparison *c)
{
	for (int i = MF_COMPARISON_OLD; i < MF_COMPARISON_SIDES; i++) {
		const struct mf_comparison_side *side = &c->sides[i];
		size_t n_sampled = count_sampled(c, (unsigned int)i);

		fprintf(terminal->out, "%s ", i == MF_COMPARISON_OLD ? "old:" : "new:");
		if (side->n == 1)
			print_command(terminal->out, side->processes[0]);
		else
			fprintf(terminal->out, "%zu processes, each at its own peak", side->n);
		if (side->n != 1 && n_sampled && n_sampled < side->n)
			fprintf(terminal->out, "; of %zu there is no sample of the resident set", side->n - n_sampled);
		if (side->n != 1)
			putc('\n', terminal->out);
	}
	fprintf(terminal->out, "\n%s%11s %10s %10s  total%s\n", mf_terminal_bold(terminal), "change", "old", "new",
		mf_terminal_plain(terminal));
}

static void print_totals(const struct mf_terminal *terminal, const struct mf_comparison *c)
{
	const struct totals totals[MF_COMPARISON_SIDES] = {
		totals_of(&c->sides[MF_COMPARISON_OLD]), totals_of(&c->sides[MF_COMPARISON_NEW]),
	};
	const struct totals *old = &totals[MF_COMPARISON_OLD], *new = &totals[MF_COMPARISON_NEW];

	print_total(terminal, "peak", old->peak, new->peak, true);
	print_total(terminal, "held at the end", old->end, new->end, true);
	/* A massif.out file has no calls, and neither has pages mode. */
	if (old->allocations && new->allocations) {
		print_total(terminal, "allocations", old->allocations, new->allocations, false);
		print_total(terminal, "reallocations", old->reallocations, new->reallocations, false);
		print_total(terminal, "frees", old->frees, new->frees, false);
	}
}

/* The largest changes first. */
static int compare_sites(const void *left, const void *right)
{
	const struct mf_site *a = left, *b = right;
	uint64_t change_of_a = distance(a->bytes[MF_COMPARISON_OLD], a->bytes[MF_COMPARISON_NEW]);
	uint64_t change_of_b = distance(b->bytes[MF_COMPARISON_OLD], b->bytes[MF_COMPARISON_NEW]);

	if (change_of_a != change_of_b)
		return change_of_a < change_of_b ? 1 : -1;
	return strcmp(a->label, b->label);
}

static void print_row(const struct mf_terminal *terminal, const uint64_t *numbers, bool bytes)
{
	print_change(terminal->out, numbers[MF_COMPARISON_OLD], numbers[MF_COMPARISON_NEW], bytes);
	print_number(terminal->out, numbers[MF_COMPARISON_OLD], bytes);
	print_number(terminal->out, numbers[MF_COMPARISON_NEW], bytes);
}

static const char *fate_of(const struct mf_site *site)
{
	return !site->bytes[MF_COMPARISON_OLD] ? " (came)" : !site->bytes[MF_COMPARISON_NEW] ? " (went)" : "";
}

/* What the rows are about, if they are not about live bytes. */
static const char *what_of(const struct mf_query *query)
{
	static const char *const resident[] = {
		[MF_RESIDENT_TOUCHED] = ": live blocks on touched pages",
		[MF_RESIDENT_UNTOUCHED] = ": live blocks on pages never touched",
		[MF_RESIDENT_PINNED] = ": free memory in pages that their blocks keep",
	};
	static const char *const counted[MF_COUNTS] = {
		[MF_COUNT_ALLOCATIONS] = ": blocks allocated",
		[MF_COUNT_ALLOCATED] = ": bytes allocated",
		[MF_COUNT_TEMPORARIES] = ": temporary blocks",
		[MF_COUNT_LIVE] = ": blocks live at the end",
	};

	return query->resident ? resident[query->number] : query->counted ? counted[query->count] : "";
}

static void print_sites(const struct mf_terminal *terminal, const struct mf_comparison *c, const struct mf_sites *sites,
			const char *what)
{
	/* --value and --temporary are about the first table only. */
	bool is_first = sites == &c->sites, bytes = !is_first || !c->query->counted || mf_profile_is_in_bytes(c->query->count);
	size_t n = c->query->top ? c->query->top : is_first ? 20 : 10, hidden = 0;
	uint64_t rest[MF_COMPARISON_SIDES] = { 0 }, all[MF_COMPARISON_SIDES] = { 0 };
	FILE *out = terminal->out;

	fprintf(out, "\n%s%11s %10s %10s  %s%s", mf_terminal_bold(terminal), "change", "old", "new",
		mf_sites_by_names[c->query->by_given ? c->query->by : MF_SITES_BY_PLACE], what);
	if (c->query->temporary && is_first)
		fprintf(out, ", freed after at most %" PRIu64 " other allocation%s of their thread",
			mf_details_others(c->query->temporary), c->query->temporary == 1 ? "" : "s");
	fprintf(out, "%s\n", mf_terminal_plain(terminal));
	for (size_t i = 0; i < sites->count; i++) {
		const struct mf_site *site = &sites->list[i];
		uint64_t change = distance(site->bytes[MF_COMPARISON_OLD], site->bytes[MF_COMPARISON_NEW]);

		for (int side = MF_COMPARISON_OLD; side < MF_COMPARISON_SIDES; side++)
			all[side] += site->bytes[side];
		if (!change || change < c->query->min || !n) {
			for (int side = MF_COMPARISON_OLD; side < MF_COMPARISON_SIDES; side++)
				rest[side] += site->bytes[side];
			hidden++;
			continue;
		}
		n--;
		print_row(terminal, site->bytes, bytes);
		putc(' ', out);
		mf_label_print(terminal, site->label, mf_terminal_left(terminal, 43));
		fprintf(out, "%s\n", fate_of(site));
	}
	/* If the sites are inclusive, their bytes add up to more than there are. */
	for (int side = MF_COMPARISON_OLD; side < MF_COMPARISON_SIDES && sites->inclusive; side++)
		all[side] = sites->totals[side];
	if (hidden && sites->inclusive) {
		fprintf(out, "%*s %zu more\n", 34, "", hidden);
	} else if (hidden) {
		print_row(terminal, rest, bytes);
		fprintf(out, " %zu more\n", hidden);
	}
	print_row(terminal, all, bytes);
	fputs(" in all\n", out);
}

/* What the resident sets consisted of: a sum for each band, and after these the whole. */
static void add_up_bands(const struct mf_comparison *c, uint64_t (*sums)[MF_COMPARISON_SIDES])
{
	for (int side = MF_COMPARISON_OLD; side < MF_COMPARISON_SIDES; side++) {
		for (size_t i = 0; i < c->sides[side].n; i++) {
			const struct mf_residency_detail *detail = detail_of(c, c->sides[side].processes[i]);

			for (int band = 0; detail && band < MF_BANDS; band++) {
				sums[band][side] += detail->sample.bands[band];
				sums[MF_BANDS][side] += detail->sample.bands[band];
			}
		}
	}
}

static bool has_samples(const struct mf_comparison *c)
{
	uint64_t sums[MF_BANDS + 1][MF_COMPARISON_SIDES] = { 0 };

	add_up_bands(c, sums);
	return sums[MF_BANDS][MF_COMPARISON_OLD] && sums[MF_BANDS][MF_COMPARISON_NEW];
}

static void print_bands(const struct mf_terminal *terminal, const struct mf_comparison *c)
{
	uint64_t sums[MF_BANDS + 1][MF_COMPARISON_SIDES] = { 0 };
	bool is_end = c->query->at && strcmp(c->query->at, "end") == 0;

	add_up_bands(c, sums);
	fprintf(terminal->out, "\n%s%11s %10s %10s  resident set, in the %s sample%s\n", mf_terminal_bold(terminal), "change",
		"old", "new", is_end ? "last" : "largest", mf_terminal_plain(terminal));
	for (int band = 0; band <= MF_BANDS; band++)
		if (sums[band][MF_COMPARISON_OLD] || sums[band][MF_COMPARISON_NEW])
			print_total(terminal, band < MF_BANDS ? mf_band_names[band].words : "in all",
				    sums[band][MF_COMPARISON_OLD], sums[band][MF_COMPARISON_NEW], true);
	if (c->sides[MF_COMPARISON_OLD].n > 1 || c->sides[MF_COMPARISON_NEW].n > 1)
		fputs("A page that several processes share is counted for each of them.\n", terminal->out);
}

static bool has_touches(const struct mf_comparison *c, int side)
{
	for (size_t i = 0; i < c->sides[side].n; i++) {
		const struct mf_residency_detail *detail = detail_of(c, c->sides[side].processes[i]);

		if (detail && c->sides[side].processes[i]->profile.touches && detail->n_touches)
			return true;
	}
	return false;
}

/* Adds what each site has touched first of the process's sample. */
static int add_touches(struct mf_comparison *c, const struct mf_moment *of_heap, const struct mf_residency_detail *detail,
		       enum mf_sites_by by, unsigned int side, struct mf_error *err)
{
	struct mf_moment moment = *of_heap;
	struct mf_touched_leaves leaves;
	struct mf_profile profile;
	int code = mf_touched_leaves_make(&leaves, detail, MF_TOUCHED_ALL, err);

	mf_touched_moment(&moment, of_heap->profile->touches, &profile);
	moment.snapshot = &leaves.snapshot;
	code = code ?: mf_sites_add(&c->touched, &moment, by, side, err);
	mf_touched_leaves_deinit(&leaves);
	return code;
}

/* Adds a number of each site in the process's sample. */
static int add_resident(struct mf_comparison *c, struct mf_sites *sites, const struct mf_moment *moment,
			const struct mf_residency_detail *detail, enum mf_resident_number number, enum mf_sites_by by,
			unsigned int side, struct mf_error *err)
{
	struct mf_counted counted;
	int code = mf_counted_init_resident(&counted, moment, detail, number, err);

	if (!code)
		code = mf_sites_add(sites, &counted.moment, by, side, err);
	mf_counted_deinit(&counted);
	return code;
}

/* Adds the bytes of @moment, or the numbers that --value names. */
static int add_moment(struct mf_comparison *c, const struct mf_recorded *process, const struct mf_moment *moment,
		      enum mf_sites_by by, unsigned int side, struct mf_error *err)
{
	struct mf_counted counted;
	int code;

	if (c->query->resident) {
		const struct mf_residency_detail *detail = detail_of(c, process);

		return detail ? add_resident(c, &c->sites, moment, detail, c->query->number, by, side, err) : 0;
	}
	if (!c->query->counted)
		return mf_sites_add(&c->sites, moment, by, side, err);
	if (!moment->profile->counts)
		return mf_error_set(err, -ENODATA, "--value: a file has no calls: it is of pages mode, or a massif.out file");
	code = mf_counted_init(&counted, moment, c->query->count, err);
	if (!code)
		code = mf_sites_add(&c->sites, &counted.moment, by, side, err);
	mf_counted_deinit(&counted);
	return code;
}

static int add_sites(struct mf_comparison *c, unsigned int side, struct mf_error *err)
{
	enum mf_sites_by by = c->query->by_given ? c->query->by : MF_SITES_BY_PLACE;
	bool with_pinned = has_samples(c) && !c->query->resident;
	bool with_touches = with_pinned && has_touches(c, MF_COMPARISON_OLD) && has_touches(c, MF_COMPARISON_NEW);

	if (c->query->resident && !count_sampled(c, side))
		return mf_error_set(err, -ENODATA, "--value: a file has no samples of the resident set: make the recording "
						   "with massif-ctl record --rss=yes");
	for (size_t i = 0; i < c->sides[side].n; i++) {
		struct mf_recorded *process = c->sides[side].processes[i];
		const struct mf_moment moment = {
			.profile = &process->profile,
			.snapshot = mf_query_snapshot(c->query, process, err),
			.options = &c->query->options.report,
			.symbolizer = process->symbolizer,
			.process = process->facts.name,
			.is_compared = true,
			.without_lines = true,
		};
		const struct mf_residency_detail *detail = with_pinned ? detail_of(c, process) : NULL;
		int code = moment.snapshot ? add_moment(c, process, &moment, by, side, err) : -ESRCH;

		if (!code && detail)
			code = add_resident(c, &c->pinned, &moment, detail, MF_RESIDENT_PINNED, by, side, err);
		if (!code && detail && with_touches && process->profile.touches)
			code = add_touches(c, &moment, detail, by, side, err);
		if (code)
			return code;
	}
	return 0;
}

static void sort(const struct mf_comparison *c, struct mf_sites *sites)
{
	mf_sites_keep(sites, mf_query_filter(c->query));
	if (sites->count)
		qsort(sites->list, sites->count, sizeof(*sites->list), compare_sites);
}

int mf_comparison_make(struct mf_comparison *c, struct mf_error *err)
{
	int code = add_sites(c, MF_COMPARISON_OLD, err) ?: add_sites(c, MF_COMPARISON_NEW, err);

	if (code)
		return code;
	sort(c, &c->sites);
	sort(c, &c->pinned);
	sort(c, &c->touched);
	return 0;
}

/* Returns whether @new is larger than @old by more than --tolerance allows. */
static bool has_grown(const struct mf_query *query, uint64_t old, uint64_t new)
{
	return new > old && (double)(new - old) > (double)old * query->tolerance / 100;
}

bool mf_comparison_has_grown(const struct mf_comparison *c)
{
	const struct totals old = totals_of(&c->sides[MF_COMPARISON_OLD]), new = totals_of(&c->sides[MF_COMPARISON_NEW]);

	return has_grown(c->query, old.peak, new.peak) || has_grown(c->query, old.end, new.end);
}

void mf_comparison_print(const struct mf_terminal *terminal, const struct mf_comparison *c)
{
	print_heads(terminal, c);
	print_totals(terminal, c);
	print_sites(terminal, c, &c->sites, what_of(c->query));
	if (has_samples(c)) {
		print_bands(terminal, c);
		if (c->pinned.count)
			print_sites(terminal, c, &c->pinned, ": free memory in pages that their blocks keep");
		if (c->touched.count)
			print_sites(terminal, c, &c->touched, ": resident pages that they touched first");
	}
	fprintf(terminal->out, "\n%s\n", mf_comparison_has_grown(c) ? "The peak or the end has grown." :
								     "Neither the peak nor the end has grown.");
}

void mf_comparison_deinit(struct mf_comparison *c)
{
	mf_sites_deinit(&c->sites);
	mf_sites_deinit(&c->pinned);
	mf_sites_deinit(&c->touched);
}
