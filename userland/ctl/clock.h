/* SPDX-License-Identifier: GPL-2.0 */
/* Which time units this machine can measure. */
#ifndef MASSIF_CTL_CLOCK_H
#define MASSIF_CTL_CLOCK_H

#include "base/error.h"
#include "model/store.h"

/*
 * Can a run be timed by instructions? Returns 0; or -errno, with the reason in @err: there is no
 * hardware counter, or it may not be used.
 */
int mf_clock_probe_instructions(struct mf_error *err);

/* Tells the shim by which counter to time. */
void mf_clock_set_instructions(struct mf_store_header *header);

#endif
