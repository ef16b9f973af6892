/* SPDX-License-Identifier: GPL-2.0 */
/* Prints what the resident set of a process consisted of, and which code kept its pages. */
#ifndef MASSIF_CTL_RESIDENCY_VIEW_H
#define MASSIF_CTL_RESIDENCY_VIEW_H

#include "base/error.h"
#include "ctl/query/query.h"
#include "ctl/query/terminal.h"
#include "recording/reader.h"

/*
 * Prints the sample with the largest resident set or, with --at=end, the last one. Returns 0, or -errno with a message:
 * -ENODATA if the recording has no samples.
 */
int mf_residency_view_print(const struct mf_terminal *terminal, const struct mf_query *query, struct mf_recorded *process,
			    struct mf_error *err);

#endif
