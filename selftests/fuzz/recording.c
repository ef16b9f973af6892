// SPDX-License-Identifier: GPL-2.0
// Fuzzes the readers of recordings and of massif.out files, and everything that export, show, diff and check make of what
// they read.
//
// An input begins with two bytes, which choose options of the reports. If bit 0 of the first is set, the rest is the
// file. Otherwise the rest is a list of sections, each a type, a length and that many bytes of contents, which the
// fuzzer compresses and seals: random bytes would never have the right checksum.

#include "selftests/fuzz/fuzz.h"

#include <errno.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>

#include "ctl/check/verdict_writers.h"
#include "ctl/query/class_table.h"
#include "ctl/query/comparison.h"
#include "ctl/query/curve.h"
#include "ctl/query/residency_view.h"
#include "ctl/query/selection.h"
#include "ctl/query/size_table.h"
#include "ctl/query/site_table.h"
#include "ctl/query/temporary.h"
#include "ctl/query/tree_view.h"
#include "recording/reader.h"
#include "report/writers.h"

#define SNAPSHOTS 3u	    /* so many snapshots of a process are written in each format */
#define BYTES	  (1u << 18) /* output is not written further: a few stacks can have gigabytes of text */

int LLVMFuzzerInitialize(int *argc, char ***argv);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned int seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);

/* Where output goes. */
struct sink {
	size_t size;
	bool is_full;
	bool is_text; /* without control characters */
	uint64_t number, sum; /* the number at the end of the current line, and those of all lines before */
};

static ssize_t take_output(void *cookie, const char *bytes, size_t size)
{
	struct sink *sink = cookie;

	if (sink->size + size > BYTES) {
		sink->is_full = true;
		errno = ENOSPC;
		return 0;
	}
	sink->size += size;
	for (size_t i = 0; i < size; i++) {
		fuzz_require(!sink->is_text || bytes[i] == '\n' || ((unsigned char)bytes[i] >= ' ' && bytes[i] != 0x7f));
		if (bytes[i] == '\n')
			sink->sum += sink->number;
		sink->number = bytes[i] >= '0' && bytes[i] <= '9' ? 10 * sink->number + (uint64_t)(bytes[i] - '0') : 0;
	}
	return (ssize_t)size;
}

static FILE *open_sink(struct sink *sink)
{
	FILE *out = fopencookie(sink, "w", (cookie_io_functions_t){ .write = take_output });

	if (!out)
		abort();
	return out;
}

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

static void check_sites(const struct mf_profile *profile, const struct mf_residency_detail *detail)
{
	for (size_t i = 0; i < detail->n_sites; i++) {
		fuzz_require(detail->sites[i].context < profile->n_contexts);
		fuzz_require(!i || detail->sites[i].context > detail->sites[i - 1].context);
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
	if (profile->residency) {
		check_sites(profile, &profile->residency->peak);
		check_sites(profile, &profile->residency->last);
	}
	for (size_t i = 0; i < profile->n_snapshots; i++)
		check_snapshot(profile, &profile->snapshots[i]);
	check_snapshot(profile, process->end);
	fuzz_require(process->end->tree != MF_TREE_EMPTY);
}

static void write_moment(const struct mf_writer *writer, const struct mf_moment *moment, uint64_t sum)
{
	struct sink sink = { .is_text = writer != &mf_writers[MF_FORMAT_PPROF] };
	FILE *out = open_sink(&sink);
	struct mf_error err;
	int code = writer->write_moment(out, moment, &err);

	fuzz_require(!code || sink.is_full);
	/* Stacks of nothing but allocation functions are left out; a file can have them, a program's profile cannot. */
	if (!code && writer == &mf_writers[MF_FORMAT_COLLAPSED])
		fuzz_require(moment->options->whole_stacks ? sink.sum == sum : sink.sum <= sum);
	fclose(out);
}

static void write_profile(const struct mf_writer *writer, const struct mf_recorded *process,
			  const struct mf_report_options *options)
{
	struct mf_profile profile = process->profile;
	struct sink sink = { .is_text = true };
	FILE *out = open_sink(&sink);
	struct mf_error err;

	/* Massif's format has these as they are. */
	profile.cmd = profile.desc = "";
	if (profile.n_snapshots > SNAPSHOTS)
		profile.n_snapshots = SNAPSHOTS;
	fuzz_require(!writer->write_profile(out, &profile, options, process->symbolizer, &err) || sink.is_full);
	fclose(out);
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
	struct sink sink = { .is_text = true };
	const struct mf_terminal terminal = { .out = open_sink(&sink), .width = 80, .utf8 = true };
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
	for (int i = 0; i < 2; i++) {
		const struct mf_residency *residency = process->profile.residency;
		struct mf_query of_rss = query;

		of_rss.at = i ? "end" : NULL;
		fuzz_require(!mf_residency_view_print(&terminal, &of_rss, process, &err) ==
			     (residency && residency->n_samples));
	}
	fclose(terminal.out);
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
		.by_given = choice & 1,
		.by = (choice >> 5) % MF_SITES_BYS,
		.top = choice & 2 ? 3 : 0,
		.min = choice & 4 ? 1000 : 0,
	};

	for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++) {
		struct mf_comparison comparison = {
			.query = &query,
			.sides = { sides[i][MF_COMPARISON_OLD], sides[i][MF_COMPARISON_NEW] },
			.sites = { .inclusive = choice & 8, .all_calls = choice & 16 },
		};
		struct sink sink = { .is_text = true };
		const struct mf_terminal terminal = { .out = open_sink(&sink), .width = 80, .utf8 = true };
		struct mf_error err = { 0 };

		if (mf_comparison_make(&comparison, &err)) {
			/* There is no such snapshot, or there are no counts. */
			fuzz_require(err.text[0] && (query.at || query.counted));
		} else {
			mf_comparison_print(&terminal, &comparison);
			/* Nothing has grown against itself. */
			fuzz_require(i != 2 || !mf_comparison_has_grown(&comparison));
		}
		mf_comparison_deinit(&comparison);
		fclose(terminal.out);
	}
}

