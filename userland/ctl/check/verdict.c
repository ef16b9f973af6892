// SPDX-License-Identifier: GPL-2.0
// Verdicts: whether processes keep to their budgets.

#include "verdict.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pattern.h"
#include "base/printable.h"
#include "ctl/message/quantity.h"
#include "ctl/query/label.h"
#include "report/location.h"
#include "report/runtime.h"
#include "report/sites.h"
#include "report/touched.h"

#define SITES_SHOWN   5u
#define LABEL_COLUMNS 100u /* longer names are shortened, but not cut */

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

static bool is_of_part(const struct mf_budget *budget, const struct mf_call *call,
		       const struct mf_report_options *options)
{
	const struct mf_location *location = call->location;

	switch (budget->part) {
	case MF_PART_FUNCTION:
		return mf_pattern_matches_text(budget->pattern, mf_location_function(location->function, options));
	case MF_PART_FILE:
		return mf_pattern_matches_text(budget->pattern, location->file);
	case MF_PART_LIBRARY:
		/* A pattern with a slash is for the whole path. */
		return mf_pattern_matches_text(budget->pattern, strchr(budget->pattern, '/') ? location->object :
									       base_name(location->object));
	default:
		return true;
	}
}

/* A measurement: the stacks that count for a budget, of those that have any of what is measured. */
struct measurement {
	const struct mf_check *check;
	const struct mf_budget *budget;
	const struct mf_check_process *process;
	struct mf_leaf *leaves; /* the stacks that count, with bytes or numbers of blocks */
	size_t n_leaves;
	uint64_t sum;
};

/* In pages mode, what the loader maps stays, too, but is part of what the program needs. */
static bool is_known_leak(const struct measurement *m, const struct mf_moment_stack *stack)
{
	const struct mf_suppressions *embedded = m->process->embedded;

	return (!m->process->profile->pages && mf_runtime_keeps(stack)) ||
	       mf_suppressions_match(&m->check->suppressions, stack) ||
	       (embedded && mf_suppressions_match(embedded, stack));
}

static bool counts(const struct measurement *m, const struct mf_moment_stack *stack)
{
	if (m->budget->measure == MF_MEASURE_LEAK_SITES && is_known_leak(m, stack))
		return false;
	if (m->budget->part == MF_PART_ALL)
		return true;
	for (size_t i = 0; i < stack->n; i++)
		if (is_of_part(m->budget, &stack->calls[i], m->process->options))
			return true;
	return false;
}

static int take_stack(void *data, const struct mf_moment_stack *stack, struct mf_error *err)
{
	struct measurement *m = data;

	if (!counts(m, stack))
		return 0;
	m->leaves[m->n_leaves++] = (struct mf_leaf){ .context = stack->context, .bytes = stack->bytes };
	m->sum += stack->bytes;
	return 0;
}

/* The counts of a measure that is counted. */
static const enum mf_count counts_of_measures[MF_MEASURES] = {
	[MF_MEASURE_ALLOCATIONS] = MF_COUNT_ALLOCATIONS,
	[MF_MEASURE_ALLOCATED] = MF_COUNT_ALLOCATED,
	[MF_MEASURE_TEMPORARY] = MF_COUNT_TEMPORARIES,
};

/* Returns the sample that @measure is about, of a process that has samples. */
static const struct mf_residency_detail *detail_of(const struct mf_check_process *process, enum mf_measure measure)
{
	const struct mf_residency *residency = process->profile->residency;

	return mf_measure_kinds[measure].last ? &residency->last : &residency->peak;
}

static size_t list_resident(const struct mf_check_process *process, enum mf_measure measure, struct mf_leaf *leaves)
{
	const struct mf_residency_detail *detail = detail_of(process, measure);
	size_t n = 0;

	for (size_t i = 0; i < detail->n_sites && detail->sites[i].context < process->profile->n_contexts; i++) {
		uint64_t bytes = mf_resident_number(&detail->sites[i], mf_measure_kinds[measure].number);

		if (bytes)
			leaves[n++] = (struct mf_leaf){ .context = detail->sites[i].context, .bytes = bytes };
	}
	return n;
}

/* Lists the stacks that have any of @measure in @leaves, which has room for all contexts. Returns how many these are. */
static size_t list_leaves(const struct mf_check_process *process, enum mf_measure measure, struct mf_leaf *leaves)
{
	const struct mf_profile *profile = process->profile;
	const struct mf_profile_snapshot *snapshot;

	if (mf_measure_kinds[measure].by_site)
		return list_resident(process, measure, leaves);
	if (mf_measure_kinds[measure].counted)
		return mf_profile_list_counts(profile, counts_of_measures[measure], leaves);
	snapshot = measure == MF_MEASURE_PEAK ? mf_profile_peak(profile, process->end) : process->end;
	if (snapshot->n_leaves)
		memcpy(leaves, snapshot->leaves, snapshot->n_leaves * sizeof(*leaves));
	return snapshot->n_leaves;
}

