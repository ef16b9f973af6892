/* SPDX-License-Identifier: GPL-2.0 */
/* What the user of a run that has ended could set up better the next time. */
#ifndef MASSIF_CTL_HINTS_H
#define MASSIF_CTL_HINTS_H

#include <stdint.h>

#include "ctl/options/options.h"
#include "ctl/launch/supervise.h"

/* What is known of a program that has ended. */
struct mf_run_facts {
	int64_t took_ms; /* how long it ran */
	struct mf_faults faults;
};

/* Call it after the program's profile was written. */
void mf_hints_say(const struct mf_options *options, const struct mf_run_facts *facts);

#endif
