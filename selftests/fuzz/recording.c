// SPDX-License-Identifier: GPL-2.0
// Fuzzes the readers of recordings and of massif.out files, and everything that export, show, diff, check and report make of
// what they read.
//
// An input begins with two bytes, which choose options of the reports. If bit 0 of the first is set, the rest is the
// file. Otherwise the rest is a list of sections (selftests/lib/section_list.h), which the fuzzer compresses and seals:
// random bytes would never have the right checksum.

#include "selftests/fuzz/fuzz.h"

#include <locale.h>
#include <stdbool.h>
#include <stdio.h>

#include "ctl/check/checker.h"
#include "ctl/check/verdict_writers.h"
#include "ctl/message/message.h"
#include "ctl/query/class_table.h"
#include "ctl/query/comparison.h"
#include "ctl/query/curve.h"
#include "ctl/query/selection.h"
#include "ctl/query/size_table.h"
#include "ctl/query/site_table.h"
#include "ctl/query/temporary.h"
#include "ctl/query/tree_view.h"
#include "recording/reader.h"
#include "report/writers.h"
#include "selftests/fuzz/recording/page.h"
#include "selftests/fuzz/recording/resident.h"
#include "selftests/fuzz/recording/sink.h"
#include "selftests/lib/section_list.h"

#define HEAD	  2u	    /* bytes in front of the file or the sections */
#define SNAPSHOTS 3u	    /* so many snapshots of a process are written in each format */

int LLVMFuzzerInitialize(int *argc, char ***argv);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned int seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);

static size_t look_at(const char *text)
{
	return text ? strlen(text) : 0;
}

/* Checks that a snapshot refers only to what the profile has. Returns the bytes of all stacks that have frames. */
static uint64_t check_snapshot(const struct mf_profile *profile, const struct mf_profile_snapshot *snapshot)
{
	struct mf_frame frames[MF_PROFILE_FRAMES_MAX];
	uint64_t sum = 0;

	fuzz_require(snapshot->tree <= MF_TREE_PEAK && snapshot->n_seen <= profile->n_contexts);
	fuzz_require(snapshot->tree != MF_TREE_EMPTY || !snapshot->n_leaves);
	for (size_t i = 0; i < snapshot->n_leaves; i++) {
		const struct mf_leaf *leaf = &snapshot->leaves[i];

		fuzz_require(leaf->context < snapshot->n_seen && (!i || leaf->context > leaf[-1].context));
		if (profile->read_context(profile->source, leaf->context, frames))
			sum += leaf->bytes;
	}
	return sum;
}

static void check_contexts(const struct mf_recorded *process)
{
	const struct mf_profile *profile = &process->profile;
	struct mf_frame frames[MF_PROFILE_FRAMES_MAX];

	for (uint32_t i = 0; i < profile->n_contexts; i++) {
		uint32_t n = profile->read_context(profile->source, i, frames);

		fuzz_require(n <= MF_PROFILE_FRAMES_MAX);
		for (uint32_t k = 0; k < n; k++)
			fuzz_require(frames[k].object < profile->n_objects);
	}
	for (size_t i = 0; i < process->n_frames; i++) {
		const struct mf_location *locations;
		size_t n = mf_symbolizer_resolve(process->symbolizer, process->frames[i], &locations);

		fuzz_require(n);
		for (size_t k = 0; k < n; k++)
			look_at(locations[k].function), look_at(locations[k].directory), look_at(locations[k].file);
	}
}

static void check_classes(const struct mf_class_count *classes, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		fuzz_require(classes[i].class < MF_DETAIL_CLASSES && classes[i].count);
		fuzz_require(!i || classes[i].class > classes[i - 1].class);
	}
}

