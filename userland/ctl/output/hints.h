/* SPDX-License-Identifier: GPL-2.0 */
/* After a run, suggests better options for the next one. */
#ifndef MASSIF_CTL_HINTS_H
#define MASSIF_CTL_HINTS_H

#include <stdint.h>

#include "ctl/options/options.h"
#include "ctl/launch/supervise.h"

/* Measurements of a program that has ended. */
struct mf_run_facts {
	int64_t took_ms; /* duration of the run */
	struct mf_faults faults;
};

/*
 * Prints suggestions of better options for the next run of the program. Call this after the profile has been written.
 */
void mf_hints_say(const struct mf_options *options, const struct mf_run_facts *facts);

#endif
