// SPDX-License-Identifier: GPL-2.0
// The data of one process in a page.

#include "html/process.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "html/residency.h"
#include "html/touches.h"
#include "report/json_text.h"
#include "report/massif_file.h"
#include "report/runtime.h"

/* Larger integers are not exact in JavaScript. */
#define EXACT_BELOW (1ull << 53)

void mf_html_print_number(FILE *out, uint64_t number)
{
	fprintf(out, number > EXACT_BELOW ? "\"%" PRIu64 "\"" : "%" PRIu64, number);
}

void mf_html_print_name(FILE *out, const char *text)
{
	char rest[64];
	size_t length = text ? strlen(text) : 0, kept = MF_HTML_NAME_MAX;
	mf_auto_free char *copy = NULL;

	if (length <= MF_HTML_NAME_MAX) {
		mf_json_print_inert(out, text);
		return;
	}
	snprintf(rest, sizeof(rest), "... (%zu more bytes)", length - kept);
	if (asprintf(&copy, "%.*s%s", (int)kept, text, rest) < 0)
		copy = NULL;
	mf_json_print_inert(out, copy ?: "?");
}

/* Whether snapshot @i of @n is one of the MF_HTML_SNAPSHOTS_MAX that are evenly spread among them. */
static bool is_chosen(size_t i, size_t n)
{
	const size_t most = MF_HTML_SNAPSHOTS_MAX - 2; /* besides the peak and the end */

	return n <= MF_HTML_SNAPSHOTS_MAX || i * most / n != (i + 1) * most / n;
}

static void add_snapshot(struct mf_html_process *process, const struct mf_profile_snapshot *snapshot, size_t number)
{
	struct mf_profile *profile = &process->profile;

	process->numbers[profile->n_snapshots] = number;
	process->snapshots[profile->n_snapshots++] = *snapshot;
}

/* Lists the snapshots that are in the page: the end is the last, unless it is one of those of the profile already. */
static int list_snapshots(struct mf_html_process *process, struct mf_error *err)
{
	const struct mf_profile *recorded = &process->recorded->profile;
	const struct mf_profile_snapshot *end = process->recorded->end, *peak = mf_profile_peak(recorded, end);
	struct mf_profile *profile = &process->profile;
	bool has_end = false;

	*profile = *recorded;
	process->snapshots = calloc(recorded->n_snapshots + 1, sizeof(*process->snapshots));
	process->numbers = calloc(recorded->n_snapshots + 1, sizeof(*process->numbers));
	if (!process->snapshots || !process->numbers)
		return mf_error_set(err, -ENOMEM, "out of memory");
	profile->n_snapshots = 0;
	profile->snapshots = process->snapshots;
	for (size_t i = 0; i < recorded->n_snapshots; i++) {
		const struct mf_profile_snapshot *snapshot = &recorded->snapshots[i];

		has_end |= snapshot == end;
		if (snapshot == peak)
			process->peak_at = profile->n_snapshots;
		if (snapshot == end)
			process->end_at = profile->n_snapshots;
		if (snapshot == peak || snapshot == end || is_chosen(i, recorded->n_snapshots))
			add_snapshot(process, snapshot, i);
	}
	if (has_end)
		return 0;
	process->end_at = profile->n_snapshots;
	if (peak == end)
		process->peak_at = profile->n_snapshots;
	add_snapshot(process, end, recorded->n_snapshots);
	return 0;
}

int mf_html_process_read(struct mf_html_process *process, const struct mf_report_options *options,
			 struct mf_html_calls *calls, struct mf_error *err)
{
	int code = list_snapshots(process, err);

	process->options = options;
	code = code ?: mf_html_tree_build(&process->tree, &process->profile, options, process->recorded->symbolizer, calls,
					  err);
	return code ?: mf_html_touches_read(process, calls, err);
}

static void print_fact(FILE *out, const char *name, uint64_t number)
{
	fprintf(out, ",\"%s\":", name);
	mf_html_print_number(out, number);
}

