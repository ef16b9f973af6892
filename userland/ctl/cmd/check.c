// SPDX-License-Identifier: GPL-2.0
// massif-ctl check: compares what a recording says with budgets.

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "ctl/check/checker.h"
#include "ctl/check/verdict_writers.h"
#include "ctl/files/outfile.h"
#include "ctl/message/message.h"
#include "ctl/query/query.h"
#include "ctl/query/temporary.h"
#include "recording/reader.h"

#define MODE 0644

enum {
	STATUS_KEPT,  /* no budget is exceeded */
	STATUS_OVER,
	STATUS_ERROR, /* bad options, or a recording that cannot be read or does not say enough */
};

static int refuse(const struct mf_error *err)
{
	mf_message_say(MF_MESSAGE_ERROR, "%s", err->text);
	return STATUS_ERROR;
}

/* Verdicts to be written, and how. */
struct output {
	const struct mf_verdict_writer *writer;
	const struct mf_verdicts *verdicts;
};

static int fill(FILE *out, void *data, struct mf_error *err)
{
	const struct output *output = data;

	output->writer->write(out, output->verdicts);
	return fflush(out) || ferror(out) ? mf_error_set(err, -errno, "cannot write the verdicts: %s", strerror(errno)) : 0;
}

static int choose_writer(const struct mf_query *query, struct output *output, struct mf_error *err)
{
	char names[128] = "";

	output->writer = mf_verdict_writers_find(query->format ?: "text");
	if (output->writer)
		return 0;
	for (size_t i = 0, n = 0; i < mf_n_verdict_writers; i++)
		n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", n ? ", " : "", mf_verdict_writers[i].name);
	return mf_error_set(err, -EINVAL, "--format=%.100s: there is no such format; there are %s", query->format,
			    names);
}

static int check_recording(const struct mf_query *query, const struct mf_recording *recording, struct mf_error *err)
{
	struct mf_checker *checker = query->options.checker;
	const struct mf_recorded *only = NULL;

	if (query->pid) {
		only = mf_query_process(query, recording, err);
		if (!only)
			return -ESRCH;
	}
	for (size_t i = 0; i < recording->n_processes; i++) {
		struct mf_recorded *process = recording->processes[i];
		const struct mf_check_process checked = {
			.facts = &process->facts,
			.profile = &process->profile,
			.end = process->end,
			.options = &query->options.report,
			.symbolizer = process->symbolizer,
			.uses_embedded = query->options.embedded_suppressions,
		};

		if (only && only != process)
			continue;
		if (mf_temporary_apply(query, process, err))
			return -ENODATA;
		mf_checker_add(checker, &checked);
	}
	return mf_verdicts_finish(&checker->verdicts, &checker->check, err);
}

static int check_file(const struct mf_query *query)
{
	__attribute__((cleanup(mf_recording_release))) struct mf_recording recording = { 0 };
	struct mf_checker *checker = query->options.checker;
	struct output output = { .verdicts = &checker->verdicts };
	const struct mf_outfile_source source = { .fill = fill, .data = &output, .mode = MODE, .stem = "massif.check" };
	struct mf_error err;
	bool certain;

	if (!mf_checker_has_budgets(checker)) {
		mf_error_set(&err, -EINVAL, "there is no budget; give one with --max-peak, for example, or --budget=FILE");
		return refuse(&err);
	}
	if (choose_writer(query, &output, &err) || mf_recording_read(query->files[0], &recording, &err))
		return refuse(&err);
	mf_query_say_damage(query->files[0], &recording);
	if (check_recording(query, &recording, &err))
		return refuse(&err);
	if (checker->failed)
		return STATUS_ERROR;
	certain = mf_checker_is_certain(checker) && !recording.damage;
	if (mf_query_write(query, &source, &err))
		return refuse(&err);
	return checker->verdicts.n_over ? STATUS_OVER : certain ? STATUS_KEPT : STATUS_ERROR;
}

const char *const mf_command_check_words[] = {
	"--pid", "--temporary", "--format", "--output", "-o", "--budget", "--suppressions", "--embedded-suppressions",
	"--max-peak", "--max-end", "--max-allocations", "--max-allocated", "--max-temporary", "--max-leak-sites",
	"--max-rss", NULL,
};

int mf_command_check(int argc, char **argv)
{
	__attribute__((cleanup(mf_query_release))) struct mf_query query = { 0 };
	struct mf_error err;

	if (mf_query_parse(&query, argc, argv, 1, mf_command_check_words, &err))
		return refuse(&err);
	return check_file(&query);
}