/* Makes a moment of stacks that have any of @measure; @touched has the profile of first touches then, if it is needed. */
static struct mf_moment moment_of(const struct mf_check_process *process, enum mf_measure measure,
				  const struct mf_profile_snapshot *snapshot, struct mf_profile *touched)
{
	struct mf_moment moment = { process->profile, snapshot, process->options, process->symbolizer };

	if (mf_measure_kinds[measure].touches)
		mf_touched_moment(&moment, process->profile->touches, touched);
	return moment;
}

static int measure_touches(struct measurement *m, enum mf_measure measure, struct mf_error *err)
{
	struct mf_touched_leaves touched;
	struct mf_profile profile;
	const struct mf_moment moment = moment_of(m->process, measure, &touched.snapshot, &profile);
	int code = mf_touched_leaves_make(&touched, detail_of(m->process, measure), MF_TOUCHED_ALL, err);

	code = code ?: mf_moment_each(&moment, take_stack, m, err);
	mf_touched_leaves_deinit(&touched);
	return code;
}

/* Measures @measure for the stacks that the budget is for. */
static int measure_stacks(struct measurement *m, enum mf_measure measure, struct mf_error *err)
{
	const struct mf_check_process *process = m->process;
	mf_auto_free struct mf_leaf *leaves = calloc(process->profile->n_contexts + 1, sizeof(*leaves));
	const struct mf_profile_snapshot snapshot = {
		.leaves = leaves,
		.n_leaves = leaves && !mf_measure_kinds[measure].touches ? list_leaves(process, measure, leaves) : 0,
		.n_seen = process->profile->n_contexts,
	};
	const struct mf_moment moment = { process->profile, &snapshot, process->options, process->symbolizer };

	m->sum = 0;
	m->n_leaves = 0;
	if (!leaves)
		return mf_error_set(err, -ENOMEM, "out of memory");
	if (mf_measure_kinds[measure].touches)
		return measure_touches(m, measure, err);
	return mf_moment_each(&moment, take_stack, m, err);
}

static int compare_sites(const void *left, const void *right)
{
	const struct mf_site *a = left, *b = right;

	if (a->bytes[0] != b->bytes[0])
		return a->bytes[0] < b->bytes[0] ? 1 : -1;
	return strcmp(a->label, b->label);
}

static void print_site(FILE *out, const struct mf_site *site, enum mf_measure_unit unit)
{
	mf_auto_free char *label = strdup(site->label);

	if (label)
		mf_label_shorten(label, LABEL_COLUMNS);
	if (unit == MF_UNIT_BYTES)
		fprintf(out, "%10s  %s\n", mf_quantity_bytes(site->bytes[0]).text, label ?: "?");
	else
		fprintf(out, "%10" PRIu64 "  %s\n", site->bytes[0], label ?: "?");
}

/* Returns the sites of the measured stacks, those with most first, in lines. */
static char *print_sites(const struct mf_sites *sites, enum mf_measure_unit unit)
{
	mf_auto_free char *text = NULL;
	uint64_t rest = 0;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (size_t i = 0; i < sites->count; i++) {
		if (i < SITES_SHOWN)
			print_site(out, &sites->list[i], unit);
		else
			rest += sites->list[i].bytes[0];
	}
	if (sites->count > SITES_SHOWN) {
		struct mf_site others = { .label = "in other places", .bytes = { rest } };

		print_site(out, &others, unit);
	}
	return fclose(out) == 0 ? mf_take(text, NULL) : NULL;
}

/* Adds up the measured stacks by sites. */
static int find_sites(const struct measurement *m, struct mf_sites *sites, struct mf_error *err)
{
	const struct mf_profile_snapshot snapshot = { .leaves = m->leaves, .n_leaves = m->n_leaves };
	struct mf_profile touched;
	const struct mf_moment moment = moment_of(m->process, m->budget->measure, &snapshot, &touched);
	int code = mf_sites_add(sites, &moment, MF_SITES_BY_SITE, 0, err);

	if (!code && sites->count)
		qsort(sites->list, sites->count, sizeof(*sites->list), compare_sites);
	return code;
}

