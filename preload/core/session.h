/* SPDX-License-Identifier: GPL-2.0 */
/* The session in this process: its memory, and whether events are counted. */
#ifndef MASSIF_PRELOAD_SESSION_H
#define MASSIF_PRELOAD_SESSION_H

#include <stdbool.h>

#include "model/store.h"

/*
 * Hides a variable from other objects (the executable and libraries). The compiler can then access it directly instead
 * of assuming that another object may define it.
 */
#define MF_HIDDEN __attribute__((visibility("hidden")))

/*
 * Puts a variable among those that are the same in each session. They stay as they are when massif-ctl attaches once more
 * (process/late.c): other threads need them to pass calls on.
 */
#define MF_LASTING __attribute__((section("massif_lasting")))

/* The session memory. Valid while the session is active. */
extern struct mf_store mf_session_store MF_HIDDEN;

/*
 * Points to a word in a page that the kernel clears in every child (MADV_WIPEONFORK), however the child was made. While
 * the word is zero, no event is counted, so a child never writes to its parent's profile.
 */
extern const volatile int *mf_session_active_word MF_HIDDEN;

/* Bits of *mf_session_active_word. Most sessions set only MF_SESSION_ACTIVE; each other bit turns on a feature. */
#define MF_SESSION_ACTIVE   1
#define MF_SESSION_VERIFIES 2 /* check each stack with a second walk, by libunwind (stack/verify.h) */
#define MF_SESSION_LEDGER   4 /* count what each stack allocates and frees */
#define MF_SESSION_STACKS   8 /* count the bytes on the threads' stacks (--stacks=yes) */
#define MF_SESSION_STOPPED  16 /* do not count new blocks until the program turns counting on */
#define MF_SESSION_NO_HEAP  32 /* count only stacks, not blocks */
#define MF_SESSION_DETAILS  64 /* keep details of what each context allocates (model/details.h) */

/* True if allocation calls are reported (event/trace.h). Does not change after the session has begun. */
extern bool mf_session_traces MF_HIDDEN;

static inline bool mf_session_is_active(void)
{
	return *mf_session_active_word;
}

static inline bool mf_session_has(int bit)
{
	return __builtin_expect(*mf_session_active_word & bit, 0);
}

/*
 * Records in the session that this process is about to call exec (if @begins is true), or that exec failed. Does
 * nothing in a vfork child, because such a child shares its parent's memory.
 */
void mf_session_executing(bool begins);

/* Turns counting of new blocks on or off, in this process and in children that it forks later. */
void mf_session_count(bool counts);

/*
 * For process/attach.c: maps the page for mf_session_active_word, with no bits set. Returns false if there is no
 * memory, or if the kernel cannot clear the page in a child (before Linux 4.14).
 */
bool mf_session_make_word(void);

/*
 * Prepares for counting, but does not start it: whoever writes the result to *@address does. Context: the session memory
 * is attached and ready.
 */
int mf_session_prepare(uint64_t *address);

/* Starts counting events. Context: the session memory is attached and ready. */
void mf_session_begin(void);

/* From now on, compares each stack that the shim walks with libunwind's walk of the same stack (stack/verify.h). */
void mf_session_verify(void);

/*
 * A forked child calls these functions in this order. mf_session_resume() enables events again, although the session
 * memory still belongs to the parent and must not change. mf_session_continue() maps the child's own copy, @memory, at
 * the same addresses; it returns false on failure. Then mf_session_activate() starts using the copy, or
 * mf_session_deactivate() ends the child's profile.
 */
void mf_session_resume(void);
bool mf_session_continue(int memory);
void mf_session_activate(void);
void mf_session_deactivate(void);

#endif
