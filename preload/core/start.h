/* SPDX-License-Identifier: GPL-2.0 */
/* What must have happened before the first event. */
#ifndef MASSIF_PRELOAD_START_H
#define MASSIF_PRELOAD_START_H

#include "real.h"
#include "session.h"

/*
 * The first event of all calls @function. It registers itself in a section, since what has events lies below the code
 * that starts everything, and does not know it.
 */
#define MF_AT_FIRST_EVENT(function)                                                                            \
	static void (*const at_first_event_##function)(void) __attribute__((used, section("mf_at_first_event"))) = \
		function

/* Calls what is registered. */
void mf_start_first(void);

/*
 * The real functions; at the first call of all, which is often the dynamic linker's and long before
 * any constructor, also attaches to the session.
 */
static inline const struct mf_real *mf_start(void)
{
	/* Not atomic: it changes while there is one thread. */
	if (__builtin_expect(!mf_real_state, 0) && mf_real_resolve())
		mf_start_first();
	return &mf_real_functions;
}

#endif
