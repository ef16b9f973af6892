/* SPDX-License-Identifier: GPL-2.0 */
/* The shim's end of the session: finding it, mapping it, and whether this process is profiled. */
#ifndef MASSIF_PRELOAD_SESSION_H
#define MASSIF_PRELOAD_SESSION_H

#include <stdbool.h>

#include "model/store.h"

/* Reached directly: the compiler knows of a declaration alone that it is not another object's. */
#define MF_HIDDEN __attribute__((visibility("hidden")))

/* The session memory; valid while the session is active. */
extern struct mf_store mf_session_store MF_HIDDEN;

/*
 * Points to a word in a page that fork leaves empty in the child (MADV_WIPEONFORK), however the
 * child was made: a child never writes to its parent's profile.
 */
extern const volatile int *mf_session_active_word MF_HIDDEN;

/* What the word says. Most programs are only profiled: anything more is a bit more. */
#define MF_SESSION_ACTIVE   1
#define MF_SESSION_VERIFIES 2 /* each stack is verified */
#define MF_SESSION_LEDGER   4 /* what each stack allocates and frees is counted */
#define MF_SESSION_STACKS   8 /* the depths of stacks count */
#define MF_SESSION_STOPPED  16 /* new blocks do not count, until the program wants them to */
#define MF_SESSION_NO_HEAP  32 /* no blocks do, only stacks */

static inline bool mf_session_is_active(void)
{
	return *mf_session_active_word;
}

static inline bool mf_session_has(int bit)
{
	return __builtin_expect(*mf_session_active_word & bit, 0);
}

/* This process is about to execute a program, or it failed to. Nothing in others of its memory. */
void mf_session_executing(bool begins);

/* Whether new blocks count from now on, in this process and those that it forks. */
void mf_session_count(bool counts);

/*
 * Attaches if massif-ctl started this program; does its work once. Called at the first event and by
 * the constructor, whichever comes first. Takes our variables out of the environment, so that what
 * the program executes is not profiled; unless it is to be, too.
 */
void mf_session_attach(void);

/*
 * In a forked child. It is profiled again, though with the parent's memory, which it must not change; its
 * own comes to where that was; and it goes on with that, or ends without.
 */
void mf_session_resume(void);
bool mf_session_continue(int memory);
void mf_session_activate(void);
void mf_session_deactivate(void);

#endif
