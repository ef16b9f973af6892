// SPDX-License-Identifier: GPL-2.0
// The table of snapshots, with the trees between its rows.

#include "table.h"

#include <string.h>

#include "failure.h"
#include "output.h"
#include "profile.h"
#include "syntax.h"
#include "text.h"
#include "tree.h"

/* The columns, each right-justified and one blank from the next. */
enum column { NUMBER, TIME, TOTAL, HEAP, EXTRA, STACKS, COLUMNS };

static const struct {
	const char *title;	/* NULL: it depends on the profile */
	size_t width;
} columns[COLUMNS] = {
	[NUMBER] = { "n", 3 },
	[TIME] = { NULL, 14 },
	[TOTAL] = { "total(B)", 16 },
	[HEAP] = { "useful-heap(B)", 16 },
	[EXTRA] = { "extra-heap(B)", 13 },
	[STACKS] = { "stacks(B)", 12 },
};

static void end_cell(struct mf_output *out, enum column column)
{
	mf_output_bytes(out, column + 1 < COLUMNS ? " " : "\n", 1);
}

static void print_header(const struct mf_profile *profile, struct mf_output *out)
{
	MF_TEXT_AUTO time = {};
	enum column column;
	const char *title;

	mf_text_append_string(&time, "time(");
	mf_text_append(&time, profile->header.time_unit.data, profile->header.time_unit.len);
	mf_text_append_string(&time, ")");

	mf_output_rule(out);
	for (column = 0; column < COLUMNS; column++) {
		title = columns[column].title;
		mf_output_right(out, title ?: time.data, title ? strlen(title) : time.len,
				columns[column].width);
		end_cell(out, column);
	}
	mf_output_rule(out);
}

/* Values are shown as they stand in the file, but for the total, which does not. */
static void print_row(const struct mf_record *record, struct mf_number total, struct mf_output *out)
{
	char sum[MF_NUMBER_TEXT];
	struct mf_text total_text = { .data = sum, .len = mf_number_format(total, sum) };
	const struct mf_text *const cells[COLUMNS] = {
		[NUMBER] = &record->fields[MF_FIELD_SNAPSHOT],
		[TIME] = &record->fields[MF_FIELD_TIME],
		[TOTAL] = &total_text,
		[HEAP] = &record->fields[MF_FIELD_HEAP],
		[EXTRA] = &record->fields[MF_FIELD_EXTRA],
		[STACKS] = &record->fields[MF_FIELD_STACKS],
	};
	enum column column;

	for (column = 0; column < COLUMNS; column++) {
		if (column == NUMBER)
			mf_output_right(out, cells[column]->data, cells[column]->len,
					columns[column].width);
		else
			mf_output_commas(out, cells[column]->data, cells[column]->len,
					 columns[column].width);
		end_cell(out, column);
	}
}

/* The input was checked, so one that is wrong now was changed by someone meanwhile. */
static int fail_changed(const struct mf_input *input, struct mf_failure *failure)
{
	return mf_input_check(input, failure) ?:
	       mf_failure_set(failure, MF_FAILURE_OTHER, "%s changed while it was read\n",
			      input->path);
}

int mf_table_print(const struct mf_profile *profile, struct mf_input *input,
		   struct mf_number threshold, struct mf_output *out, struct mf_failure *failure)
{
	MF_HEADER_AUTO header = {};
	MF_RECORD_AUTO record = {};
	struct mf_number total;
	int ret = 0;
	size_t i;

	if (mf_syntax_header_read(input, &header, failure))
		return fail_changed(input, failure);
	print_header(profile, out);
	for (i = 0; i < profile->count; i++) {
		if (mf_syntax_record_read(input, &record, failure) <= 0)
			return fail_changed(input, failure);
		total = mf_syntax_record_total(&record);
		print_row(&record, total, out);
		if (!record.has_tree)
			continue;
		ret = mf_tree_print(input, total, threshold, out, failure);
		if (ret)
			return out->error ? ret : fail_changed(input, failure);
		if (i + 1 < profile->count)
			print_header(profile, out);
	}
	return 0;
}
