/* SPDX-License-Identifier: GPL-2.0 */
/* One running profile that is watched: the connection to its massif-ctl, its session memory, its sites. */
#ifndef MASSIF_CTL_LIVE_H
#define MASSIF_CTL_LIVE_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "ctl/control/client.h"
#include "ctl/control/watch.h"
#include "graph.h"
#include "namer.h"
#include "reader.h"
#include "table.h"

enum mf_live_state {
	MF_LIVE_BEGINNING, /* its session memory has not arrived yet */
	MF_LIVE_RUNNING,
	MF_LIVE_ENDING, /* the process has ended, and its file is being written */
	MF_LIVE_ENDED,	/* it is no longer profiled */
};

struct mf_live {
	pid_t pid;
	char *cmd; /* its command, without control characters */
	enum mf_live_state state;
	char *file; /* the file that was written when it ended, or NULL; without control characters */
	char *note; /* why there is no profile (yet), or NULL */
	struct mf_watch watch;
	int process; /* pidfd of the process, or -1 if it is in a container */
	bool has_session;
	struct mf_live_session session;
	struct mf_live_namer *namer;
	struct mf_live_table table;
	struct mf_live_history history;
	uint64_t n_updates;
	uint64_t n_changes; /* grows with each change of anything that can be shown */
	int64_t rests_until; /* when the next update may be; see mf_live_update() */
	int64_t names_due; /* when names are looked up, even if little is without */
};

/* The descriptors that mf_live_poll() sets, and how many there are. */
#define MF_LIVE_POLLED 3u

/* Begins to watch @profiled. Returns 0 or -errno. */
int mf_live_open(struct mf_live *live, const struct mf_profiled *profiled, struct mf_error *err);
void mf_live_close(struct mf_live *live); /* also accepts one that is all zero */

/* Sets what to poll for. */
void mf_live_poll(const struct mf_live *live, struct pollfd polled[static MF_LIVE_POLLED]);

/* Handles what has happened. Returns 0 or -errno. Call it before mf_live_update(), or when a descriptor is readable. */
int mf_live_look(struct mf_live *live, struct mf_error *err);

/*
 * Reads the profile. Does nothing if there is none yet, if the process has ended, or if the last update was so expensive
 * that this one would take more than a hundredth of a processor. Returns 0 or -errno.
 */
int mf_live_update(struct mf_live *live, struct mf_error *err);

/* Waits until all names are known. */
int mf_live_name_all(struct mf_live *live, struct mf_error *err);

#endif