static void check_process(const struct mf_recorded *process)
{
	const struct mf_profile *profile = &process->profile;
	const struct mf_facts *facts = &process->facts;

	fuzz_require(facts->name && profile->cmd && profile->desc);
	look_at(facts->name), look_at(profile->cmd), look_at(profile->desc), look_at(facts->version),
		look_at(facts->kernel);
	fuzz_require(profile->time_unit <= MF_TIME_BYTES && profile->what <= MF_PAGES_BOTH);
	fuzz_require(profile->n_objects && profile->objects[0].kind == MF_OBJECT_UNKNOWN);
	for (size_t i = 0; i < profile->n_objects; i++) {
		const struct mf_object *object = &profile->objects[i];

		fuzz_require(object->kind <= MF_OBJECT_NOTE && object->start <= object->end);
		fuzz_require(object->build_id_size <= MF_BUILD_ID_MAX);
		fuzz_require(object->kind == MF_OBJECT_UNKNOWN || object->path);
		look_at(object->path);
	}
	check_contexts(process);
	for (size_t i = 0; profile->details && i < profile->n_contexts; i++) {
		check_classes(profile->details[i].sizes, profile->details[i].n_sizes);
		check_classes(profile->details[i].lifetimes, profile->details[i].n_lifetimes);
		check_classes(profile->details[i].ages, profile->details[i].n_ages);
	}
	fuzz_resident_check(process);
	for (size_t i = 0; i < profile->n_snapshots; i++)
		check_snapshot(profile, &profile->snapshots[i]);
	check_snapshot(profile, process->end);
	fuzz_require(process->end->tree != MF_TREE_EMPTY);
}

static void write_moment(const struct mf_writer *writer, const struct mf_moment *moment, uint64_t sum)
{
	struct fuzz_sink sink = {
		.is_text = writer != &mf_writers[MF_FORMAT_PPROF], .is_json = writer == &mf_writers[MF_FORMAT_SPEEDSCOPE],
	};
	FILE *out = fuzz_sink_open(&sink);
	struct mf_error err;
	int code = writer->write_moment(out, moment, &err);

	fuzz_require(!code || sink.is_full);
	/* Stacks of nothing but allocation functions are left out; a file can have them, a program's profile cannot. */
	if (!code && writer == &mf_writers[MF_FORMAT_COLLAPSED])
		fuzz_require(moment->options->whole_stacks ? sink.sum == sum : sink.sum <= sum);
	fuzz_sink_close(&sink, out);
}

static void write_profile(const struct mf_writer *writer, const struct mf_recorded *process,
			  const struct mf_report_options *options)
{
	struct mf_profile profile = process->profile;
	struct fuzz_sink sink = { .is_text = true, .is_json = writer == &mf_writers[MF_FORMAT_JSON] };
	FILE *out = fuzz_sink_open(&sink);
	struct mf_error err;

	/* Massif's format has these as they are. */
	profile.cmd = profile.desc = "";
	if (profile.n_snapshots > SNAPSHOTS)
		profile.n_snapshots = SNAPSHOTS;
	fuzz_require(!writer->write_profile(out, &profile, options, process->symbolizer, &err) || sink.is_full);
	fuzz_sink_close(&sink, out);
}

static void write_moments(struct mf_recorded *process, const struct mf_report_options *options)
{
	const struct mf_profile *profile = &process->profile;
	struct mf_profile without_command = *profile;
	size_t n = 0;

	/* Callgrind's format has the command as it is, too. */
	without_command.cmd = "";
	for (size_t i = 0; i <= profile->n_snapshots && n < SNAPSHOTS; i++) {
		struct mf_moment moment = {
			.snapshot = i ? &profile->snapshots[i - 1] : process->end,
			.options = options,
			.symbolizer = process->symbolizer,
		};
		uint64_t sum;

		if (moment.snapshot->tree == MF_TREE_EMPTY)
			continue;
		n++;
		sum = check_snapshot(profile, moment.snapshot);
		for (enum mf_format format = 0; format < MF_FORMATS; format++) {
			if (!mf_writers[format].meaning || !mf_writers[format].write_moment)
				continue;
			moment.profile = format == MF_FORMAT_CALLGRIND ? &without_command : profile;
			write_moment(&mf_writers[format], &moment, sum);
		}
	}
}

