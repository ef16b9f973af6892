/* SPDX-License-Identifier: GPL-2.0 */
/* What /proc has of a process at rest, and whether a profile of its resident pages agrees. */
#ifndef SELFTESTS_LIB_PAGES_TRUTH_H
#define SELFTESTS_LIB_PAGES_TRUTH_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "pages/pages.h"
#include "profile/pages_what.h"

/* Can this kernel say what is resident? */
bool mf_truth_has_resident(void);

/* What a session of @what is opened with, as massif-ctl does with --time-unit=B. */
struct mf_pages_options mf_truth_options(enum mf_pages_what what);

/* The process @pid of the session, or NULL. */
const struct mf_pages_process *mf_truth_find(const struct mf_pages *pages, pid_t pid);

/*
 * Do the totals and the tree of @pid, which nobody runs, agree with the kernel? What does not is read
 * anew for a while. False: they do not, with the figures in @err. True, too, if it has no profile yet.
 */
bool mf_truth_is_told(struct mf_pages *pages, pid_t pid, enum mf_pages_what what,
		      struct mf_error *err);

#endif
