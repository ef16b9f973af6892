// SPDX-License-Identifier: GPL-2.0
// Writes the massif.out file of a process from its store.

#include "output.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "ctl/message/message.h"
#include "ctl/files/outfile.h"
#include "ctl/files/outname.h"
#include "ctl/files/outputs.h"
#include "ctl/files/recorder.h"
#include "ctl/message/quantity.h"
#include "ctl/output/recording.h"
#include "model/model.h"
#include "model/tally.h"
#include "report/collect.h"
#include "report/writers.h"
#include "symbols/symbolizer.h"

enum {
	MODE_HEAP = 0644,
	MODE_PAGES = 0600, /* file mode: only the owner may read a file made from copies of the program's stack */
};

static void destroy_symbolizer(struct mf_symbolizer **symbolizer)
{
	if (*symbolizer)
		mf_symbolizer_destroy(*symbolizer);
}

/* The largest total in a profile, and the time at which it was first reached. */
struct summit {
	uint64_t bytes;
	int64_t time;
};

static struct summit summit_of(const struct mf_profile *profile, uint64_t held, int64_t end)
{
	struct summit summit = { 0 };

	for (size_t i = 0; i < profile->n_snapshots; i++) {
		const struct mf_profile_snapshot *snapshot = &profile->snapshots[i];
		uint64_t total = mf_profile_total(snapshot);

		if (total > summit.bytes)
			summit = (struct summit){ total, snapshot->time };
	}
	/* The total at the end may be higher than the recorded peak, by up to --peak-inaccuracy. */
	return held > summit.bytes ? (struct summit){ held, end } : summit;
}

void mf_output_make_name(struct mf_output_name *name, const char *path, size_t length)
{
	const char *slash = memrchr(path, '/', length);
	size_t skipped = slash ? (size_t)(slash - path) + 1 : 0, i = 0;

	if (skipped == length)
		skipped = 0;
	for (; i < length - skipped && i < sizeof(name->text) - 1; i++) {
		unsigned char c = (unsigned char)path[skipped + i];

		name->text[i] = (char)(c < ' ' || c == 0x7f ? '?' : c);
	}
	name->text[i] = '\0';
}

/* Prints the summary line of a run. massif-ctl(1), "Messages", documents the line's format, which must not change. */
static void say_written(const struct mf_output_of *of, const struct mf_profile *profile,
			const char *file)
{
	struct mf_tally_totals end = mf_tally_look(of->store, of->end.now);
	uint64_t held = end.heap + end.extra + end.stacks;
	struct summit summit = summit_of(profile, held, end.time);

	mf_message_say(MF_MESSAGE_NOTE, "%s (pid %d): peak %s at %s; %s held at the end; wrote %s",
		       of->name, (int)of->pid, mf_quantity_bytes(summit.bytes).text,
		       mf_quantity_time(summit.time, profile->time_unit).text,
		       mf_quantity_bytes(held).text, file);
}

static void tell_names(size_t done, size_t total)
{
	mf_message_progress("looking up names", done, total);
}

/* What fill_profile() needs to write a massif.out file. */
struct profile_source {
	const struct mf_options *options;
	const struct mf_profile *profile;
	struct mf_symbolizer *symbolizer;
};

static int fill_profile(FILE *out, void *data, struct mf_error *err)
{
	const struct profile_source *source = data;

	return mf_writers[MF_FORMAT_MASSIF].write_profile(out, source->profile, &source->options->report,
							source->symbolizer, err);
}

/* Writes a profile's massif.out file; takes the parameters of mf_outputs_write() and returns its result. */
static int write_profile(const struct mf_options *options, const struct mf_profile *profile,
			 struct mf_symbolizer *symbolizer, const char *path, pid_t pid, char **name,
			 struct mf_error *err)
{
	struct profile_source contents = { .options = options, .profile = profile, .symbolizer = symbolizer };
	char stem[32];
	const struct mf_outfile_source source = {
		.fill = fill_profile,
		.data = &contents,
		.mode = profile->pages ? MODE_PAGES : MODE_HEAP,
		.stem = stem,
	};

	snprintf(stem, sizeof(stem), "massif.out.%d", (int)pid);
	return mf_outputs_write(options->outputs, MF_OUTPUT_PROFILE, path, pid, &source, name, err);
}

/* Sets the fields of @profile that are not in the store, or that the program could have overwritten in the store. */
static void describe(struct mf_profile *profile, const struct mf_options *options,
		     const struct mf_output_of *of)
{
	profile->desc = options->desc;
	profile->residency = of->residency;
	profile->cmd = of->cmd;
	profile->pages = of->pages;
	profile->what = of->pages ? options->pages : MF_PAGES_VIRTUAL;
	profile->time_unit = options->model.time_unit;
}

/* Collects the profile and writes it. */
static int write_store(const struct mf_options *options, const struct mf_output_of *of,
		       struct mf_error *err)
{
	__attribute__((cleanup(mf_collection_release))) struct mf_collection collection = { 0 };
	__attribute__((cleanup(destroy_symbolizer))) struct mf_symbolizer *symbolizer = NULL;
	struct mf_symbolizer_options names = options->symbolizer;
	struct mf_profile *profile = &collection.profile;
	mf_auto_free char *path = NULL, *name = NULL, *desc = NULL;
	int ret;