static void print_fact_text(FILE *out, const char *name, const char *text)
{
	fprintf(out, ",\"%s\":", name);
	mf_html_print_name(out, text);
}

static void print_facts(const struct mf_html_process *process, FILE *out)
{
	const struct mf_profile *profile = &process->profile;
	const struct mf_facts *facts = &process->recorded->facts;
	int status = (int)(facts->ended - 1);

	fprintf(out, "{\"unit\":\"%s\",\"pages\":%d,\"what\":%d", mf_massif_file_units[profile->time_unit],
		profile->pages, (int)profile->what);
	fprintf(out, ",\"recording\":%d,\"cut_off\":%d", facts->version != NULL, facts->cut_off != 0);
	print_fact_text(out, "name", facts->name);
	print_fact_text(out, "cmd", facts->cmd);
	print_fact_text(out, "options", facts->desc);
	print_fact_text(out, "massif", facts->version);
	print_fact_text(out, "kernel", facts->kernel);
	print_fact(out, "pid", facts->pid);
	print_fact(out, "parent", facts->parent);
	print_fact(out, "took", facts->took_ms);
	print_fact(out, "written", facts->written_s);
	print_fact(out, "allocations", facts->allocations);
	print_fact(out, "reallocations", facts->reallocations);
	print_fact(out, "frees", facts->frees);
	print_fact(out, "lost", facts->lost);
	if (facts->ended && WIFSIGNALED(status))
		fprintf(out, ",\"signal\":%d", WTERMSIG(status));
	else if (facts->ended)
		fprintf(out, ",\"exit\":%d", WEXITSTATUS(status));
	fprintf(out, ",\"peak\":%zu,\"end\":%zu", process->peak_at, process->end_at);
}

static void print_snapshots(const struct mf_html_process *process, FILE *out)
{
	const struct mf_profile *profile = &process->profile;
	static const size_t places[] = {
		offsetof(struct mf_profile_snapshot, heap_bytes), offsetof(struct mf_profile_snapshot, extra_bytes),
		offsetof(struct mf_profile_snapshot, stack_bytes),
	};
	static const char *const names[] = { "heap", "extra", "stacks" };

	/* Only if they are not simply 0, 1, 2, ... */
	if (process->numbers[profile->n_snapshots - 1] != profile->n_snapshots - 1) {
		fputs(",\n\"numbers\":[", out);
		for (size_t i = 0; i < profile->n_snapshots; i++)
			fprintf(out, "%s%zu", i ? "," : "", process->numbers[i]);
		putc(']', out);
	}
	fputs(",\n\"time\":[", out);
	for (size_t i = 0; i < profile->n_snapshots; i++)
		fprintf(out, "%s%" PRId64, i ? "," : "", profile->snapshots[i].time);
	putc(']', out);
	for (size_t k = 0; k < sizeof(places) / sizeof(places[0]); k++) {
		fprintf(out, ",\n\"%s\":[", names[k]);
		for (size_t i = 0; i < profile->n_snapshots; i++) {
			if (i)
				putc(',', out);
			mf_html_print_number(out, *(const uint64_t *)((const char *)&profile->snapshots[i] + places[k]));
		}
		putc(']', out);
	}
}

static void print_nodes(const struct mf_html_tree *tree, FILE *out, struct mf_html_calls *calls, uint32_t *depths)
{
	bool first = true;

	fputs(",\n\"depth\":[", out);
	for (size_t i = 0; i < tree->n_printed; i++) {
		uint32_t node = tree->order[i], parent = tree->is_others[i] ? node : tree->nodes[node].parent;

		depths[i] = i ? depths[tree->nodes[parent].id] + 1 : 0;
		fprintf(out, "%s%" PRIu32, i ? "," : "", depths[i]);
	}
	fputs("],\n\"call\":[", out);
	for (size_t i = 0; i < tree->n_printed; i++) {
		uint32_t call = tree->nodes[tree->order[i]].call;

		if (i)
			putc(',', out);
		if (tree->is_others[i] || call == MF_HTML_NONE)
			fputs("-1", out);
		else if (call >= MF_HTML_THREAD)
			fprintf(out, "-%" PRIu32, 2 + (call - MF_HTML_THREAD));
		else
			fprintf(out, "%" PRIu32, mf_html_calls_use(calls, call));
	}
	fputs("],\n\"others\":[", out);
	for (size_t i = 0; i < tree->n_printed; i++) {
		if (!tree->is_others[i])
			continue;
		fprintf(out, "%s%" PRIu32, first ? "" : ",", tree->nodes[tree->order[i]].places);
		first = false;
	}
	fprintf(out, "],\"hidden\":%" PRIu64 ",\"below\":%g", tree->n_hidden, tree->n_hidden ? (double)tree->below : 0);
}

