/* SPDX-License-Identifier: GPL-2.0 */
/* Which time units this machine can measure. */
#ifndef MASSIF_CTL_CLOCK_H
#define MASSIF_CTL_CLOCK_H

#include "base/error.h"
#include "options.h"
#include "model/store.h"

/*
 * Can a run be timed by instructions? Returns 0; or -errno, with the reason in @err: there is no
 * hardware counter, or it may not be used.
 */
int mf_clock_probe_instructions(struct mf_error *err);

/*
 * Settles on a unit of time that can be had; @note says so if it is another than usual. Returns 0, or
 * -errno when the one asked for cannot be had.
 */
int mf_clock_choose_unit(struct mf_options *options, struct mf_error *note, struct mf_error *err);

/* Tells the shim by which counter to time. */
void mf_clock_set_instructions(struct mf_store_header *header);

#endif