	if (of->remark && asprintf(&desc, "%s [%s]", options->desc, of->remark) < 0)
		return mf_error_set(err, -ENOMEM, "out of memory");
	ret = mf_outname_expand(options->out_file, of->pid, 1, &path, err);
	if (ret)
		return ret;
	ret = mf_collect(of->store, of->end, &collection, err);
	if (ret)
		return ret;
	describe(profile, options, of);
	if (desc)
		profile->desc = desc;
	names.progress = tell_names;
	ret = mf_symbolizer_create(profile->objects, profile->n_objects, &names, &symbolizer, err);
	if (ret)
		return ret;
	ret = write_profile(options, profile, symbolizer, path, of->pid, &name, err);
	if (ret)
		return ret;
	say_written(of, profile, name);
	return mf_output_record(options, of, &collection, symbolizer, profile->pages || of->touched ? MODE_PAGES : MODE_HEAP,
				err);
}

int mf_output_write(const struct mf_options *options, const struct mf_output_of *of,
		    struct mf_error *err)
{
	int ret = write_store(options, of, err);

	if (ret)
		mf_outputs_lose(options->outputs);
	return ret;
}

/* The files that are written when the profile ends. */
static const struct {
	enum mf_output_kind kind;
	const char *option;
	size_t place; /* offset of the file's name in struct mf_options */
} files[] = {
	{ MF_OUTPUT_PROFILE, "--massif-out-file", offsetof(struct mf_options, out_file) },
	{ MF_OUTPUT_XTREE, "--xtree-memory-file", offsetof(struct mf_options, xtree_file) },
	{ MF_OUTPUT_RECORDING, "--record", offsetof(struct mf_options, record_file) },
};

#define FILES (sizeof(files) / sizeof(files[0]))

/* Returns the unexpanded name of file @i; NULL if this file is not written. */
static const char *pattern_of(const struct mf_options *options, size_t i)
{
	if (files[i].kind == MF_OUTPUT_XTREE && !options->xtree)
		return NULL;
	return *(const char *const *)((const char *)options + files[i].place);
}

static int check_file(const char *pattern, const char *option, bool *own, struct mf_error *err)
{
	mf_auto_free char *arg = NULL, *name = NULL;
	struct mf_error reason;
	const char *number;
	int ret;

	/*
	 * The program has no pid yet, so %p is not expanded. If %p is part of a directory's name, it is therefore too
	 * early to check the file.
	 */
	ret = mf_outname_expand(pattern, 0, 1, &name, &reason);
	if (ret) {
		if (asprintf(&arg, "%s=%s", option, pattern) < 0)
			return mf_error_set(err, -ENOMEM, "out of memory");
		mf_options_explain(err, arg, reason.text);
		return ret;
	}
	*own |= mf_outfile_needs_descriptors(name);
	number = strstr(pattern, "%p");
	if (number && strchr(number, '/'))
		return 0;
	ret = mf_outfile_check(name, &reason);
	return ret ? mf_error_set(err, ret, "%.900s; choose another file with %s", reason.text, option) :
		     0;
}

int mf_output_check(const struct mf_options *options, bool *own, struct mf_error *err)
{
	int ret = 0;

	*own = false;
	for (size_t i = 0; i < FILES && !ret; i++) {
		const char *pattern = pattern_of(options, i);

		if (pattern)
			ret = check_file(pattern, files[i].option, own, err);
	}
	return ret;
}

void mf_output_reserve(const struct mf_options *options, pid_t pid)
{
	mf_recorder_set_pid(options->recorder, pid);
	for (size_t i = 0; i < FILES; i++) {
		const char *pattern = pattern_of(options, i);
		mf_auto_free char *name = NULL;
		struct mf_error err;

		if (pattern && !mf_outname_expand(pattern, pid, 1, &name, &err))
			mf_outputs_reserve(options->outputs, files[i].kind, name, pid);
	}
}

int mf_output_print(const struct mf_options *options, const struct mf_output_of *of,
		    enum mf_output_part part, FILE *out, struct mf_error *err)
{
	__attribute__((cleanup(mf_collection_release))) struct mf_collection collection = { 0 };
	__attribute__((cleanup(destroy_symbolizer))) struct mf_symbolizer *symbolizer = NULL;
	struct mf_profile *profile = &collection.profile;
	int ret;

	if (part == MF_OUTPUT_KEPT)
		ret = mf_collect(of->store, (struct mf_end){ 0 }, &collection, err);
	else
		ret = mf_collect_present(of->store, of->end.now, part == MF_OUTPUT_DETAILED, &collection,
					 err);
	if (ret)
		return ret;
	describe(profile, options, of);
	ret = mf_symbolizer_create(profile->objects, profile->n_objects, &options->symbolizer,
				   &symbolizer, err);
	if (ret)
		return ret;
	ret = mf_writers[MF_FORMAT_MASSIF].write_profile(out, profile, &options->report, symbolizer, err);
	return ret ? mf_error_set(err, ret, "cannot create the file: %s", strerror(-ret)) : 0;
}
