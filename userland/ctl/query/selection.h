/* SPDX-License-Identifier: GPL-2.0 */
/* Selects the stacks of a recorded process that a command is about: those of some threads, or through some functions. */
#ifndef MASSIF_CTL_SELECTION_H
#define MASSIF_CTL_SELECTION_H

#include <stdbool.h>

#include "base/error.h"
#include "recording/reader.h"
#include "report/options.h"

/* Patterns (base/pattern.h); NULL selects all. */
struct mf_selection {
	const char *thread;  /* --thread: the threads with this name or this ID; needs a profile that has threads */
	const char *through; /* --through: stacks with a call of such a function */
};

/*
 * Removes all other stacks from the trees, the counts and the samples of the resident set of @process, which has threads if
 * @selection names one; the totals of the snapshots stay. Sets *@any if a stack is left. Returns 0 or -ENOMEM.
 */
int mf_selection_apply(const struct mf_selection *selection, struct mf_recorded *process,
		       const struct mf_report_options *options, bool *any, struct mf_error *err);

#endif
