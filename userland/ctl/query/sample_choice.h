/* SPDX-License-Identifier: GPL-2.0 */
/* Chooses one of the samples of the resident set that have their sites. */
#ifndef MASSIF_CTL_SAMPLE_CHOICE_H
#define MASSIF_CTL_SAMPLE_CHOICE_H

#include <stdio.h>

#include "base/error.h"
#include "ctl/query/query.h"
#include "recording/reader.h"

/*
 * Chooses a sample of a process that has samples: the one with the largest resident set by default; --at=end: the last one;
 * --at=N: the one at snapshot number N; --at=TIME: the last one until then. Returns NULL, with a message that lists the
 * samples, if there is none.
 */
const struct mf_residency_detail *mf_sample_choose(const struct mf_query *query, const struct mf_recorded *process,
						   struct mf_error *err);

/* Prints the words for --at that choose each of the samples, in lines of at most @width columns. */
void mf_sample_choices_print(FILE *out, const struct mf_residency *residency, unsigned int width);

#endif
