// SPDX-License-Identifier: GPL-2.0
// Writes profiles as JSON: the stacks, the snapshots with the bytes of each stack, and a table of calls.

#include "report/json_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/call_table.h"
#include "report/json_text.h"
#include "report/massif_file.h"
#include "report/moment.h"
#include "report/sites.h"
#include "report/touched.h"

struct writer {
	FILE *out;
	const struct mf_profile *profile;
	const struct mf_report_options *options;
	struct mf_symbolizer *symbolizer;
	struct mf_call_table calls;
	uint32_t *stacks; /* the number of each context's stack in the file, plus 1; 0: it has none */
	uint32_t n_stacks;
};

static int take_stack(void *data, const struct mf_moment_stack *stack, struct mf_error *err)
{
	struct writer *w = data;

	/* Notice early that the disk is full. */
	if (ferror(w->out))
		return mf_massif_file_end(w->out, err);
	fputs(w->n_stacks ? ",\n[" : "[", w->out);
	for (size_t i = 0; i < stack->n; i++) {
		uint32_t number = mf_call_table_number(&w->calls, &stack->calls[i]);

		if (number == UINT32_MAX)
			return mf_error_set(err, -ENOMEM, "out of memory");
		fprintf(w->out, "%s%" PRIu32, i ? "," : "", number);
	}
	putc(']', w->out);
	w->stacks[stack->context] = ++w->n_stacks;
	return 0;
}

static int print_stacks(struct writer *w, struct mf_error *err)
{
	const struct mf_moment moment = { .profile = w->profile, .options = w->options, .symbolizer = w->symbolizer };
	int code;

	fputs(",\n\"stacks\":[\n", w->out);
	code = mf_moment_each_of_all(&moment, take_stack, w, err);
	fputs("]", w->out);
	return code;
}

static void print_calls(const struct writer *w)
{
	fputs(",\n\"calls\":[", w->out);
	for (size_t i = 0; i < w->calls.count; i++) {
		const struct mf_call *call = &w->calls.calls[i];
		const struct mf_location *location = call->location;
		char text[32];

		fputs(i ? ",\n{\"function\":" : "\n{\"function\":", w->out);
		mf_json_print_text(w->out, mf_call_name(call, w->options, text));
		fputs(",\"file\":", w->out);
		mf_json_print_text(w->out, location->file);
		fprintf(w->out, ",\"line\":%u,\"object\":", location->file ? location->line : 0);
		mf_json_print_text(w->out, location->object);
		fprintf(w->out, ",\"address\":%" PRIu64 "}", call->frame.pc);
	}
	fputs("]", w->out);
}

static void print_blocks(const struct writer *w, const struct mf_profile_snapshot *snapshot)
{
	bool first = true;

	fputs(",\"blocks\":[", w->out);
	for (size_t i = 0; i < snapshot->n_leaves; i++) {
		const struct mf_leaf *leaf = &snapshot->leaves[i];

		if (!w->stacks[leaf->context])
			continue;
		fprintf(w->out, "%s[%" PRIu32 ",%" PRIu32 "]", first ? "" : ",", w->stacks[leaf->context] - 1, leaf->blocks);
		first = false;
	}
	putc(']', w->out);
}

static void print_snapshot(const struct writer *w, const struct mf_profile_snapshot *snapshot)
{
	bool first = true;

	fprintf(w->out, "{\"time\":%" PRId64 ",\"heap_bytes\":%" PRIu64 ",\"extra_bytes\":%" PRIu64 ",\"stack_bytes\":%" PRIu64
			",\"tree\":\"%s\"",
		snapshot->time, snapshot->heap_bytes, snapshot->extra_bytes, snapshot->stack_bytes,
		mf_massif_file_trees[snapshot->tree]);
	if (snapshot->tree != MF_TREE_EMPTY) {
		fputs(",\"bytes\":[", w->out);
		for (size_t i = 0; i < snapshot->n_leaves; i++) {
			const struct mf_leaf *leaf = &snapshot->leaves[i];

			if (!w->stacks[leaf->context])
				continue;
			fprintf(w->out, "%s[%" PRIu32 ",%" PRIu64 "]", first ? "" : ",", w->stacks[leaf->context] - 1,
				leaf->bytes);
			first = false;
		}
		putc(']', w->out);
	}
	if (snapshot->has_blocks)
		print_blocks(w, snapshot);
	putc('}', w->out);
}

