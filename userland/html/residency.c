// SPDX-License-Identifier: GPL-2.0
// The samples of the resident set of one process in a page.

#include "html/residency.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "html/touches.h"
#include "profile/residency.h"
#include "report/counted.h"

/* The numbers of a sample, apart from its bands. */
static const struct {
	const char *name;
	size_t place;
} numbers[] = {
	{ "time", offsetof(struct mf_residency_sample, time_ms) },
	{ "took", offsetof(struct mf_residency_sample, took_us) },
	{ "mapped", offsetof(struct mf_residency_sample, mapped) },
	{ "swapped", offsetof(struct mf_residency_sample, swapped) },
	{ "pss", offsetof(struct mf_residency_sample, pss) },
	{ "huge", offsetof(struct mf_residency_sample, huge) },
	{ "untouched", offsetof(struct mf_residency_sample, untouched) },
	{ "heap_swapped", offsetof(struct mf_residency_sample, heap_swapped) },
};

#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

static uint64_t number_at(const struct mf_residency_sample *sample, size_t place)
{
	return *(const uint64_t *)((const char *)sample + place);
}

/* Prints the number at @place of each sample. */
static void print_column(const struct mf_residency *residency, FILE *out, size_t place)
{
	putc('[', out);
	for (size_t i = 0; i < residency->n_samples; i++) {
		if (i)
			putc(',', out);
		mf_html_print_number(out, number_at(&residency->samples[i], place));
	}
	putc(']', out);
}

static void print_samples(const struct mf_residency *residency, FILE *out)
{
	for (size_t i = 0; i < NUMBERS; i++) {
		fprintf(out, ",\n\"%s\":", numbers[i].name);
		print_column(residency, out, numbers[i].place);
	}
	fputs(",\n\"bands\":[", out);
	for (int i = 0; i < MF_BANDS; i++) {
		fprintf(out, "%s\n{\"key\":\"%s\",\"words\":\"%s\",\"bytes\":", i ? "," : "", mf_band_names[i].key,
			mf_band_names[i].words);
		print_column(residency, out, offsetof(struct mf_residency_sample, bands) + (size_t)i * sizeof(uint64_t));
		putc('}', out);
	}
	putc(']', out);
}

static void print_list(FILE *out, const char *name, const uint64_t *list, size_t n)
{
	fprintf(out, ",\"%s\":[", name);
	for (size_t i = 0; i < n; i++) {
		if (i)
			putc(',', out);
		mf_html_print_number(out, list[i]);
	}
	putc(']', out);
}

/* Prints a number of each node, for which the process's tree has been chosen. */
static int print_sites(struct mf_html_process *process, FILE *out, const struct mf_residency_detail *detail,
		       const char *name, enum mf_resident_number number, struct mf_error *err)
{
	const struct mf_moment moment = { .profile = &process->profile };
	struct mf_counted counted;
	int code = mf_counted_init_resident(&counted, &moment, detail, number, err);

	if (!code) {
		fprintf(out, ",\n\"%s\":[", name);
		mf_html_process_print_leaves(process, out, counted.leaves, counted.snapshot.n_leaves);
		putc(']', out);
	}
	mf_counted_deinit(&counted);
	return code;
}

/* Prints the numbers of a sample that belong to the whole process, not to nodes of the call tree. */
static int print_numbers(const struct mf_html_process *process, FILE *out, const struct mf_residency_detail *detail,
			 struct mf_html_calls *calls, struct mf_error *err)
{
	for (size_t i = 0; i < NUMBERS; i++) {
		fprintf(out, "%s\"%s\":", i ? "," : "{", numbers[i].name);
		mf_html_print_number(out, number_at(&detail->sample, numbers[i].place));
	}
	print_list(out, "bands", detail->sample.bands, MF_BANDS);
	print_list(out, "fillings", detail->fillings, MF_FILLINGS);
	return process->touching ? mf_html_touches_print(process, out, detail, calls, err) : 0;
}

static int print_detail(struct mf_html_process *process, FILE *out, const struct mf_residency_detail *detail,
			struct mf_html_calls *calls, struct mf_error *err)
{
	int code = print_numbers(process, out, detail, calls, err);

