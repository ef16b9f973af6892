// SPDX-License-Identifier: GPL-2.0
// Part of the fuzzer of recordings: prints and exports the samples of the resident set, as massif-ctl does.

#include "selftests/fuzz/recording/resident.h"

#include <inttypes.h>

#include "ctl/query/residency_list.h"
#include "ctl/query/residency_view.h"
#include "ctl/query/sample_choice.h"
#include "report/writers.h"
#include "selftests/fuzz/recording/sink.h"

static void check_detail(const struct mf_recorded *process, const struct mf_residency_detail *detail)
{
	fuzz_require(detail->sample.reasons < MF_SAMPLE_REASONS && detail->sample.time_ms <= INT64_MAX);
	for (size_t i = 0; i < detail->n_sites; i++) {
		fuzz_require(detail->sites[i].context < process->profile.n_contexts);
		fuzz_require(!i || detail->sites[i].context > detail->sites[i - 1].context);
	}
	for (size_t i = 0; i < detail->n_areas; i++)
		fuzz_require(detail->areas[i].name && detail->areas[i].band < MF_BANDS);
	fuzz_require(!detail->n_touches || process->touched);
	for (size_t i = 0; i < detail->n_touches; i++) {
		const struct mf_residency_touch *touch = &detail->touches[i];

		fuzz_require(touch->band < MF_BANDS && touch->context < process->touched->profile.n_contexts);
		fuzz_require(!i || touch->band > touch[-1].band ||
			     (touch->band == touch[-1].band && touch->context > touch[-1].context));
	}
}

void fuzz_resident_check(const struct mf_recorded *process)
{
	const struct mf_residency *residency = process->profile.residency;

	fuzz_require(!process->profile.touches == !process->touched && (residency || !process->touched));
	if (!residency)
		return;
	check_detail(process, &residency->peak);
	check_detail(process, &residency->last);
	for (size_t i = 0; i < residency->n_moments; i++)
		check_detail(process, &residency->moments[i]);
}

/* Prints a sample. If there is one at @at, that works, and otherwise says why not. */
static void show_sample(struct mf_recorded *process, const struct mf_query *query)
{
	struct fuzz_sink sink = { .is_text = true };
	const struct mf_terminal terminal = { .out = fuzz_sink_open(&sink), .width = 80, .utf8 = true };
	const struct mf_residency *residency = process->profile.residency;
	bool is_there = residency && residency->n_samples;
	struct mf_error err = { 0 };

	if (is_there && query->at)
		is_there = mf_sample_choose(query, process, &err);
	fuzz_require(!mf_residency_view_check(query, process, &err) == is_there && (is_there || err.text[0]));
	fuzz_require(!mf_residency_view_print(&terminal, query, process, &err) == is_there);
	fuzz_sink_close(&sink, terminal.out);
}

/* Shows the largest or the last sample, and another one. */
static void show_samples(struct mf_recorded *process, struct mf_query *query, uint8_t flags, uint8_t choice)
{
	static const char *const times[] = {
		"0", "1", "7", "99999999999999999999", "0ms", "1.5s", "9i", "1Mi", "300B", "2GB",
	};
	const struct mf_residency *residency = process->profile.residency;
	char time[32];

	query->at = flags & 2 ? "end" : NULL;
	show_sample(process, query);
	query->at = times[choice % (sizeof(times) / sizeof(times[0]))];
	if (flags & 4 && residency && residency->n_moments) {
		snprintf(time, sizeof(time), "%" PRIu64 "ms",
			 residency->moments[choice % residency->n_moments].sample.time_ms);
		query->at = time;
	}
	show_sample(process, query);
}

static void export(const struct mf_counted *counted)
{
	for (enum mf_format format = 0; format < MF_FORMATS; format++) {
		const struct mf_writer *writer = &mf_writers[format];
		struct fuzz_sink sink = { .is_text = true, .is_json = format == MF_FORMAT_SPEEDSCOPE };
		struct mf_error err;
		FILE *out;

		if (!writer->one_value)
			continue;
		out = fuzz_sink_open(&sink);
		fuzz_require(!writer->write_moment(out, &counted->moment, &err) || sink.is_full);
		fuzz_sink_close(&sink, out);
	}
}

/* Writes each stack with one number, as massif-ctl export --value does: a number of the resident set, or a count. */
static void export_numbers(struct mf_recorded *process, const struct mf_report_options *options, uint8_t choice)
{
	const struct mf_moment moment = {
		.profile = &process->profile, .snapshot = process->end, .options = options, .symbolizer = process->symbolizer,
		.is_end = choice & 32,
	};
	const struct mf_residency_detail *detail = mf_resident_detail(&process->profile, moment.is_end);
	struct mf_counted counted;
	struct mf_error err;

	if (detail) {
		if (mf_counted_init_resident(&counted, &moment, detail, choice % (MF_RESIDENT_PINNED + 1), &err))
			abort();
		export(&counted);
		mf_counted_deinit(&counted);
	}
	if (process->profile.counts) {
		if (mf_counted_init(&counted, &moment, choice % MF_COUNTS, &err))
			abort();
		export(&counted);
		mf_counted_deinit(&counted);
	}
	if (process->end->has_blocks) {
		if (mf_counted_init_blocks(&counted, &moment, &err))
			abort();
		export(&counted);
		mf_counted_deinit(&counted);
	}
}

void fuzz_resident_show(struct mf_recorded *process, const struct mf_report_options *options, uint8_t flags,
			uint8_t choice)
{
	struct mf_query query = {
		.options.report = *options,
		.rss = true,
		.by_given = choice & 1,
		.by = (choice >> 5) % MF_SITES_BYS,
		.tree = flags & 0x20,
		.all_calls = choice & 8,
		.inclusive = choice & 16,
		.top = flags & 0x10 ? 1 + choice % 3 : 0,
	};

	show_samples(process, &query, flags, choice);
	export_numbers(process, options, choice);
}

void fuzz_resident_list(const struct mf_recording *recording, uint8_t choice)
{
	struct fuzz_sink sink = { .is_text = true };
	const struct mf_terminal terminal = { .out = fuzz_sink_open(&sink), .width = 80, .utf8 = true };
	const struct mf_query query = { .rss = true, .top = choice % 4 };
	bool any = false;
	struct mf_error err;

	for (size_t i = 0; i < recording->n_processes; i++) {
		const struct mf_residency *residency = recording->processes[i]->profile.residency;

		any |= residency && residency->n_samples;
	}
	fuzz_require(!mf_residency_list_print(&terminal, &query, recording, &err) == any);
	fuzz_sink_close(&sink, terminal.out);
}