static void print_sites(const struct mf_html_sites *sites, FILE *out, struct mf_html_calls *calls)
{
	fputs(",\n\"sites\":[", out);
	for (size_t i = 0; i < sites->n_kept; i++)
		fprintf(out, "%s%" PRIu32, i ? "," : "", mf_html_calls_use(calls, sites->list[sites->order[i]].call));
	if (sites->n_rest)
		fprintf(out, "%s-1", sites->n_kept ? "," : "");
	fprintf(out, "],\"rest\":%" PRIu64, sites->n_rest);
}

/* Returns how many entries have values: the nodes in the page, after them the sites of the stacks that are merged. */
static size_t count_entries(const struct mf_html_process *process)
{
	return process->tree.n_printed + process->tree.sites.n_printed;
}

/* Lists the entries that have the values of @context. Returns how many these are: none if the context is not shown. */
static unsigned int list_entries(const struct mf_html_tree *tree, uint32_t context, size_t *entries)
{
	uint32_t node = tree->of_contexts[context];

	if (node == MF_HTML_NONE)
		return 0;
	entries[0] = tree->nodes[node].target;
	if (!mf_html_tree_is_merged(tree, context))
		return 1;
	entries[1] = tree->n_printed + mf_html_sites_of(&tree->sites, context);
	return 2;
}

/* Sets the values of the entries. */
static void add_up(struct mf_html_process *process, const struct mf_leaf *leaves, size_t n)
{
	size_t entries[2];

	memset(process->values, 0, count_entries(process) * sizeof(*process->values));
	for (size_t i = 0; i < n; i++)
		for (unsigned int k = list_entries(&process->tree, leaves[i].context, entries); k-- > 0;)
			process->values[entries[k]] += leaves[i].bytes;
}

void mf_html_process_begin_changes(struct mf_html_process *process)
{
	memset(process->old, 0, count_entries(process) * sizeof(*process->old));
}

void mf_html_process_print_changes(struct mf_html_process *process, FILE *out, const struct mf_leaf *leaves, size_t n)
{
	bool first = true;
	size_t last = (size_t)-1;

	add_up(process, leaves, n);
	for (size_t i = 0; i < count_entries(process); i++) {
		if (process->values[i] == process->old[i])
			continue;
		fprintf(out, "%s%zu,", first ? "" : ",", i - last);
		mf_html_print_number(out, process->values[i]);
		process->old[i] = process->values[i];
		last = i;
		first = false;
	}
}

static void print_moment(struct mf_html_process *process, FILE *out, size_t number)
{
	const struct mf_profile_snapshot *snapshot = &process->profile.snapshots[number];

	fprintf(out, "{\"snapshot\":%zu,\"changes\":[", number);
	mf_html_process_print_changes(process, out, snapshot->leaves, snapshot->n_leaves);
	fputs("]}", out);
}

static void print_moments(struct mf_html_process *process, FILE *out)
{
	bool first = true;

	mf_html_process_begin_changes(process);
	fputs(",\n\"moments\":[", out);
	for (size_t i = 0; i < process->profile.n_snapshots; i++) {
		if (process->profile.snapshots[i].tree == MF_TREE_EMPTY)
			continue;
		fputs(first ? "\n" : ",\n", out);
		print_moment(process, out, i);
		first = false;
	}
	putc(']', out);
}

