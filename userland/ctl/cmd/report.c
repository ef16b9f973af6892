// SPDX-License-Identifier: GPL-2.0
// massif-ctl report: writes a recorded profile, or two, as a page for browsers.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "command.h"
#include "ctl/files/outfile.h"
#include "ctl/message/message.h"
#include "ctl/query/query.h"
#include "html/page.h"
#include "recording/reader.h"

#define MODE 0600

struct report {
	struct mf_query *query;
	struct mf_recording recordings[MF_HTML_SIDES];
	struct mf_recorded *chosen[MF_HTML_SIDES]; /* the processes that --pid names */
	struct mf_html_source source;
};

static int refuse(const struct mf_error *err)
{
	mf_message_say(MF_MESSAGE_ERROR, "%s", err->text);
	return 1;
}

static int fill(FILE *out, void *data, struct mf_error *err)
{
	return mf_html_page_write(out, data, err);
}

static int read_side(struct report *report, int side, struct mf_error *err)
{
	struct mf_recording *recording = &report->recordings[side];
	const char *path = report->query->files[side];
	int code = mf_recording_read(path, recording, err);

	if (code)
		return code;
	mf_query_say_damage(path, recording);
	report->source.sides[side].file = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	report->source.sides[side].damage = recording->damage;
	report->source.sides[side].processes = recording->processes;
	report->source.sides[side].n = recording->n_processes;
	if (report->query->pid) {
		report->chosen[side] = mf_query_process(report->query, recording, err);
		if (!report->chosen[side])
			return -ESRCH;
		report->source.sides[side].processes = &report->chosen[side];
		report->source.sides[side].n = 1;
	}
	if (!report->source.sides[side].n)
		return mf_error_set(err, -ENODATA, "'%.600s' has no process: nothing to report", path);
	return mf_query_select(report->query, report->source.sides[side].processes, report->source.sides[side].n, err);
}

/* Writes the page. Without -o its name is that of the recording with .html after it, which is printed. */
static int write_page(struct report *report, struct mf_error *err)
{
	struct mf_query *query = report->query;
	const struct mf_outfile_source source = { .fill = fill, .data = &report->source, .mode = MODE,
						  .stem = "massif.report" };
	mf_auto_free char *name = NULL;
	int code;

	if (query->output)
		return mf_query_write(query, &source, err);
	if (asprintf(&name, "%s.html", report->source.sides[MF_HTML_NEW].file) < 0)
		return mf_error_set(err, -ENOMEM, "out of memory");
	query->output = name;
	code = mf_query_write(query, &source, err);
	query->output = NULL;
	if (!code)
		printf("%s\n", name);
	return code;
}

static int report_files(struct mf_query *query)
{
	struct report report = { .query = query, .source.options = &query->options.report };
	struct mf_error err;
	int code = 0;

	for (int side = 0; side < MF_HTML_SIDES && !code && query->files[side]; side++)
		code = read_side(&report, side, &err);
	if (!code)
		code = write_page(&report, &err);
	for (int side = 0; side < MF_HTML_SIDES; side++)
		mf_recording_release(&report.recordings[side]);
	return code ? refuse(&err) : 0;
}

const char *const mf_command_report_words[] = {
	"--pid", "--temporary", "--thread", "--through", "--output", "-o", NULL,
};

int mf_command_report(int argc, char **argv)
{
	__attribute__((cleanup(mf_query_release))) struct mf_query query = { 0 };
	struct mf_error err;

	if (mf_query_parse_files(&query, argc, argv, (struct mf_query_files){ 1, MF_HTML_SIDES },
				 mf_command_report_words, &err))
		return refuse(&err);
	return report_files(&query);
}