/* Checks the process against a budget of 1 for each measure that is known, and writes the verdicts in all formats. */
static void check(struct mf_recorded *process, const struct mf_report_options *options)
{
	static const char *const formats[] = { "text", "tap", "junit" };
	const struct mf_check_process checked = {
		&process->facts, &process->profile, process->end, options, process->symbolizer,
	};
	struct mf_verdicts verdicts = { 0 };
	struct mf_check budgets = { 0 };
	struct mf_error err;

	for (enum mf_measure measure = 0; measure < MF_MEASURES; measure++) {
		bool unknown = mf_measure_kinds[measure].counted && !process->profile.counts;

		unknown |= measure != MF_MEASURE_PEAK && !process->facts.version;
		unknown |= mf_measure_is_sampled(measure) &&
			   !(process->profile.residency && process->profile.residency->n_samples);
		unknown |= mf_measure_kinds[measure].touches && !process->profile.touches;
		if (!unknown && mf_budgets_add(&budgets.budgets, measure, "1", &err))
			abort();
	}
	fuzz_require(!mf_verdicts_add(&verdicts, &budgets, &checked, &err) && verdicts.count == budgets.budgets.count);
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		struct sink sink = { .is_text = true };
		FILE *out = open_sink(&sink);

		mf_verdict_writers_find(formats[i])->write(out, &verdicts);
		fclose(out);
	}
	mf_verdicts_deinit(&verdicts);
	mf_check_deinit(&budgets);
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

/* Takes the next section of an input. Returns its type. */
static enum mf_section_type take_section(struct fuzz_input *input, struct mf_bytes *contents)
{
	uint8_t type = fuzz_u8(input) % (MF_SECTION_TYPES + 1);
	size_t size = fuzz_u16(input);

	*contents = (struct mf_bytes){ .data = (uint8_t *)input->at, .size = size < input->left ? size : input->left };
	input->at += contents->size;
	input->left -= contents->size;
	return type;
}

static void add_sections(struct mf_bytes *file, struct fuzz_input *input)
{
	struct mf_bytes contents;

	mf_section_add_magic(file);
	while (input->left) {
		enum mf_section_type type = take_section(input, &contents);

		if (mf_section_add(file, type, &contents))
			abort();
	}
}

/* Most mutations change the contents of one section, and its length accordingly. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned int seed)
{
	struct fuzz_input input = { data, size };
	struct mf_bytes contents = { 0 };
	uint8_t *copy, *rest;
	size_t n = 0, most;

	for (fuzz_u16(&input); input.left; n++)
		take_section(&input, &contents);
	if (!n || data[0] & 1 || seed % 8 == 0 || size > room)
		return LLVMFuzzerMutate(data, size, room);
	input = (struct fuzz_input){ data, size };
	fuzz_u16(&input);
	for (n = seed / 8 % n + 1; n; n--)
		take_section(&input, &contents);
	most = room - size + contents.size;
	copy = malloc(room + 1);
	rest = malloc(input.left + 1);
	if (!copy || !rest)
		abort();
	memcpy(rest, input.at, input.left);
	memcpy(copy, contents.data, contents.size);
	contents.size = LLVMFuzzerMutate(copy, contents.size, most < UINT16_MAX ? most : UINT16_MAX);
	memcpy(contents.data, copy, contents.size);
	memcpy(contents.data + contents.size, rest, input.left);
	/* If the section was cut off, what there is of it is all of it now. */
	if (contents.data - data >= 5) {
		contents.data[-2] = (uint8_t)contents.size;
		contents.data[-1] = (uint8_t)(contents.size >> 8);
	}
	size = (size_t)(contents.data - data) + contents.size + input.left;
	free(copy);
	free(rest);
	return size;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	setlocale(LC_CTYPE, "C.UTF-8");
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
	else
		add_sections(&file, &input);
	fd = fuzz_file(file.data, file.size);
	mf_bytes_deinit(&file);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (mf_recording_read(path, &recording, &err)) {
		fuzz_require(err.text[0] && !recording.processes);
	} else {
		const struct mf_report_options options = options_of(flags, choice);

		fuzz_require(recording.n_processes);
		diff(&recording, &options, flags, choice);
		for (size_t i = 0; i < recording.n_processes && i < SNAPSHOTS; i++)
			use(recording.processes[i], flags, choice);
	}
	mf_recording_release(&recording);
	close(fd);
	return 0;
}
