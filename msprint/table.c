// SPDX-License-Identifier: GPL-2.0
// The table of snapshots, with trees between its rows.

#include "table.h"

#include <string.h>

#include "output.h"
#include "syntax.h"
#include "text.h"
#include "tree.h"

/* Columns are right-justified and separated by one space. */
enum column { NUMBER, TIME, TOTAL, HEAP, EXTRA, STACKS, COLUMNS };

static const struct {
	const char *title;	/* column title; NULL for the time, whose title contains the time unit */
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

static void print_header(struct mf_table *table, struct mf_output *out)
{
	MF_TEXT_AUTO time = {};
	enum column column;
	const char *title;

	if (table->headed)
		return;
	table->headed = true;
	mf_text_append_string(&time, "time(");
	mf_text_append(&time, table->time_unit->data, table->time_unit->len);
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

/* Prints the fields as they appear in the file, and the total, which is not in the file. */
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

int mf_table_print_snapshot(struct mf_table *table, const struct mf_record *record,
			    struct mf_number total, struct mf_input *input,
			    struct mf_output *out, struct mf_failure *failure)
{
	print_header(table, out);
	print_row(record, total, out);
	if (!record->has_tree)
		return 0;
	/* The titles are repeated after a tree, if another row follows. */
	table->headed = false;
	return mf_tree_print(input, total, table->threshold, out, failure);
}
