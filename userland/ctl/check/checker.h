/* SPDX-License-Identifier: GPL-2.0 */
/* Checks processes against the budgets of a command, and collects the verdicts. */
#ifndef MASSIF_CTL_CHECKER_H
#define MASSIF_CTL_CHECKER_H

#include <stdbool.h>

#include "base/error.h"
#include "ctl/check/verdict.h"

struct mf_checker {
	struct mf_check check;
	struct mf_verdicts verdicts;
	bool failed; /* a process could not be checked */
};

/* Returns NULL if out of memory. */
struct mf_checker *mf_checker_create(void);
void mf_checker_destroy(struct mf_checker *checker); /* @checker may be NULL */

/* Returns whether there is anything to check. */
static inline bool mf_checker_has_budgets(const struct mf_checker *checker)
{
	return checker->check.budgets.count != 0;
}

/* Returns the first budget that needs the allocations of each stack, which are not counted in pages mode; or NULL. */
const struct mf_budget *mf_checker_counted(const struct mf_checker *checker);

/* Returns the first budget that needs samples of the resident set; or NULL. */
const struct mf_budget *mf_checker_sampled(const struct mf_checker *checker);

/* Checks a process. Prints a message if that is not possible. */
void mf_checker_add(struct mf_checker *checker, const struct mf_check_process *process);

/* Notes that @process was not profiled, so that its budgets are not checked, and prints a message. */
void mf_checker_miss(struct mf_checker *checker, const char *process);

/*
 * Returns whether everything was measured. If events were lost, the measured numbers can be too low, which a message
 * says.
 */
bool mf_checker_is_certain(const struct mf_checker *checker);

/*
 * Prints the verdicts of a run as messages. Returns false if a process was over budget, or if something could not be
 * measured.
 */
bool mf_checker_say(struct mf_checker *checker);

#endif
