/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A session with massif.ko beside a run in heap mode (--rss): the module records who touched the pages of the profiled
 * processes first. The session must never harm the profiles of the heap: whatever fails in it ends the session, with a message.
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
 * Opens a session as --rss wants it. Returns 0, with *@session NULL if there is none; or, if the user wants the module and none
 * and nothing else, -errno with advice. @options must outlive the session.
 */
int mf_touch_session_open(const struct mf_options *options, struct mf_touch_session **session, struct mf_error *err);

/* For all functions below, @session may be NULL; then they do nothing. */
void mf_touch_session_close(struct mf_touch_session *session);

/* Returns the descriptor to poll for POLLIN, or -1. */
int mf_touch_session_fd(const struct mf_touch_session *session);

/* Enrols the calling process, between fork and exec; async-signal-safe. Returns 0 or -errno: the latter only if the user wants
 * the module and nothing else. @data is the session. */
int mf_touch_session_enrol(void *data);

/*
 * Makes the running process @pid a member: what it has touched before is known by its kind only. Returns 0, or -errno if the
 * user wants the module and nothing else; otherwise a failure ends the session.
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