static void print_counts(const struct writer *w)
{
	bool first = true;

	fputs(",\n\"counts\":[", w->out);
	for (size_t i = 0; i < w->profile->n_contexts; i++) {
		const struct mf_counts *counts = &w->profile->counts[i];

		if (!w->stacks[i])
			continue;
		fprintf(w->out, "%s[%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", first ? "\n" : ",\n",
			w->stacks[i] - 1, counts->allocations, counts->allocated, counts->temporaries, counts->live);
		first = false;
	}
	putc(']', w->out);
}

/* Prints pairs of the largest number in a class, which @top returns, and how many blocks the class has. */
static void print_classes(const struct writer *w, const char *name, const struct mf_class_count *classes, uint32_t n,
			  uint64_t (*top)(uint32_t class))
{
	fprintf(w->out, ",\"%s\":[", name);
	for (uint32_t i = 0; i < n; i++)
		fprintf(w->out, "%s[%" PRIu64 ",%" PRIu64 "]", i ? "," : "", top(classes[i].class), classes[i].count);
	putc(']', w->out);
}

static void print_details(const struct writer *w)
{
	bool first = true;

	fprintf(w->out, ",\n\"details_lost\":%" PRIu64 ",\n\"details\":[", w->profile->details_lost);
	for (size_t i = 0; i < w->profile->n_contexts; i++) {
		const struct mf_context_details *details = &w->profile->details[i];

		if (!w->stacks[i])
			continue;
		fprintf(w->out, "%s{\"stack\":%" PRIu32 ",\"largest\":%" PRIu64, first ? "\n" : ",\n", w->stacks[i] - 1,
			details->largest);
		print_classes(w, "sizes", details->sizes, details->n_sizes, mf_size_class_top);
		print_classes(w, "lifetimes", details->lifetimes, details->n_lifetimes, mf_size_class_top);
		if (w->profile->has_ages)
			print_classes(w, "lifetimes_in_allocations", details->ages, details->n_ages, mf_details_others);
		putc('}', w->out);
		first = false;
	}
	putc(']', w->out);
}

/* The threads, and the number of the thread of each stack. */
static void print_threads(const struct writer *w)
{
	const struct mf_profile *profile = w->profile;
	bool first = true;

	fputs(",\n\"threads\":[", w->out);
	for (size_t i = 0; i < profile->n_threads; i++) {
		fprintf(w->out, "%s{\"tid\":%" PRIu64 ",\"name\":", i ? ",\n" : "\n", profile->threads[i].tid);
		mf_json_print_text(w->out, profile->threads[i].name);
		putc('}', w->out);
	}
	fputs("],\n\"stack_threads\":[", w->out);
	for (size_t i = 0; i < profile->n_contexts; i++) {
		if (!w->stacks[i])
			continue;
		fprintf(w->out, "%s%" PRIu32, first ? "" : ",", profile->context_threads[i]);
		first = false;
	}
	putc(']', w->out);
}

static void print_head(const struct writer *w)
{
	fputs("{\"format\":\"massif\",\"version\":1,\"cmd\":", w->out);
	mf_json_print_text(w->out, w->profile->cmd);
	fputs(",\"options\":", w->out);
	mf_json_print_text(w->out, w->profile->desc);
	fprintf(w->out, ",\"time_unit\":\"%s\",\"pages\":%s", mf_massif_file_units[w->profile->time_unit],
		w->profile->pages ? "true" : "false");
}

/* The allocation functions, and which of them each stack has called. */
static void print_functions(const struct writer *w)
{
	const struct mf_profile *profile = w->profile;
	bool first = true;

	fputs(",\n\"allocators\":[", w->out);
	for (size_t i = 0; i < MF_FUNCTIONS; i++) {
		fputs(i ? "," : "", w->out);
		mf_json_print_text(w->out, mf_sites_functions[i]);
	}
	fputs("],\n\"stack_allocators\":[", w->out);
	for (size_t i = 0; i < profile->n_contexts; i++) {
		if (!w->stacks[i])
			continue;
		fprintf(w->out, "%s%u", first ? "" : ",", profile->functions[i]);
		first = false;
	}
	putc(']', w->out);
}

