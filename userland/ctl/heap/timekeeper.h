/* SPDX-License-Identifier: GPL-2.0 */
/* Reads the clock on behalf of the program when the unit of time is milliseconds. */
#ifndef MASSIF_CTL_TIMEKEEPER_H
#define MASSIF_CTL_TIMEKEEPER_H

#include <stdint.h>

#include "model/store.h"

/* Returns CLOCK_MONOTONIC in milliseconds. */
int64_t mf_timekeeper_now(void);

/* Returns the shorter of two periods, of which -1 is an endless one. */
static inline int mf_timekeeper_sooner(int one, int other)
{
	return one < 0 || (other >= 0 && other < one) ? other : one;
}

/*
 * If the next snapshot is due, sets the flag in @store that makes the program take it. Returns the number of
 * milliseconds until the next call is needed, or -1 if the unit of time is not milliseconds, in which case no further
 * call is needed.
 */
int mf_timekeeper_look(struct mf_store *store);

#endif
