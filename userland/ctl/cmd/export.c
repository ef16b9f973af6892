// SPDX-License-Identifier: GPL-2.0
// massif-ctl export: writes a recorded profile in the format of another program.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "command.h"
#include "ctl/files/outfile.h"
#include "ctl/message/message.h"
#include "ctl/query/query.h"
#include "recording/reader.h"
#include "report/counted.h"
#include "report/writers.h"

#define MODE 0600

static int refuse(const struct mf_error *err)
{
	mf_message_say(MF_MESSAGE_ERROR, "%s", err->text);
	return 1;
}

struct export {
	const struct mf_query *query;
	struct mf_recorded *process;
	const struct mf_writer *writer;
};

/* Appends the options given now to those of the run, as if all of them had been given then. */
static int describe(struct mf_profile *profile, const struct mf_options *options, char **desc, struct mf_error *err)
{
	if (strcmp(options->desc, "(none)") == 0)
		return 0;
	if (strcmp(profile->desc, "(none)") == 0) {
		profile->desc = options->desc;
		return 0;
	}
	if (asprintf(desc, "%s %s", profile->desc, options->desc) < 0)
		return mf_error_set(err, -ENOMEM, "out of memory");
	profile->desc = *desc;
	return 0;
}

static int write_profile(FILE *out, const struct export *export, struct mf_error *err)
{
	struct mf_recorded *process = export->process;
	struct mf_profile profile = process->profile;
	mf_auto_free struct mf_profile_snapshot *snapshots = NULL;

	/* The end may be one of the snapshots already. */
	if (export->writer->with_end &&
	    (!profile.n_snapshots || process->end != &profile.snapshots[profile.n_snapshots - 1])) {
		snapshots = calloc(profile.n_snapshots + 1, sizeof(*snapshots));
		if (!snapshots)
			return mf_error_set(err, -ENOMEM, "out of memory");
		if (profile.n_snapshots)
			memcpy(snapshots, profile.snapshots, profile.n_snapshots * sizeof(*snapshots));
		snapshots[profile.n_snapshots++] = *process->end;
		profile.snapshots = snapshots;
	}
	return export->writer->write_profile(out, &profile, &export->query->options.report, process->symbolizer, err);
}

/* If --at chooses a moment of which the live blocks are known, they are those of the moment instead of the end. */
static int write_counts(FILE *out, const struct export *export, const struct mf_moment *moment, struct mf_error *err)
{
	bool of_moment = export->query->count == MF_COUNT_LIVE && export->query->at && moment->snapshot->has_blocks;
	struct mf_counted counted;
	int code = of_moment ? mf_counted_init_blocks(&counted, moment, err) :
			       mf_counted_init(&counted, moment, export->query->count, err);

	if (!code)
		code = export->writer->write_moment(out, &counted.moment, err);
	mf_counted_deinit(&counted);
	return code;
}

static int write_resident(FILE *out, const struct export *export, const struct mf_moment *moment, struct mf_error *err)
{
	const struct mf_residency_detail *detail = mf_resident_detail(moment->profile, moment->is_end);
	struct mf_counted counted;
	int code = mf_counted_init_resident(&counted, moment, detail, export->query->number, err);

	if (!code)
		code = export->writer->write_moment(out, &counted.moment, err);
	mf_counted_deinit(&counted);
	return code;
}

static int fill(FILE *out, void *data, struct mf_error *err)
{
	const struct export *export = data;
	const struct mf_report_options *options = &export->query->options.report;
	struct mf_moment moment = {
		.profile = &export->process->profile,
		.options = options,
		.symbolizer = export->process->symbolizer,
	};

	if (export->writer->write_profile)
		return write_profile(out, export, err);
	moment.snapshot = mf_query_snapshot(export->query, export->process, err);
	moment.is_end = moment.snapshot == export->process->end;
	if (!moment.snapshot)
		return -ESRCH;
	if (export->query->resident)
		return write_resident(out, export, &moment, err);
	return export->query->counted ? write_counts(out, export, &moment, err) :
					export->writer->write_moment(out, &moment, err);
}