/* What each thread has allocated, if no stacks of each thread are known. */
static void print_thread_totals(const struct writer *w)
{
	const struct mf_profile *profile = w->profile;

	fputs(",\n\"thread_totals\":[", w->out);
	for (size_t i = 0; i < profile->n_thread_totals; i++) {
		const struct mf_thread_total *total = &profile->thread_totals[i];

		fprintf(w->out, "%s{\"tid\":%" PRIu64 ",\"name\":", i ? ",\n" : "\n", total->thread.tid);
		mf_json_print_text(w->out, total->thread.name);
		fprintf(w->out, ",\"allocations\":%" PRIu64 ",\"allocated\":%" PRIu64 ",\"temporary\":%" PRIu64 "}",
			total->sums.allocations, total->sums.allocated, total->sums.temporaries);
	}
	putc(']', w->out);
}

static void print_sample(const struct writer *w, const struct mf_residency_sample *sample)
{
	fprintf(w->out, "\"time_ms\":%" PRIu64 ",\"took_us\":%" PRIu64 ",\"rss\":%" PRIu64 ",\"bands\":{", sample->time_ms,
		sample->took_us, mf_residency_rss(sample));
	for (int i = 0; i < MF_BANDS; i++)
		fprintf(w->out, "%s\"%s\":%" PRIu64, i ? "," : "", mf_band_names[i].key, sample->bands[i]);
	fprintf(w->out, "},\"mapped\":%" PRIu64 ",\"swapped\":%" PRIu64 ",\"pss\":%" PRIu64 ",\"huge\":%" PRIu64
			",\"untouched\":%" PRIu64 ",\"heap_swapped\":%" PRIu64,
		sample->mapped, sample->swapped, sample->pss, sample->huge, sample->untouched, sample->heap_swapped);
}

/* A sample with its sites: their stacks, live bytes, bytes never touched, and free bytes that they keep. */
static void print_sites(const struct writer *w, const char *before, const struct mf_residency_detail *detail)
{
	bool first = true;

	fprintf(w->out, "%s{", before);
	print_sample(w, &detail->sample);
	fputs(",\"fillings\":[", w->out);
	for (int i = 0; i < MF_FILLINGS; i++)
		fprintf(w->out, "%s%" PRIu64, i ? "," : "", detail->fillings[i]);
	fputs("],\"sites\":[", w->out);
	for (size_t i = 0; i < detail->n_sites; i++) {
		const struct mf_residency_site *site = &detail->sites[i];

		if (!w->stacks[site->context])
			continue;
		fprintf(w->out, "%s[%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", first ? "\n" : ",\n",
			w->stacks[site->context] - 1, site->live, site->untouched, site->pinned);
		first = false;
	}
	fputs("]}", w->out);
}

/* The first touches of a sample: the part of the resident set, the number of the stack, and the bytes. */
static void print_touches_of(const struct writer *w, const char *before, const struct mf_residency_detail *detail)
{
	bool first = true;

	fprintf(w->out, "%s{\"counted\":%" PRIu64 ",\"bytes\":[", before, detail->counted);
	for (size_t i = 0; i < detail->n_touches; i++) {
		const struct mf_residency_touch *touch = &detail->touches[i];

		if (!w->stacks[touch->context])
			continue;
		fprintf(w->out, "%s[\"%s\",%" PRIu32 ",%" PRIu64 "]", first ? "\n" : ",\n", mf_band_names[touch->band].key,
			w->stacks[touch->context] - 1, touch->bytes);
		first = false;
	}
	fputs("]}", w->out);
}

static void add_touches(struct mf_residency_detail *all, const struct mf_residency_detail *detail)
{
	if (detail->n_touches)
		memcpy(all->touches + all->n_touches, detail->touches, detail->n_touches * sizeof(*all->touches));
	all->n_touches += detail->n_touches;
}

/* The stacks that have touched pages of any sample. */
static int print_touching_stacks(struct writer *w, const struct mf_residency *residency, struct mf_error *err)
{
	size_t n = residency->peak.n_touches + residency->last.n_touches;
	struct mf_touched_leaves leaves = { 0 };
	const struct mf_moment moment = { w->profile, &leaves.snapshot, w->options, w->symbolizer };
	struct mf_residency_detail all = { 0 };
	int code;

	for (size_t i = 0; i < residency->n_moments; i++)
		n += residency->moments[i].n_touches;
	all.touches = calloc(n + 1, sizeof(*all.touches));
	if (!all.touches)
		return mf_error_set(err, -ENOMEM, "out of memory");
	add_touches(&all, &residency->peak);
	add_touches(&all, &residency->last);
	for (size_t i = 0; i < residency->n_moments; i++)
		add_touches(&all, &residency->moments[i]);
	code = mf_touched_leaves_make(&leaves, &all, MF_TOUCHED_ALL | 1u << MF_BAND_MASSIF, err);
	fputs(",\"stacks\":[\n", w->out);
	code = code ?: mf_moment_each(&moment, take_stack, w, err);
	putc(']', w->out);
	mf_touched_leaves_deinit(&leaves);
	free(all.touches);
	return code;
}

