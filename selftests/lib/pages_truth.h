/* SPDX-License-Identifier: GPL-2.0 */
/* Compares the profile of the resident pages of a stopped process with /proc. */
#ifndef MASSIF_SELFTESTS_PAGES_TRUTH_H
#define MASSIF_SELFTESTS_PAGES_TRUTH_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "pages/pages.h"
#include "profile/pages_what.h"

/* Returns whether this kernel reports resident pages. */
bool mf_truth_has_resident(void);

/*
 * Returns the options as massif-ctl sets them by default in pages mode, but with --time-unit=B. @what selects the pages
 * to count.
 */
struct mf_pages_options mf_truth_options(enum mf_pages_what what);

/*
 * Checks that the totals and the tree of @pid agree with the kernel. The process must be stopped. Retries for a while,
 * then returns false with the figures in @err. Also returns true if there is no profile yet.
 */
bool mf_truth_is_told(struct mf_pages *pages, pid_t pid, enum mf_pages_what what,
		      struct mf_error *err);

#endif