static void add_counts(struct mf_counts *sum, const struct mf_counts *counts)
{
	sum->allocations += counts->allocations;
	sum->allocated += counts->allocated;
	sum->temporaries += counts->temporaries;
	sum->live += counts->live;
}

static int print_counts(struct mf_html_process *process, FILE *out, struct mf_error *err)
{
	const struct mf_profile *profile = &process->profile;
	mf_auto_free struct mf_counts *counts = calloc(count_entries(process) + 1, sizeof(*counts));
	size_t last = (size_t)-1, entries[2];

	if (!counts)
		return mf_error_set(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < profile->n_contexts; i++)
		for (unsigned int k = list_entries(&process->tree, i, entries); k-- > 0;)
			add_counts(&counts[entries[k]], &profile->counts[i]);
	fputs(",\n\"counts\":[", out);
	for (size_t i = 0; i < count_entries(process); i++) {
		if (!counts[i].allocations && !counts[i].live)
			continue;
		fprintf(out, "%s%zu", last == (size_t)-1 ? "" : ",", i - last);
		for (enum mf_count count = 0; count < MF_COUNTS; count++) {
			putc(',', out);
			mf_html_print_number(out, mf_profile_count(&counts[i], count));
		}
		last = i;
	}
	putc(']', out);
	return 0;
}

static void print_sizes(const struct mf_profile *profile, FILE *out)
{
	fputs(",\n\"sizes\":[", out);
	for (size_t i = 0; i < MF_SIZE_CLASSES; i++) {
		fputs(i ? "," : "", out);
		mf_html_print_number(out, profile->sizes[i].blocks);
		putc(',', out);
		mf_html_print_number(out, profile->sizes[i].bytes);
	}
	putc(']', out);
}

/* Sets the values of the entries to how many of their blocks are in @class. Returns whether there are any. */
static bool add_up_class(struct mf_html_process *process, enum mf_detail_histogram histogram, uint32_t class)
{
	const struct mf_profile *profile = &process->profile;
	size_t entries[2];
	bool any = false;

	memset(process->values, 0, count_entries(process) * sizeof(*process->values));
	for (uint32_t i = 0; i < profile->n_contexts; i++) {
		uint64_t n = mf_details_count(&profile->details[i], histogram, class);

		for (unsigned int k = n ? list_entries(&process->tree, i, entries) : 0; k-- > 0; any = true)
			process->values[entries[k]] += n;
	}
	return any;
}

/* Prints the values that are not 0, as pairs of an entry's distance from the one before and its value. */
static void print_values(const struct mf_html_process *process, FILE *out)
{
	size_t last = (size_t)-1;

	for (size_t i = 0; i < count_entries(process); i++) {
		if (!process->values[i])
			continue;
		fprintf(out, "%s%zu,", last == (size_t)-1 ? "" : ",", i - last);
		mf_html_print_number(out, process->values[i]);
		last = i;
	}
}

void mf_html_process_print_leaves(struct mf_html_process *process, FILE *out, const struct mf_leaf *leaves, size_t n)
{
	add_up(process, leaves, n);
	print_values(process, out);
}

static void print_class(const struct mf_html_process *process, FILE *out, uint32_t class)
{
	fprintf(out, "{\"class\":%" PRIu32 ",\"values\":[", class);
	print_values(process, out);
	fputs("]}", out);
}

static void print_details(struct mf_html_process *process, FILE *out)
{
	static const char *const names[] = { [MF_DETAIL_SIZES] = "block_sizes", [MF_DETAIL_LIFETIMES] = "lifetimes" };

	/* The page has no view of the ages. */
	for (enum mf_detail_histogram histogram = 0; histogram <= MF_DETAIL_LIFETIMES; histogram++) {
		bool first = true;

		fprintf(out, ",\n\"%s\":[", names[histogram]);
		for (uint32_t class = 0; class < MF_DETAIL_CLASSES; class++) {
			if (!add_up_class(process, histogram, class))
				continue;
			fputs(first ? "\n" : ",\n", out);
			print_class(process, out, class);
			first = false;
		}
		putc(']', out);
	}
	print_fact(out, "details_lost", process->profile.details_lost);
}

