/* SPDX-License-Identifier: GPL-2.0 */
/* The shim's end of the session: finding it, mapping it, and whether this process is profiled. */
#ifndef MASSIF_PRELOAD_SESSION_H
#define MASSIF_PRELOAD_SESSION_H

#include <stdbool.h>

#include "model/store.h"

/* The session memory; valid while the session is active. */
extern struct mf_store mf_session_store;

/*
 * Points to a word in a page that fork leaves empty in the child (MADV_WIPEONFORK), however the
 * child was made: a child never writes to its parent's profile.
 */
extern const volatile int *mf_session_active_word;

static inline bool mf_session_is_active(void)
{
	return *mf_session_active_word;
}

/*
 * Attaches if massif-ctl started this program; does its work once. Called at the first event and by
 * the constructor, whichever comes first. Takes our variables out of the environment, so that what
 * the program executes is not profiled.
 */
void mf_session_attach(void);

/* Orders the writers of the session memory. Not recursive; never held over foreign code. */
void mf_session_lock(void);
void mf_session_unlock(void);

#endif
