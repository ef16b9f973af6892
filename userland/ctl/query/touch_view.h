/* SPDX-License-Identifier: GPL-2.0 */
/* Prints which code touched the pages of a sample of the resident set first. */
#ifndef MASSIF_CTL_TOUCH_VIEW_H
#define MASSIF_CTL_TOUCH_VIEW_H

#include "base/error.h"
#include "ctl/query/query.h"
#include "ctl/query/terminal.h"
#include "recording/reader.h"

/* Prints where the samples of @process come from, and what that cannot know. */
void mf_touch_view_print_source(const struct mf_terminal *terminal, const struct mf_recorded *process,
				const struct mf_residency_detail *detail);

/* Prints tables of the parts of the resident set that are not the allocator's, if that is recorded. Returns 0 or -ENOMEM. */
int mf_touch_view_print(const struct mf_terminal *terminal, const struct mf_query *query, struct mf_recorded *process,
			const struct mf_residency_detail *detail, struct mf_error *err);

#endif
