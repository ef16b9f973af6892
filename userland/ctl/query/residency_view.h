/* SPDX-License-Identifier: GPL-2.0 */
/* Prints what the resident set of a process consisted of, and which code kept its pages. */
#ifndef MASSIF_CTL_RESIDENCY_VIEW_H
#define MASSIF_CTL_RESIDENCY_VIEW_H

#include "base/error.h"
#include "ctl/query/query.h"
#include "ctl/query/terminal.h"
#include "recording/reader.h"

/*
 * Returns 0 if the recording has the sample that --at chooses, see mf_sample_choose(); otherwise -errno with a message:
 * -ENODATA if it has no samples at all.
 */
int mf_residency_view_check(const struct mf_query *query, const struct mf_recorded *process, struct mf_error *err);

/* Prints this sample, which there must be. Returns 0, or -errno with a message. */
int mf_residency_view_print(const struct mf_terminal *terminal, const struct mf_query *query, struct mf_recorded *process,
			    struct mf_error *err);

#endif
