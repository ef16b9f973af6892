/* SPDX-License-Identifier: GPL-2.0 */
/* Initialisation before the first event. */
#ifndef MASSIF_PRELOAD_START_H
#define MASSIF_PRELOAD_START_H

#include "real.h"
#include "session.h"

/*
 * Registers @function, which takes no arguments, to be called before the first event. The registration uses a linker
 * section, because start.c must not depend on the parts of the shim that it initialises.
 */
#define MF_AT_FIRST_EVENT(function)                                                                            \
	static void (*const at_first_event_##function)(void) __attribute__((used, section("mf_at_first_event"))) = \
		function

/* Calls all functions that were registered to be called before the first event. */
void mf_start_first(void);

/*
 * Returns the real allocation functions. The very first call looks them up and attaches to the session. It often comes
 * from the dynamic linker, long before any constructor runs.
 */
static inline const struct mf_real *mf_start(void)
{
	/* Reading mf_real_state need not be atomic, because it changes only while the process has one thread. */
	if (__builtin_expect(!mf_real_state, 0) && mf_real_resolve())
		mf_start_first();
	return &mf_real_functions;
}

#endif
