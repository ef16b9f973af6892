/* SPDX-License-Identifier: GPL-2.0 */
/* Prints a table of sites: which code holds how much, at two moments, or has allocated how much. */
#ifndef MASSIF_CTL_SITE_TABLE_H
#define MASSIF_CTL_SITE_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "ctl/query/query.h"
#include "ctl/query/terminal.h"
#include "recording/reader.h"
#include "report/sites.h"

struct mf_site_table {
	const struct mf_query *query; /* how many rows, which of them, the options about trees */
	/* the processes whose sites are added up, each with two of its snapshots */
	const struct mf_site_table_part {
		struct mf_recorded *process;
		const struct mf_profile_snapshot *snapshots[MF_SITES_SIDES];
	} *parts;
	size_t n_parts;
	const char *titles[MF_SITES_SIDES];
	unsigned int sort; /* the number of a site (MF_SITES_*) by which the rows are sorted */
	bool is_touches; /* the sites are of first touches */
	bool growth; /* sort by how much the second number is above the first; @sort is 1 then */
	enum mf_sites_by by;
};

/*
 * Prints the bytes of both sides or, if the rows are sorted by one of the counts, the counts. Returns 0, or -errno with
 * a message.
 */
int mf_site_table_print(const struct mf_terminal *terminal, const struct mf_site_table *table, struct mf_error *err);

#endif