static uint64_t sum_of_bands(const struct mf_residency_detail *detail, uint32_t bands)
{
	uint64_t sum = 0;

	for (int i = 0; i < MF_BANDS; i++)
		sum += bands & (1u << i) ? detail->sample.bands[i] : 0;
	return sum;
}

/* Adds the bands that count, as if they were sites. */
static int find_bands(const struct measurement *m, struct mf_sites *sites, struct mf_error *err)
{
	const struct mf_residency_detail *detail = detail_of(m->process, m->budget->measure);

	sites->list = calloc(MF_BANDS, sizeof(*sites->list));
	if (!sites->list)
		return mf_error_set(err, -ENOMEM, "out of memory");
	for (int i = 0; i < MF_BANDS; i++) {
		const struct mf_site site = { .label = mf_band_names[i].words, .bytes = { detail->sample.bands[i] } };

		if (site.bytes[0] && mf_measure_kinds[m->budget->measure].bands & (1u << i))
			sites->list[sites->count++] = site;
	}
	qsort(sites->list, sites->count, sizeof(*sites->list), compare_sites);
	return 0;
}

/* Returns what all of a process has of @measure, apart from stacks that are not shown; see --ignore-fn. */
static uint64_t whole_of(const struct mf_check_process *process, enum mf_measure measure)
{
	uint64_t sum = 0;

	if (mf_measure_kinds[measure].bands)
		return sum_of_bands(detail_of(process, measure), mf_measure_kinds[measure].bands);
	if (measure == MF_MEASURE_PEAK)
		return mf_profile_total(mf_profile_peak(process->profile, process->end));
	if (measure == MF_MEASURE_END)
		return mf_profile_total(process->end);
	for (size_t i = 0; i < process->profile->n_contexts; i++)
		sum += mf_profile_count(&process->profile->counts[i], counts_of_measures[measure]);
	return sum;
}

/* Finds how much of @measure the budget is for: that of its stacks, or of the process as a whole. */
static int find_sum(struct measurement *m, enum mf_measure measure, uint64_t *sum, struct mf_error *err)
{
	int code = 0;

	if (m->budget->part == MF_PART_ALL && measure != MF_MEASURE_LEAK_SITES && !mf_measure_kinds[measure].by_site &&
	    !mf_measure_kinds[measure].touches) {
		*sum = whole_of(m->process, measure);
		return 0;
	}
	code = measure_stacks(m, measure, err);
	*sum = m->sum;
	return code;
}

/* Finds the number to compare with the limit. */
static int find_value(struct measurement *m, double *value, struct mf_error *err)
{
	__attribute__((cleanup(mf_sites_deinit))) struct mf_sites sites = { 0 };
	const struct mf_budget *budget = m->budget;
	uint64_t sum, all = 0;
	int code = find_sum(m, budget->measure, &sum, err);

	if (!code && budget->measure == MF_MEASURE_LEAK_SITES) {
		code = find_sites(m, &sites, err);
		sum = sites.count;
	}
	if (!code && budget->percent)
		code = find_sum(m, MF_MEASURE_ALLOCATIONS, &all, err);
	*value = budget->percent ? mf_quantity_share(sum, all) : (double)sum;
	return code;
}

/* Sets the verdict's list of the sites that have most of what was measured. */
static int explain(struct measurement *m, struct mf_verdict *verdict, struct mf_error *err)
{
	__attribute__((cleanup(mf_sites_deinit))) struct mf_sites sites = { 0 };
	enum mf_measure measure = m->budget->measure;
	int code = 0;

	if (mf_measure_kinds[measure].bands) {
		code = find_bands(m, &sites, err);
	} else {
		code = measure_stacks(m, measure, err);
		if (!code)
			code = find_sites(m, &sites, err);
	}
	if (code)
		return code;
	verdict->sites = print_sites(&sites, measure == MF_MEASURE_LEAK_SITES ? MF_UNIT_BYTES :
										mf_measure_kinds[measure].unit);
	return verdict->sites ? 0 : mf_error_set(err, -ENOMEM, "out of memory");
}

static int measure(struct measurement *m, struct mf_verdict *verdict, struct mf_error *err)
{
	int code = find_value(m, &verdict->measured, err);

	if (code)
		return code;
	verdict->over = verdict->measured > m->budget->limit;
	return verdict->over ? explain(m, verdict, err) : 0;
}

