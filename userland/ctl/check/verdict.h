/* SPDX-License-Identifier: GPL-2.0 */
/* Verdicts: whether processes keep to their budgets. */
#ifndef MASSIF_CTL_VERDICT_H
#define MASSIF_CTL_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "ctl/check/budget.h"
#include "ctl/check/suppressions.h"
#include "profile/profile.h"
#include "recording/facts.h"
#include "report/options.h"
#include "symbols/symbolizer.h"

/* The input of a check: budgets, and suppressions of known leaks. Zero-initialise it. */
struct mf_check {
	struct mf_budgets budgets;
	struct mf_suppressions suppressions;
};

static inline void mf_check_deinit(struct mf_check *check)
{
	mf_budgets_deinit(&check->budgets);
	mf_suppressions_deinit(&check->suppressions);
}

/* A process to check. */
struct mf_check_process {
	const struct mf_facts *facts;
	const struct mf_profile *profile;
	const struct mf_profile_snapshot *end; /* what was held at the end, with a tree */
	const struct mf_report_options *options;
	struct mf_symbolizer *symbolizer; /* was created with the profile's objects */
	bool uses_embedded; /* use the suppressions that the program contains */
	const struct mf_suppressions *embedded; /* these, or NULL; the checker sets it */
};

struct mf_verdict {
	const struct mf_budget *budget;
	char *process; /* its name; NULL if the budget is for a program that no process ran */
	uint64_t pid;  /* 0 if the file does not say */
	double measured; /* in the unit of the limit */
	bool over;
	/* If it is over: the sites that have most of what was measured, a line each; there may be none. */
	char *sites;
};

/* Zero-initialise it. The budgets must outlive it. */
struct mf_verdicts {
	struct mf_verdict *list;
	size_t count, room;
	size_t n_over;
	size_t n_skipped; /* verdicts without a process */
	bool lost;	  /* of a process, events were lost, so that what was measured may be too low */
};

/* Returns the name of a process without control characters, which the caller frees; NULL if out of memory. */
char *mf_verdicts_name(const struct mf_facts *facts);

/*
 * Adds a verdict for each budget that concerns @process. Returns 0; -ENODATA with a message if a budget is for something
 * that is not known of the process; or -ENOMEM.
 */
int mf_verdicts_add(struct mf_verdicts *verdicts, const struct mf_check *check,
		    const struct mf_check_process *process, struct mf_error *err);

/* Adds a verdict without a process for each budget that has concerned none. Returns 0 or -ENOMEM. */
int mf_verdicts_finish(struct mf_verdicts *verdicts, const struct mf_check *check, struct mf_error *err);

void mf_verdicts_deinit(struct mf_verdicts *verdicts);

#endif
