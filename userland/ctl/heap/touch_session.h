/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A session with massif.ko beside a run in heap mode (--rss): the module records which code touched each page of the profiled
 * processes first. The session must never harm the profiles of the heap: after any failure, the session prints a message and
 * ends, and the profiles continue without it.
 */
#ifndef MASSIF_CTL_TOUCH_SESSION_H
#define MASSIF_CTL_TOUCH_SESSION_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "ctl/options/options.h"
#include "pages/pages.h"
#include "residency/touched.h"

struct mf_touch_session;

/*
 * Opens a session if --rss asks for one. @options must outlive the session. If the module cannot be used, the result depends on
 * the option: with --rss=module, the function returns -errno with advice; with --rss=yes, it returns 0, sets *@session to NULL,
 * and the resident set is sampled from /proc alone.
 */
int mf_touch_session_open(const struct mf_options *options, struct mf_touch_session **session, struct mf_error *err);

/* @session may be NULL in all functions below, which then do nothing. */
void mf_touch_session_close(struct mf_touch_session *session);

/* Returns the descriptor to poll for POLLIN, or -1. */
int mf_touch_session_fd(const struct mf_touch_session *session);

/*
 * Makes the module record the calling process, which is between fork and exec. @data is the session, not NULL. Returns 0, or
 * -errno with --rss=module; otherwise a failure is ignored. Context: async-signal-safe.
 */
int mf_touch_session_enrol(void *data);

/*
 * Makes the module record the running process @pid from now on. Of the pages that the process touched before, only the kind of
 * page is known. Returns 0, or -errno with --rss=module; otherwise a failure ends the session.
 */
int mf_touch_session_join(struct mf_touch_session *session, pid_t pid, struct mf_error *err);

/* Call in a forked child of this process that continues the session in place of its parent. */
void mf_touch_session_forked(struct mf_touch_session *session);

/* Reads what the module has recorded. */
void mf_touch_session_look(struct mf_touch_session *session);

/*
 * Returns what is recorded of process @pid, running or ended; NULL if nothing is. Valid until mf_touch_session_look() or
 * mf_touch_session_forget().
 */
const struct mf_pages_process *mf_touch_session_find(const struct mf_touch_session *session, pid_t pid);

/* Makes a source for samples of process @pid, which is running. Returns whether there is one. */
bool mf_touch_session_source(const struct mf_touch_session *session, pid_t pid, struct mf_touch_source *source);

/* Frees what is recorded of process @pid, if it has ended. */
void mf_touch_session_forget(struct mf_touch_session *session, pid_t pid);

/* Frees what is recorded of ended processes for which @is_profiled returns false. */
void mf_touch_session_tidy(struct mf_touch_session *session, bool (*is_profiled)(void *data, pid_t pid), void *data);

#endif
