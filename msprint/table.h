/* SPDX-License-Identifier: GPL-2.0 */
/* The table of snapshots, with trees between its rows. */
#ifndef MASSIF_MSPRINT_TABLE_H
#define MASSIF_MSPRINT_TABLE_H

#include <stdbool.h>

#include "input.h"
#include "number.h"

struct mf_failure;
struct mf_output;
struct mf_record;
struct mf_text;

struct mf_table {
	const struct mf_text *time_unit;
	struct mf_number threshold;	/* threshold for tree nodes, in percent */
	bool headed;			/* the column titles for the next row have already been printed */
};

/* Prints a row and the snapshot's tree, which it reads from @input. @total: total bytes of the snapshot. */
int mf_table_print_snapshot(struct mf_table *table, const struct mf_record *record,
			    struct mf_number total, struct mf_input *input,
			    struct mf_output *out, struct mf_failure *failure);

#endif
