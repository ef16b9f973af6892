// SPDX-License-Identifier: GPL-2.0
/*
 * Prints the whole report on a massif.out file.
 *
 * The graph is printed before the table, but cannot be drawn until the whole input has been read; besides, nothing may
 * be printed unless the whole input is valid. So the table must be kept while the input is being read. Valgrind's
 * ms_print writes it to a temporary file. We keep it in memory up to a limit; snapshots beyond the limit are read a
 * second time when they are printed. This avoids a temporary file, which could fail or be left behind. It also bounds
 * the memory use for files of any size, even if their trees are so deep that the printed text is many times larger than
 * the file.
 */

#include "report.h"

#include <errno.h>
#include <stdbool.h>

#include "failure.h"
#include "graph.h"
#include "input.h"
#include "options.h"
#include "output.h"
#include "profile.h"
#include "summary.h"
#include "syntax.h"
#include "table.h"
#include "tree.h"

#define KEEP_LIMIT (16 * 1024 * 1024)

struct report {
	struct mf_input *input;
	struct mf_header header;
	struct mf_profile profile;
	struct mf_table table;
	struct mf_output *kept;		/* table of the first @kept_count snapshots */
	size_t kept_count;
	bool is_full;			/* the table in @kept has reached its maximum size in bytes */
	struct mf_place rest;		/* position in the input of the first snapshot that is not in @kept */
};

static void deinit(struct report *report)
{
	mf_syntax_header_deinit(&report->header);
	mf_profile_deinit(&report->profile);
	mf_output_deinit(report->kept);
}

/*
 * Removes the last, incomplete snapshot, which exceeded the maximum size, from the table in @report->kept, and rewinds
 * the input to the start of that snapshot. Then reads the snapshot's record again.
 */
static int leave_rest(struct report *report, struct mf_place start, size_t kept_len, bool headed,
		      struct mf_record *record, struct mf_failure *failure)
{
	report->is_full = true;
	report->rest = start;
	report->table.headed = headed;
	mf_output_truncate(report->kept, kept_len);
	mf_failure_deinit(failure);
	if (mf_input_seek(report->input, start, failure))
		return -EINVAL;
	return mf_syntax_record_read(report->input, record, failure) > 0 ? 0 : -EINVAL;
}

static int keep_snapshot(struct report *report, struct mf_place start, struct mf_record *record,
			 struct mf_number total, struct mf_failure *failure)
{
	size_t kept_len = mf_output_tell(report->kept);
	bool headed = report->table.headed;
	int ret;

	ret = mf_table_print_snapshot(&report->table, record, total, report->input, report->kept,
				      failure);
	if (report->kept->error) {
		ret = leave_rest(report, start, kept_len, headed, record, failure);
		if (!ret && record->has_tree)
			ret = mf_tree_check(report->input, total, failure);
		return ret;
	}
	report->kept_count++;
	return ret;
}

static int read_snapshots(struct report *report, struct mf_failure *failure)
{
	MF_RECORD_AUTO record = {};
	struct mf_number total;
	struct mf_place start;
	int ret;

	for (;;) {
		start = mf_input_tell(report->input);
		ret = mf_syntax_record_read(report->input, &record, failure);
		if (ret <= 0)
			break;
		total = mf_syntax_record_total(&record);
		mf_profile_add(&report->profile, &record, total);
		if (!report->is_full)
			ret = keep_snapshot(report, start, &record, total, failure);
		else if (record.has_tree)
			ret = mf_tree_check(report->input, total, failure);
		if (ret < 0)
			break;
	}
	return ret ?: mf_profile_finish(&report->profile, report->input->path, failure);
}

static int read_all(struct report *report, struct mf_failure *failure)
{
	int ret = mf_syntax_header_read(report->input, &report->header, failure);

	if (!ret)
		ret = read_snapshots(report, failure);
	/*
	 * The parser mistakes a failed read for the end of the file, so report the read error rather than the parser's
	 * error.
	 */
	return mf_input_check(report->input, failure) ?: ret;
}

/* The input was valid when it was first read, so an error now means that it has been changed since. */
static int fail_changed(const struct mf_input *input, struct mf_failure *failure)
{
	return mf_input_check(input, failure) ?:
	       mf_failure_set_in(failure, input->path, 0, MF_FAILURE_OTHER,
				 "the file changed while it was read");
}

static int print_rest(struct report *report, struct mf_output *out, struct mf_failure *failure)
{
	MF_RECORD_AUTO record = {};
	struct mf_number total;
	size_t i;
	int ret;

	if (mf_input_seek(report->input, report->rest, failure))
		return -EINVAL;
	for (i = report->kept_count; i < report->profile.count; i++) {
		if (mf_syntax_record_read(report->input, &record, failure) <= 0)
			return fail_changed(report->input, failure);
		total = mf_syntax_record_total(&record);
		ret = mf_table_print_snapshot(&report->table, &record, total, report->input, out,
					      failure);
		if (ret)
			return out->error ? ret : fail_changed(report->input, failure);
	}
	return 0;
}

int mf_report_print(const struct mf_options *options, struct mf_input *input,
		    struct mf_output *out, struct mf_failure *failure)
{
	static struct mf_output kept;
	__attribute__((cleanup(deinit))) struct report report = { .input = input, .kept = &kept };
	int ret;

	report.table.time_unit = &report.header.time_unit;
	report.table.threshold = options->threshold;
	mf_output_init_memory(&kept, KEEP_LIMIT);

	ret = read_all(&report, failure);
	if (ret)
		return ret;
	mf_summary_print_preamble(&report.header, &options->args, out);
	mf_graph_print(&report.profile, &report.header.time_unit, options->width, options->height, out);
	mf_summary_print_list(&report.profile, out);
	mf_output_copy(out, &kept);
	return report.is_full ? print_rest(&report, out, failure) : 0;
}