static int check_value(const struct export *export, struct mf_error *err)
{
	if (!export->query->counted && !export->query->resident)
		return 0;
	if (!export->writer->one_value)
		return mf_error_set(err, -EINVAL, "--value: only collapsed and speedscope have a single number for each "
						  "stack; %s has all that it can express", export->writer->name);
	if (export->query->resident)
		return mf_resident_detail(&export->process->profile, false) ? 0 :
		       mf_error_set(err, -ENODATA, "--value: the file has no samples of the resident set: make the recording "
						   "with massif-ctl record --rss=yes");
	if (!export->process->profile.counts)
		return mf_error_set(err, -ENODATA, "--value: the file has no counts: it is of pages mode, or a massif.out "
						   "file");
	return 0;
}

/* The merged entries of a massif.out file could not be written as they were, and the file is there already. */
static int check_source(const struct export *export, struct mf_error *err)
{
	if (export->process->facts.version || export->writer != &mf_writers[MF_FORMAT_MASSIF])
		return 0;
	return mf_error_set(err, -EINVAL, "'%.600s' already is a massif.out file; ms_print --threshold shows less of it",
			    export->query->files[0]);
}

static int choose_writer(const struct mf_query *query, struct export *export, struct mf_error *err)
{
	enum mf_format format = mf_writers_find(query->to ? query->to : "massif");
	char names[256] = "";

	if (format < MF_FORMATS && mf_writers[format].meaning) {
		export->writer = &mf_writers[format];
		return 0;
	}
	for (size_t i = 0, n = 0; i < MF_FORMATS; i++)
		if (mf_writers[i].meaning)
			n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", n ? ", " : "", mf_writers[i].name);
	return mf_error_set(err, -EINVAL, "--to=%.100s: there is no such format; there are %s", query->to, names);
}

static int check_temporary(const struct export *export, struct mf_error *err)
{
	const struct mf_query *query = export->query;

	if (!query->temporary_given || export->writer == &mf_writers[MF_FORMAT_JSON] ||
	    (query->counted && query->count == MF_COUNT_TEMPORARIES))
		return 0;
	if (export->writer->one_value)
		return mf_error_set(err, -EINVAL, "--temporary: %s has temporary blocks only with --value=temporary",
				    export->writer->name);
	return mf_error_set(err, -EINVAL, "--temporary: %s has no temporary blocks; json, collapsed and speedscope have them",
			    export->writer->name);
}

/* The totals of all snapshots are of all stacks. */
static int check_selection(const struct export *export, struct mf_error *err)
{
	const struct mf_selection *selection = &export->query->selection;

	if (!export->writer->write_profile || (!selection->thread && !selection->through))
		return 0;
	return mf_error_set(err, -EINVAL, "--thread and --through: %s has all stacks; use another format",
			    export->writer->name);
}

static int export_file(struct mf_query *query)
{
	__attribute__((cleanup(mf_recording_release))) struct mf_recording recording = { 0 };
	struct export export = { .query = query };
	const struct mf_outfile_source source = { .fill = fill, .data = &export, .mode = MODE, .stem = "massif.export" };
	mf_auto_free char *desc = NULL;
	struct mf_error err;

	if (choose_writer(query, &export, &err) || mf_recording_read(query->files[0], &recording, &err))
		return refuse(&err);
	mf_query_say_damage(query->files[0], &recording);
	export.process = mf_query_process(query, &recording, &err);
	if (!export.process || check_source(&export, &err) || check_value(&export, &err) ||
	    check_temporary(&export, &err) || check_selection(&export, &err) ||
	    mf_query_select(query, &export.process, 1, &err) ||
	    describe(&export.process->profile, &query->options, &desc, &err) || mf_query_write(query, &source, &err))
		return refuse(&err);
	return 0;
}

const char *const mf_command_export_words[] = {
	"--pid", "--at", "--to", "--value", "--temporary", "--thread", "--through", "--output", "-o", NULL,
};

int mf_command_export(int argc, char **argv)
{
	__attribute__((cleanup(mf_query_release))) struct mf_query query = { 0 };
	struct mf_error err;

	if (mf_query_parse(&query, argc, argv, 1, mf_command_export_words, &err))
		return refuse(&err);
	return export_file(&query);
}
