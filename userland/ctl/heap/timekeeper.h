/* SPDX-License-Identifier: GPL-2.0 */
/* Looks at the clock for the program, when the unit of time is milliseconds. */
#ifndef MASSIF_CTL_TIMEKEEPER_H
#define MASSIF_CTL_TIMEKEEPER_H

#include <stdint.h>

#include "model/store.h"

/* CLOCK_MONOTONIC, in milliseconds. */
int64_t mf_timekeeper_now(void);

/*
 * Tells the program behind @store if the time of its next snapshot has come. Returns in how many
 * milliseconds to call again; -1: never, for its events tell the time.
 */
int mf_timekeeper_look(struct mf_store *store);

#endif
