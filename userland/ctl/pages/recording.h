/* SPDX-License-Identifier: GPL-2.0 */
/* A session of pages mode, and the files that its profiles become: of a run, or of attaching. */
#ifndef MASSIF_CTL_RECORDING_H
#define MASSIF_CTL_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/error.h"
#include "ctl/control/server.h"
#include "ctl/options/options.h"
#include "ctl/output/output.h"
#include "pages/pages.h"

struct mf_recording {
	const struct mf_options *options;
	const char *cmd; /* of the first process, as the file shows it */
	struct mf_output_name name; /* of its program */
	struct mf_pages *pages;
	bool first_ended; /* the first process's profile is done with */
	bool keeps_first; /* until mf_recording_end_first(): its last record comes before its status */
	struct mf_pages_process *first; /* what waits for that */
	uint64_t end_ns;  /* of the session, CLOCK_MONOTONIC */
	bool broken;	  /* the records make no sense any more */
	bool hurries;	  /* this thread comes before others */
	int nice;	  /* what it was before */
};

/*
 * Opens the session. @path is that of the first process's program (NULL: the first word of @cmd). All three
 * must outlive it. Returns 0, or -errno with what to do in @err.
 */
int mf_recording_open(struct mf_recording *recording, const struct mf_options *options,
		      const char *path, const char *cmd, struct mf_error *err);

/* Takes in what there is and writes the files of all profiles that are complete. 0 or -errno. */
int mf_recording_drain(struct mf_recording *recording, struct mf_error *err);

/* Writes the first process's file, if its profile is complete; @killed: by SIGKILL. */
void mf_recording_end_first(struct mf_recording *recording, bool killed);

/* Ends what still runs and writes its files. Says itself what goes wrong. */
void mf_recording_end(struct mf_recording *recording);

/* What struct mf_control_ops asks for. */
void mf_recording_list(const struct mf_recording *recording, FILE *out);
int mf_recording_snapshot(const struct mf_recording *recording, enum mf_control_verb verb,
			  pid_t pid, FILE *out, struct mf_error *err);

/* Also of one that is all zero, or could not be opened. */
void mf_recording_close(struct mf_recording *recording);

#endif
