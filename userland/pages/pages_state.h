/* SPDX-License-Identifier: GPL-2.0 */
/* The state of a pages-mode session. Private to pages.c and record.c; see pages.h for its functions. */
#ifndef MASSIF_PAGES_PAGES_STATE_H
#define MASSIF_PAGES_PAGES_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "pages/members.h"
#include "pages/ring.h"
#include "pages/target.h"
#include "pages/targets.h"

struct mf_pages {
	struct mf_ring ring;
	struct mf_model_options model;
	struct mf_target_common common;
	struct mf_targets targets;
	pid_t launched;			    /* the first process that enrolled or was attached to; 0 if none yet */
	bool started;			    /* the launched process has executed the program, or massif-ctl has attached
					     * to a process */
	struct mf_members members; /* if @traces_children is set: the processes that get a profile for every program
				    * they execute */
	bool traces_children;
	bool (*skips)(void *data, const char *path, const char *args, size_t n_bytes);
	void *skips_data;
	bool resync_wanted;
	bool done;
	uint64_t unexplained; /* number of records that the sequence numbers show to be missing, but that no LOST record
			       * has reported yet */
	uint64_t now_ns;      /* time of the last record */

	/* The part of a resync that is being read; NULL if there is none or the target has no profile. */
	struct mf_resync *resync;
	struct mf_target *resync_target;
	uint32_t resync_room;
};

#endif
