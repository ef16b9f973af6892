/* SPDX-License-Identifier: GPL-2.0 */
/* A pages mode session, and the files that are written from it; used by run and attach. */
#ifndef MASSIF_CTL_SESSION_H
#define MASSIF_CTL_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/error.h"
#include "ctl/control/server.h"
#include "ctl/launch/progress.h"
#include "ctl/options/options.h"
#include "ctl/output/output.h"
#include "ctl/pages/priority.h"
#include "pages/pages.h"

struct mf_pages_session {
	const struct mf_options *options;
	const char *cmd; /* command line of the first process, as shown in the massif.out file */
	struct mf_output_name name; /* name of the program that the first process runs */
	struct mf_pages *pages;
	bool first_ended; /* the first process's profile is complete */
	/* keep the first process's profile until mf_pages_session_end_first(), whose caller knows how it ended */
	bool keeps_first;
	/* the first process, if it has ended and its profile is still kept; otherwise NULL */
	struct mf_pages_process *first;
	uint64_t end_ns;  /* end of the session (CLOCK_MONOTONIC) */
	bool broken;	  /* reading records failed, so reading has stopped */
	struct mf_priority priority; /* of the thread that drains the session */
};

/*
 * Opens the session. @path is the first process's program, or NULL if that is the first word of @cmd. @options, @path
 * and @cmd must outlive it. Returns 0, or -errno with advice in @err.
 */
int mf_pages_session_open(struct mf_pages_session *session, const struct mf_options *options,
		      const char *path, const char *cmd, struct mf_error *err);

/* Processes pending records and writes the files of all complete profiles. Returns 0 or -errno. */
int mf_pages_session_drain(struct mf_pages_session *session, struct mf_error *err);

/*
 * Writes the first process's file if its profile is complete. @status is how the process ended, in the format of
 * waitpid(2).
 */
void mf_pages_session_end_first(struct mf_pages_session *session, int status);

/* Ends the profiles of running processes and writes their files. Reports errors itself. */
void mf_pages_session_end(struct mf_pages_session *session);

/* Returns the figures of the first process. Returns whether it is running. */
bool mf_pages_session_figures(const struct mf_pages_session *session, struct mf_progress_figures *figures);

/* The following functions implement the callbacks in struct mf_control_ops. */
void mf_pages_session_list(const struct mf_pages_session *session, FILE *out);
int mf_pages_session_snapshot(const struct mf_pages_session *session, enum mf_control_verb verb,
			  pid_t pid, FILE *out, struct mf_error *err);

int mf_pages_session_watch(const struct mf_pages_session *session, pid_t pid, struct mf_control_watched *watched,
			   struct mf_error *err);

/* Closes the session. Accepts an all-zero structure, and one for which mf_pages_session_open() failed. */
void mf_pages_session_close(struct mf_pages_session *session);

#endif
