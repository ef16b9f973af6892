/* SPDX-License-Identifier: GPL-2.0 */
/* Compares processes of two recordings, and prints what has changed. */
#ifndef MASSIF_CTL_COMPARISON_H
#define MASSIF_CTL_COMPARISON_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "ctl/query/query.h"
#include "ctl/query/terminal.h"
#include "recording/reader.h"
#include "report/sites.h"

enum { MF_COMPARISON_OLD, MF_COMPARISON_NEW, MF_COMPARISON_SIDES };

struct mf_comparison {
	const struct mf_query *query; /* what is compared: the snapshot, or a count; by what; how many rows */
	/* the processes of each side; those of a side are added up */
	struct mf_comparison_side {
		struct mf_recorded **processes;
		size_t n;
	} sides[MF_COMPARISON_SIDES];
	struct mf_sites pinned; /* if both sides have samples of the resident set: the free memory that sites keep */
	struct mf_sites touched; /* if massif.ko has recorded that: the resident pages by the code that touched them first */
	struct mf_sites sites; /* those of both sides; zero-initialise it, but for what the query says of it */
};

/* Makes the sites. Returns 0, or -errno with a message: -ENODATA or -ESRCH if a process lacks what the query is about. */
int mf_comparison_make(struct mf_comparison *comparison, struct mf_error *err);

/* Returns whether the peak or the end has grown beyond --tolerance. */
bool mf_comparison_has_grown(const struct mf_comparison *comparison);

void mf_comparison_print(const struct mf_terminal *terminal, const struct mf_comparison *comparison);

void mf_comparison_deinit(struct mf_comparison *comparison);

#endif
