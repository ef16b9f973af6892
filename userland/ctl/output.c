// SPDX-License-Identifier: GPL-2.0
// From a store to the massif.out file of a process.

#include "ctl/output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "ctl/message.h"
#include "ctl/outfile.h"
#include "ctl/outname.h"
#include "ctl/quantity.h"
#include "model/tally.h"
#include "report/collect.h"
#include "report/massif_file.h"
#include "symbols/symbolizer.h"

enum {
	MODE_HEAP = 0644,
	MODE_PAGES = 0600, /* made from copies of the program's stack */
};

static void destroy_symbolizer(struct mf_symbolizer **symbolizer)
{
	if (*symbolizer)
		mf_symbolizer_destroy(*symbolizer);
}

/* The most that a profile knows to have been held, and when that was first so. */
struct summit {
	uint64_t bytes;
	int64_t time;
};

static struct summit summit_of(const struct mf_profile *profile, uint64_t held, int64_t end)
{
	struct summit summit = { 0 };

	for (size_t i = 0; i < profile->n_snapshots; i++) {
		const struct mf_profile_snapshot *s = &profile->snapshots[i];
		uint64_t total = s->heap_bytes + s->extra_bytes + s->stack_bytes;

		if (total > summit.bytes)
			summit = (struct summit){ total, s->time };
	}
	/* The snapshots may be lower by the inaccuracy that is allowed. */
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

/* The answer to what everybody asks first. Its form is a promise: massif-ctl(1), "Messages". */
static void say_written(const struct mf_output_of *of, const struct mf_profile *profile,
			const char *file)
{
	struct mf_tally_totals end = mf_tally_look(of->store, of->now);
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

static int write_profile(const struct mf_options *options, const struct mf_profile *profile,
			 const char *name, struct mf_error *err)
{
	__attribute__((cleanup(destroy_symbolizer))) struct mf_symbolizer *symbolizer = NULL;
	__attribute__((cleanup(mf_outfile_discard))) struct mf_outfile file = { 0 };
	struct mf_symbolizer_options names = options->symbolizer;
	int ret;

	names.progress = tell_names;
	ret = mf_symbolizer_create(profile->objects, profile->n_objects, &names, &symbolizer, err);
	if (ret)
		return ret;
	ret = mf_outfile_open(&file, name, profile->pages ? MODE_PAGES : MODE_HEAP, err);
	if (ret)
		return ret;
	ret = mf_massif_file_write(file.stream, profile, &options->report, symbolizer, err);
	if (ret)
		return ret == -ENOMEM ? ret : mf_outfile_explain(name, ret, err);
	return mf_outfile_commit(&file, err);
}

/* What the store does not say, or not reliably: the program can write into it. */
static void describe(struct mf_profile *profile, const struct mf_options *options,
		     const struct mf_output_of *of)
{
	profile->desc = options->desc;
	profile->cmd = of->cmd;
	profile->pages = of->pages;
	profile->what = of->pages ? options->pages : MF_PAGES_VIRTUAL;
	profile->time_unit = options->model.time_unit;
}

int mf_output_write(const struct mf_options *options, const struct mf_output_of *of,
		    struct mf_error *err)
{
	__attribute__((cleanup(mf_collection_release))) struct mf_collection collection = { 0 };
	struct mf_profile *profile = &collection.profile;
	mf_auto_free char *name = NULL, *desc = NULL;
	int ret;

	if (of->remark && asprintf(&desc, "%s [%s]", options->desc, of->remark) < 0)
		return mf_error_set(err, -ENOMEM, "out of memory");
	ret = mf_outname_expand(options->out_file, of->pid, 1, &name, err);
	if (ret)
		return ret;
	ret = mf_collect(of->store, of->cut_off ? &of->now : NULL, &collection, err);
	if (ret)
		return ret;
	describe(profile, options, of);
	if (desc)
		profile->desc = desc;
	ret = write_profile(options, profile, name, err);
	if (ret)
		return ret;
	say_written(of, profile, name);
	return 0;
}

int mf_output_check(const struct mf_options *options, bool *own, struct mf_error *err)
{
	mf_auto_free char *arg = NULL, *name = NULL;
	struct mf_error reason;
	const char *number;
	int ret;

	/* The program has no number yet; any is as good to see whether the directory is there. */
	ret = mf_outname_expand(options->out_file, 0, 1, &name, &reason);
	if (ret) {
		if (asprintf(&arg, "--massif-out-file=%s", options->out_file) < 0)
			return mf_error_set(err, -ENOMEM, "out of memory");
		mf_options_explain(err, arg, reason.text);
		return ret;
	}
	*own = mf_outfile_needs_descriptors(name);
	number = strstr(options->out_file, "%p");
	if (number && strchr(number, '/'))
		return 0;
	return mf_outfile_check(name, err);
}

int mf_output_print(const struct mf_options *options, const struct mf_output_of *of,
		    enum mf_output_part part, FILE *out, struct mf_error *err)
{
	__attribute__((cleanup(mf_collection_release))) struct mf_collection collection = { 0 };
	__attribute__((cleanup(destroy_symbolizer))) struct mf_symbolizer *symbolizer = NULL;
	struct mf_profile *profile = &collection.profile;
	int ret;

	if (part == MF_OUTPUT_KEPT)
		ret = mf_collect(of->store, NULL, &collection, err);
	else
		ret = mf_collect_present(of->store, of->now, part == MF_OUTPUT_DETAILED, &collection,
					 err);
	if (ret)
		return ret;
	describe(profile, options, of);
	ret = mf_symbolizer_create(profile->objects, profile->n_objects, &options->symbolizer,
				   &symbolizer, err);
	if (ret)
		return ret;
	ret = mf_massif_file_write(out, profile, &options->report, symbolizer, err);
	return ret ? mf_error_set(err, ret, "the file cannot be made: %s", strerror(-ret)) : 0;
}
