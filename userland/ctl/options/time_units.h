/* SPDX-License-Identifier: GPL-2.0 */
/* Determines which time units this machine can measure. */
#ifndef MASSIF_CTL_TIME_UNITS_H
#define MASSIF_CTL_TIME_UNITS_H

#include "base/error.h"
#include "options.h"
#include "model/store.h"

/*
 * Checks whether instructions can be counted. Returns 0, or -errno with the reason in @err, for example that there is
 * no hardware counter or that its use is not permitted.
 */
int mf_clock_probe_instructions(struct mf_error *err);

/*
 * Selects the unit of time. If the default is not available, another one is selected and @note says so. Returns 0, or
 * -errno if the user asked for a unit that is not available.
 */
int mf_clock_choose_unit(struct mf_options *options, struct mf_error *note, struct mf_error *err);

/* Stores in @header which counter the shim must use. */
void mf_clock_set_instructions(struct mf_store_header *header);

#endif