/* Returns why the budget's measure is not known of the process, or NULL. */
static const char *why_unknown(const struct mf_budget *budget, const struct mf_check_process *process)
{
	bool is_peak = budget->measure == MF_MEASURE_PEAK && budget->part == MF_PART_ALL;

	if (mf_measure_is_sampled(budget->measure) && !(process->profile->residency && process->profile->residency->n_samples))
		return "the resident set was not sampled; record with massif-ctl record --rss=yes; of a process that ends "
		       "at once there may be no sample";
	if (mf_measure_kinds[budget->measure].touches && !process->profile->touches)
		return "massif.ko did not record which code touched the pages; see massif-ctl doctor, and record "
		       "--rss=module";
	if (mf_measure_is_sampled(budget->measure))
		return NULL;
	if (!process->facts->version && !is_peak)
		return "a massif.out file has only the peak as a whole; check a recording (massif-ctl record)";
	if (mf_measure_kinds[budget->measure].counted && !process->profile->counts)
		return "in pages mode, allocations are not counted";
	return NULL;
}

static bool make_room(struct mf_verdicts *verdicts)
{
	size_t room = verdicts->room ? verdicts->room * 2 : 16;
	struct mf_verdict *list;

	if (verdicts->count < verdicts->room)
		return true;
	list = reallocarray(verdicts->list, room, sizeof(*list));
	if (!list)
		return false;
	verdicts->list = list;
	verdicts->room = room;
	return true;
}

char *mf_verdicts_name(const struct mf_facts *facts)
{
	bool is_known = facts->pid && facts->name && *facts->name;
	char *name = strdup(is_known ? facts->name : "the program");

	if (name)
		mf_printable_clean(name);
	return name;
}

static void release(struct mf_verdict *verdict)
{
	free(verdict->process);
	free(verdict->sites);
}

static int judge(struct mf_verdicts *verdicts, struct measurement *m, struct mf_error *err)
{
	__attribute__((cleanup(release))) struct mf_verdict verdict = { .budget = m->budget, .pid = m->process->facts->pid };
	const char *why = why_unknown(m->budget, m->process);
	int code;

	verdict.process = mf_verdicts_name(m->process->facts);
	if (!verdict.process || !make_room(verdicts))
		return mf_error_set(err, -ENOMEM, "out of memory");
	if (why && verdict.pid)
		return mf_error_set(err, -ENODATA, "'%.400s' cannot be checked for %.200s (pid %" PRIu64 "): %s",
				    m->budget->text, verdict.process, verdict.pid, why);
	if (why)
		return mf_error_set(err, -ENODATA, "'%.400s' cannot be checked: %s", m->budget->text, why);
	code = measure(m, &verdict, err);
	if (code)
		return code;
	verdicts->n_over += verdict.over;
	verdicts->list[verdicts->count++] = mf_take(verdict, (struct mf_verdict){ 0 });
	return 0;
}

int mf_verdicts_add(struct mf_verdicts *verdicts, const struct mf_check *check,
		    const struct mf_check_process *process, struct mf_error *err)
{
	const struct mf_first_touches *touches = process->profile->touches;
	size_t n = process->profile->n_contexts, n_touching = touches ? touches->profile->n_contexts : 0;
	mf_auto_free struct mf_leaf *leaves = calloc((n > n_touching ? n : n_touching) + 1, sizeof(*leaves));
	int code = leaves ? 0 : mf_error_set(err, -ENOMEM, "out of memory");

	for (size_t i = 0; i < check->budgets.count && !code; i++) {
		const struct mf_budget *budget = &check->budgets.list[i];
		struct measurement m = { .check = check, .budget = budget, .process = process, .leaves = leaves };

		if (!budget->program || mf_pattern_matches_text(budget->program, process->facts->name))
			code = judge(verdicts, &m, err);
	}
	verdicts->lost |= process->facts->lost != 0;
	return code;
}

static bool has_verdict(const struct mf_verdicts *verdicts, const struct mf_budget *budget)
{
	for (size_t i = 0; i < verdicts->count; i++)
		if (verdicts->list[i].budget == budget)
			return true;
	return false;
}

int mf_verdicts_finish(struct mf_verdicts *verdicts, const struct mf_check *check, struct mf_error *err)
{
	for (size_t i = 0; i < check->budgets.count; i++) {
		const struct mf_budget *budget = &check->budgets.list[i];

		if (has_verdict(verdicts, budget))
			continue;
		if (!make_room(verdicts))
			return mf_error_set(err, -ENOMEM, "out of memory");
		verdicts->list[verdicts->count++] = (struct mf_verdict){ .budget = budget };
		verdicts->n_skipped++;
	}
	return 0;
}

void mf_verdicts_deinit(struct mf_verdicts *verdicts)
{
	for (size_t i = 0; i < verdicts->count; i++)
		release(&verdicts->list[i]);
	free(verdicts->list);
	*verdicts = (struct mf_verdicts){ 0 };
}
