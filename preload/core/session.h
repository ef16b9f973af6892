/* SPDX-License-Identifier: GPL-2.0 */
/* The session as this process knows it: its memory, and whether events count. */
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

/* Calls of allocation functions are told (event/trace.h). Not changed after the session has begun. */
extern bool mf_session_traces MF_HIDDEN;

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
 * For process/attach.c: makes the word, which says that nothing counts. False: there is no memory for it, or the
 * kernel cannot empty it in a child (before Linux 4.14).
 */
bool mf_session_make_word(void);

/* Events count from now on; the session memory is attached and ready. */
void mf_session_begin(void);

/* Each stack is verified from now on. */
void mf_session_verify(void);

/*
 * In a forked child. It is profiled again, though with the parent's memory, which it must not change; its
 * own comes to where that was; and it goes on with that, or ends without.
 */
void mf_session_resume(void);
bool mf_session_continue(int memory);
void mf_session_activate(void);
void mf_session_deactivate(void);

#endif