	code = code ?: print_sites(process, out, detail, "live_sites", MF_RESIDENT_LIVE, err) ?:
	       print_sites(process, out, detail, "untouched_sites", MF_RESIDENT_UNTOUCHED, err) ?:
	       print_sites(process, out, detail, "pinned_sites", MF_RESIDENT_PINNED, err);
	putc('}', out);
	return code;
}

/* Returns whether a moment is another sample than the largest, the last, and the moment before. */
static bool is_other(const struct mf_residency *residency, size_t i)
{
	uint64_t time = residency->moments[i].sample.time_ms;

	return time != residency->peak.sample.time_ms && time != residency->last.sample.time_ms &&
	       (!i || time != residency->moments[i - 1].sample.time_ms);
}

/* Chooses the moments that are in the page, at equal distances if not all of them are. Returns how many these are. */
static size_t choose_moments(const struct mf_residency *residency, size_t most, const struct mf_residency_detail **chosen,
			     size_t *n_hidden)
{
	size_t n = 0, kept;

	for (size_t i = 0; i < residency->n_moments; i++)
		if (is_other(residency, i))
			chosen[n++] = &residency->moments[i];
	kept = n < most ? n : most;
	*n_hidden = n - kept;
	for (size_t i = 0; i < kept; i++)
		chosen[i] = chosen[(i * n + n / 2) / kept];
	return kept;
}

/* Prints a number of each node for all moments: those that differ from the moment before. */
static int print_changes(struct mf_html_process *process, FILE *out, const struct mf_residency_detail *const *chosen, size_t n,
			 const char *name, enum mf_resident_number number, struct mf_error *err)
{
	const struct mf_moment moment = { .profile = &process->profile };
	int code = 0;

	fprintf(out, ",\n\"%s\":[", name);
	mf_html_process_begin_changes(process);
	for (size_t i = 0; i < n && !code; i++) {
		struct mf_counted counted;

		code = mf_counted_init_resident(&counted, &moment, chosen[i], number, err);
		fputs(i ? ",\n[" : "\n[", out);
		if (!code)
			mf_html_process_print_changes(process, out, counted.leaves, counted.snapshot.n_leaves);
		putc(']', out);
		mf_counted_deinit(&counted);
	}
	putc(']', out);
	return code;
}

/* Prints the samples besides the largest and the last that have their sites. */
static int print_moments(struct mf_html_process *process, FILE *out, struct mf_html_calls *calls, struct mf_error *err)
{
	const struct mf_residency *residency = process->profile.residency;
	mf_auto_free const struct mf_residency_detail **chosen = calloc(residency->n_moments + 1, sizeof(*chosen));
	size_t n, n_hidden;
	int code = 0;

	if (!chosen)
		return mf_error_set(err, -ENOMEM, "out of memory");
	n = choose_moments(residency, process->most_moments, chosen, &n_hidden);
	fprintf(out, ",\n\"moments\":{\"hidden\":%zu,\"samples\":[", n_hidden);
	for (size_t i = 0; i < n && !code; i++) {
		fputs(i ? ",\n" : "\n", out);
		code = print_numbers(process, out, chosen[i], calls, err);
		putc('}', out);
	}
	putc(']', out);
	return code ?: print_changes(process, out, chosen, n, "live_sites", MF_RESIDENT_LIVE, err) ?:
	       print_changes(process, out, chosen, n, "untouched_sites", MF_RESIDENT_UNTOUCHED, err) ?:
	       print_changes(process, out, chosen, n, "pinned_sites", MF_RESIDENT_PINNED, err);
}

int mf_html_residency_print(struct mf_html_process *process, FILE *out, struct mf_html_calls *calls, struct mf_error *err)
{
	const struct mf_residency *residency = process->profile.residency;
	int code;

	fputs(",\n\"residency\":{\"peak_rss\":", out);
	mf_html_print_number(out, residency->peak_rss);
	print_samples(residency, out);
	fputs(",\n\"details\":[\n", out);
	code = print_detail(process, out, &residency->peak, calls, err);
	if (!code) {
		fputs(",\n", out);
		code = print_detail(process, out, &residency->last, calls, err);
	}
	putc(']', out);
	code = code ?: print_moments(process, out, calls, err);
	fputs("}}", out);
	return code;
}