/* What massif-ctl show prints. */
static void show(struct mf_recorded *process, const struct mf_report_options *options, uint8_t flags, uint8_t choice)
{
	struct fuzz_sink sink = { .is_text = true };
	const struct mf_terminal terminal = { .out = fuzz_sink_open(&sink), .width = 80, .utf8 = true };
	const struct mf_query query = {
		.options.report = *options, .by_given = choice & 1, .by = (choice >> 5) % MF_SITES_BYS,
	};
	const struct mf_site_table_part part = { process, { mf_profile_first(&process->profile, process->end), process->end } };
	const struct mf_moment moment = {
		.profile = &process->profile, .snapshot = part.snapshots[0], .options = options,
		.symbolizer = process->symbolizer,
	};
	const struct mf_site_table table = {
		.query = &query,
		.parts = &part,
		.n_parts = 1,
		.titles = { "first", "end" },
		.sort = flags & 0x40 ? 1 : (flags >> 1) % MF_SITES_VALUES,
		.growth = flags & 0x40,
		.by = (choice >> 5) % MF_SITES_BYS,
	};
	const struct mf_query of_temporary = { .temporary_given = true, .temporary = 1 + choice % 46 };
	struct mf_error err;

	mf_curve_draw(&terminal, &process->profile, 8);
	fuzz_require(!mf_site_table_print(&terminal, &table, &err));
	fuzz_require(!mf_tree_view_print(&terminal, &moment, false, &err));
	for (enum mf_detail_histogram which = 0; which < MF_DETAIL_HISTOGRAMS; which++) {
		bool known = which == MF_DETAIL_AGES ? process->profile.has_ages : process->profile.details != NULL;

		fuzz_require(!mf_class_table_print(&terminal, &query, process, which, &err) == known);
	}
	fuzz_require(!mf_size_table_print(&terminal, &process->profile, &err) == !!process->profile.sizes);
	fuzz_require(!mf_temporary_apply(&of_temporary, process, &err) ==
		     (process->profile.counts && process->profile.has_ages));
	fuzz_sink_close(&sink, terminal.out);
	fuzz_resident_show(process, options, flags, choice);
}

/*
 * Prints what massif-ctl diff prints for three pairs of processes of the file: the first and the last, all and the first,
 * the first and itself. All changed sites are printed, however many there are.
 */
static void diff(const struct mf_recording *recording, const struct mf_report_options *options, uint8_t flags, uint8_t choice)
{
	struct mf_recorded **list = recording->processes, *first = list[0], *last = list[recording->n_processes - 1];
	const struct mf_comparison_side sides[][MF_COMPARISON_SIDES] = {
		{ { &first, 1 }, { &last, 1 } },
		{ { list, recording->n_processes < SNAPSHOTS ? recording->n_processes : SNAPSHOTS }, { &first, 1 } },
		{ { &last, 1 }, { &last, 1 } },
	};
	const struct mf_query query = {
		.options.report = *options,
		.at = flags & 0x20 ? "end" : flags & 0x10 ? "1" : NULL,
		.counted = flags & 0x40,
		.count = (flags >> 1) % MF_COUNTS,
		.resident = (flags & 0x41) == 0 && choice & 0x40,
		.number = MF_RESIDENT_TOUCHED + (flags >> 1) % MF_RESIDENT_PINNED,
		.by_given = choice & 1,
		.by = (choice >> 5) % MF_SITES_BYS,
		.top = choice & 2 ? 3 : 0,
		.min = choice & 4 ? 1000 : 0,
	};

	for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++) {
		struct mf_comparison comparison = {
			.query = &query,
			.sides = { sides[i][MF_COMPARISON_OLD], sides[i][MF_COMPARISON_NEW] },
			.pinned = { .inclusive = choice & 8, .all_calls = choice & 16 },
			.touched = { .inclusive = choice & 8, .all_calls = choice & 16 },
			.sites = { .inclusive = choice & 8, .all_calls = choice & 16 },
		};
		struct fuzz_sink sink = { .is_text = true };
		const struct mf_terminal terminal = { .out = fuzz_sink_open(&sink), .width = 80, .utf8 = true };
		struct mf_error err = { 0 };

		if (mf_comparison_make(&comparison, &err)) {
			/* There is no such snapshot, or there are no counts or samples. */
			fuzz_require(err.text[0] && (query.at || query.counted || query.resident));
		} else {
			mf_comparison_print(&terminal, &comparison);
			/* Nothing has grown against itself. */
			fuzz_require(i != 2 || !mf_comparison_has_grown(&comparison));
		}
		mf_comparison_deinit(&comparison);
		fuzz_sink_close(&sink, terminal.out);
	}
}

