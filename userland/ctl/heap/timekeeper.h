/* SPDX-License-Identifier: GPL-2.0 */
/* Reads the clock on behalf of the program when the unit of time is milliseconds. */
#ifndef MASSIF_CTL_TIMEKEEPER_H
#define MASSIF_CTL_TIMEKEEPER_H

#include <stdint.h>

#include "model/store.h"

/* Returns CLOCK_MONOTONIC in milliseconds. */
int64_t mf_timekeeper_now(void);

/*
 * Sets the flag in @store that makes the program take a snapshot, if the next one is due. Returns the number of
 * milliseconds until the next call; -1: never, because the unit of time is not milliseconds.
 */
int mf_timekeeper_look(struct mf_store *store);

#endif