static void print_threads(const struct mf_profile *profile, FILE *out)
{
	fputs(",\n\"threads\":[", out);
	for (size_t i = 0; i < profile->n_threads; i++) {
		fputs(i ? "," : "", out);
		mf_html_print_number(out, profile->threads[i].tid);
		putc(',', out);
		mf_html_print_name(out, profile->threads[i].name);
	}
	putc(']', out);
}

static void print_thread_totals(const struct mf_profile *profile, FILE *out)
{
	fputs(",\n\"thread_totals\":[", out);
	for (size_t i = 0; i < profile->n_thread_totals; i++) {
		const struct mf_thread_total *total = &profile->thread_totals[i];

		fputs(i ? "," : "", out);
		mf_html_print_number(out, total->thread.tid);
		putc(',', out);
		mf_html_print_name(out, total->thread.name);
		putc(',', out);
		mf_html_print_number(out, total->sums.allocations);
		putc(',', out);
		mf_html_print_number(out, total->sums.allocated);
		putc(',', out);
		mf_html_print_number(out, total->sums.temporaries);
	}
	putc(']', out);
}

/* Prints which of the bytes and blocks at the end are kept by the C and C++ libraries. */
static int print_runtime(struct mf_html_process *process, FILE *out, struct mf_error *err)
{
	const struct mf_recorded *recorded = process->recorded;
	const struct mf_moment moment = { &recorded->profile, recorded->end, process->options, recorded->symbolizer };
	struct mf_runtime runtime;
	int code = mf_runtime_find(&moment, &runtime, err);

	if (!code) {
		print_fact(out, "runtime_blocks", runtime.kept_blocks);
		fputs(",\n\"runtime\":[", out);
		mf_html_process_print_leaves(process, out, runtime.kept, runtime.n_kept);
		putc(']', out);
	}
	mf_runtime_free(&runtime);
	return code;
}

int mf_html_process_print(struct mf_html_process *process, FILE *out, size_t n, struct mf_html_calls *calls,
			  struct mf_error *err)
{
	mf_auto_free uint32_t *depths = NULL;
	int code = mf_html_tree_choose(&process->tree, n, err);

	if (code)
		return code;
	free(process->values);
	free(process->old);
	process->values = calloc(count_entries(process) + 1, sizeof(*process->values));
	process->old = calloc(count_entries(process) + 1, sizeof(*process->old));
	depths = calloc(process->tree.n_printed + 1, sizeof(*depths));
	if (!process->values || !process->old || !depths)
		return mf_error_set(err, -ENOMEM, "out of memory");
	print_facts(process, out);
	print_snapshots(process, out);
	print_nodes(&process->tree, out, calls, depths);
	print_sites(&process->tree.sites, out, calls);
	print_moments(process, out);
	if (process->profile.counts)
		code = print_counts(process, out, err);
	if (process->profile.temporary_others)
		print_fact(out, "temporary_others", process->profile.temporary_others);
	if (!code && process->recorded->facts.version && !process->profile.pages)
		code = print_runtime(process, out, err);
	if (process->profile.sizes)
		print_sizes(&process->profile, out);
	if (process->profile.details)
		print_details(process, out);
	if (process->profile.threads)
		print_threads(&process->profile, out);
	if (process->profile.thread_totals)
		print_thread_totals(&process->profile, out);
	if (!code && process->profile.residency)
		code = mf_html_residency_print(process, out, calls, err);
	putc('}', out);
	return code;
}

void mf_html_process_deinit(struct mf_html_process *process)
{
	free(process->snapshots);
	free(process->numbers);
	free(process->values);
	free(process->old);
	free(process->touching);
	mf_html_tree_deinit(&process->tree);
}
