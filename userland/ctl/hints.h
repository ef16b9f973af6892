/* SPDX-License-Identifier: GPL-2.0 */
/* What the user of a run that has ended could set up better the next time. */
#ifndef MASSIF_CTL_HINTS_H
#define MASSIF_CTL_HINTS_H

#include <stdint.h>

#include "ctl/options.h"

/* @took_ms is how long the program ran. Call it after the profiles were written. */
void mf_hints_say(const struct mf_options *options, int64_t took_ms);

#endif