/* Prints who touched the pages first, with stacks and calls of their own. */
static int print_touches(const struct writer *w, struct mf_error *err)
{
	const struct mf_residency *residency = w->profile->residency;
	const struct mf_first_touches *touches = w->profile->touches;
	struct writer its = { w->out, touches->profile, w->options, touches->symbolizer, .stacks = NULL };
	int code;

	its.stacks = calloc(its.profile->n_contexts + 1, sizeof(*its.stacks));
	if (!its.stacks)
		return mf_error_set(err, -ENOMEM, "out of memory");
	fprintf(w->out, ",\n\"touches\":{\"peak\":%" PRIu64 ",\"peak_ms\":%" PRIu64 ",\"lost\":%" PRIu64, touches->peak,
		touches->peak_ms, touches->lost);
	code = print_touching_stacks(&its, residency, err);
	print_calls(&its);
	print_touches_of(&its, ",\n\"at_peak\":", &residency->peak);
	print_touches_of(&its, ",\n\"at_last\":", &residency->last);
	fputs(",\n\"at_moments\":[", w->out);
	for (size_t i = 0; i < residency->n_moments; i++)
		print_touches_of(&its, i ? ",\n" : "\n", &residency->moments[i]);
	fputs("]}", w->out);
	free(its.stacks);
	mf_call_table_deinit(&its.calls);
	return code;
}

static int print_residency(const struct writer *w, struct mf_error *err)
{
	const struct mf_residency *residency = w->profile->residency;

	int code = 0;

	fprintf(w->out, ",\n\"residency\":{\"peak_rss\":%" PRIu64 ",\"source\":\"%s\",\"samples\":[", residency->peak_rss,
		w->profile->touches ? "module" : "sampled");
	for (size_t i = 0; i < residency->n_samples; i++) {
		fputs(i ? ",\n{" : "\n{", w->out);
		print_sample(w, &residency->samples[i]);
		putc('}', w->out);
	}
	putc(']', w->out);
	print_sites(w, ",\n\"peak\":", &residency->peak);
	print_sites(w, ",\n\"last\":", &residency->last);
	fputs(",\n\"moments\":[", w->out);
	for (size_t i = 0; i < residency->n_moments; i++)
		print_sites(w, i ? ",\n" : "\n", &residency->moments[i]);
	putc(']', w->out);
	if (w->profile->touches)
		code = print_touches(w, err);
	putc('}', w->out);
	return code;
}

static int write_json(struct writer *w, struct mf_error *err)
{
	int code;

	print_head(w);
	code = print_stacks(w, err);
	if (code)
		return code;
	print_calls(w);
	fputs(",\n\"snapshots\":[", w->out);
	for (size_t i = 0; i < w->profile->n_snapshots; i++) {
		fputs(i ? ",\n" : "\n", w->out);
		print_snapshot(w, &w->profile->snapshots[i]);
	}
	putc(']', w->out);
	if (w->profile->counts)
		print_counts(w);
	if (w->profile->temporary_others)
		fprintf(w->out, ",\n\"temporary_others\":%" PRIu64, w->profile->temporary_others);
	if (w->profile->details)
		print_details(w);
	if (w->profile->threads)
		print_threads(w);
	if (w->profile->thread_totals)
		print_thread_totals(w);
	if (w->profile->functions)
		print_functions(w);
	if (w->profile->residency)
		code = print_residency(w, err);
	if (code)
		return code;
	fputs("}\n", w->out);
	return mf_massif_file_end(w->out, err);
}

int mf_json_file_write(FILE *out, const struct mf_profile *profile, const struct mf_report_options *options,
		       struct mf_symbolizer *symbolizer, struct mf_error *err)
{
	struct writer w = { out, profile, options, symbolizer, .stacks = NULL };
	int code;

	w.stacks = calloc(profile->n_contexts + 1, sizeof(*w.stacks));
	if (!w.stacks)
		return mf_error_set(err, -ENOMEM, "out of memory");
	code = write_json(&w, err);
	free(w.stacks);
	mf_call_table_deinit(&w.calls);
	return code;
}