/* Writes a budget of 1 for each measure that is known of the process, for all of it and, if it has any, for some stacks. */
static void write_budgets(FILE *out, const struct mf_recorded *process)
{
	static const char *const parts[] = { "function *f*", "file *.c", "library lib*" };

	for (enum mf_measure measure = 0; measure < MF_MEASURES; measure++) {
		const struct mf_measure_kind *kind = &mf_measure_kinds[measure];
		bool is_sampled = mf_measure_is_sampled(measure), unknown = kind->counted && !process->profile.counts;

		unknown |= measure != MF_MEASURE_PEAK && !is_sampled && !process->facts.version;
		unknown |= is_sampled && !(process->profile.residency && process->profile.residency->n_samples);
		unknown |= kind->touches && !process->profile.touches;
		if (unknown)
			continue;
		fprintf(out, "%s 1\n", kind->name);
		if (!kind->bands && (is_sampled || process->facts.version))
			fprintf(out, "%s %s 1\n", parts[measure % (sizeof(parts) / sizeof(parts[0]))], kind->name);
		if (kind->unit == MF_UNIT_COUNT_OR_PERCENT)
			fprintf(out, "%s 1%%\n", kind->name);
	}
}

/* Adds the budgets of write_budgets() to @check. */
static void add_budgets(struct mf_check *check, const struct mf_recorded *process)
{
	struct mf_error err;
	char *text, path[64];
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int fd;

	if (!out)
		abort();
	write_budgets(out, process);
	fclose(out);
	fd = fuzz_file(text, size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (mf_budgets_read(&check->budgets, path, &err))
		abort();
	close(fd);
	free(text);
}

/* Checks the process against budgets, with the suppressions that it contains, and writes the verdicts in all formats. */
static void check(struct mf_recorded *process, const struct mf_report_options *options)
{
	const struct mf_check_process checked = {
		.facts = &process->facts, .profile = &process->profile, .end = process->end, .options = options,
		.symbolizer = process->symbolizer, .uses_embedded = true,
	};
	struct mf_checker *checker = mf_checker_create();

	if (!checker)
		abort();
	add_budgets(&checker->check, process);
	mf_checker_add(checker, &checked);
	fuzz_require(!checker->failed && checker->verdicts.count == checker->check.budgets.count);
	for (size_t i = 0; i < mf_n_verdict_writers; i++) {
		struct fuzz_sink sink = { .is_text = true };
		FILE *out = fuzz_sink_open(&sink);

		mf_verdict_writers[i].write(out, &checker->verdicts);
		fuzz_sink_close(&sink, out);
	}
	mf_checker_destroy(checker);
}

/* Writes and shows what is left of a process when some of its stacks have been selected. */
static void select_stacks(struct mf_recorded *process, const struct mf_report_options *options)
{
	const struct mf_selection selection = {
		.thread = process->profile.threads ? "w*" : NULL,
		.through = process->profile.threads && process->profile.n_threads % 2 ? "m*" : "*f*",
	};
	bool any = false;
	struct mf_error err;

	fuzz_require(!mf_selection_apply(&selection, process, options, &any, &err));
	write_moments(process, options);
	show(process, options, 0, 0);
}

static struct mf_report_options options_of(uint8_t flags, uint8_t choice)
{
	struct mf_report_options options;

	mf_report_options_init(&options);
	if (choice & 1)
		options.threshold = 0;
	if (choice & 2)
		options.depth = 200;
	options.show_below_main = choice & 4;
	options.keep_unloaded = !(choice & 8);
	options.sym_offsets = choice & 16;
	options.whole_stacks = flags & 0x80;
	return options;
}

static void use(struct mf_recorded *process, uint8_t flags, uint8_t choice)
{
	const struct mf_report_options options = options_of(flags, choice);

	check_process(process);
	for (enum mf_format format = 0; format < MF_FORMATS; format++)
		if (mf_writers[format].meaning && mf_writers[format].write_profile)
			write_profile(&mf_writers[format], process, &options);
	write_moments(process, &options);
	show(process, &options, flags, choice);
	check(process, &options);
	select_stacks(process, &options);
}

/* Most mutations change the contents of one section, and its length accordingly. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned int seed)
{
	const uint8_t *list = data + (size < HEAD ? size : HEAD), *end = data + size;
	struct mf_cursor left = { list, end, false };
	struct section_list_part part;
	size_t n = 0, most, behind;
	uint8_t *copy, *rest, *contents;

	while (section_list_take(&left, &part))
		n++;
	if (!n || data[0] & 1 || seed % 8 == 0 || size > room)
		return LLVMFuzzerMutate(data, size, room);
	left = (struct mf_cursor){ list, end, false };
	for (n = seed / 8 % n + 1; n; n--)
		section_list_take(&left, &part);
	contents = data + (part.data - data);
	behind = (size_t)(end - left.at);
	most = room - size + part.size;
	/* LLVMFuzzerMutate() may make one byte where there is room for none. */
	if (!most)
		return LLVMFuzzerMutate(data, size, room);
	copy = malloc(room + 1);
	rest = malloc(behind + 1);
	if (!copy || !rest)
		abort();
	memcpy(rest, left.at, behind);
	memcpy(copy, contents, part.size);
	part.size = LLVMFuzzerMutate(copy, part.size, most < UINT16_MAX ? most : UINT16_MAX);
	memcpy(contents, copy, part.size);
	memcpy(contents + part.size, rest, behind);
	/* If the section was cut off, what there is of it is all of it now. */
	if (contents - data >= 5) {
		contents[-2] = (uint8_t)part.size;
		contents[-1] = (uint8_t)(part.size >> 8);
	}
	size = (size_t)(contents - data) + part.size + behind;
	free(copy);
	free(rest);
	return size;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	setlocale(LC_CTYPE, "C.UTF-8");
	mf_message_set_level(MF_MESSAGE_PROBLEM);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	uint8_t flags = fuzz_u8(&input), choice = fuzz_u8(&input);
	struct mf_recording recording;
	struct mf_bytes file = { 0 };
	struct mf_error err = { 0 };
	char path[64];
	int fd;

	if (flags & 1)
		mf_bytes_add(&file, input.at, input.left);
	else if (!section_list_seal((struct mf_cursor){ input.at, input.at + input.left, false }, &file))
		abort();
	fd = fuzz_file(file.data, file.size);
	mf_bytes_deinit(&file);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (mf_recording_read(path, &recording, &err)) {
		fuzz_require(err.text[0] && !recording.processes);
	} else {
		const struct mf_report_options options = options_of(flags, choice);

		fuzz_require(recording.n_processes);
		fuzz_page_make(&recording, &options, flags, choice);
		diff(&recording, &options, flags, choice);
		for (size_t i = 0; i < recording.n_processes && i < SNAPSHOTS; i++)
			use(recording.processes[i], flags, choice);
		fuzz_resident_list(&recording, choice);
	}
	mf_recording_release(&recording);
	close(fd);
	return 0;
}
