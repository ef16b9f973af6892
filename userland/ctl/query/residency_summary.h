/* SPDX-License-Identifier: GPL-2.0 */
/* Says in a few lines what a resident set consists of, which code keeps it large, and what can be done. */
#ifndef MASSIF_CTL_RESIDENCY_SUMMARY_H
#define MASSIF_CTL_RESIDENCY_SUMMARY_H

#include "base/error.h"
#include "ctl/query/query.h"
#include "ctl/query/terminal.h"
#include "profile/residency.h"
#include "recording/reader.h"

/* Returns 0, or -errno with a message. */
int mf_residency_summary_print(const struct mf_terminal *terminal, const struct mf_query *query, struct mf_recorded *process,
			       const struct mf_residency_detail *detail, struct mf_error *err);

#endif
