/* SPDX-License-Identifier: GPL-2.0 */
/* What Massif tells of its work with -v and --stats, in its words. */
#ifndef MASSIF_CTL_ACCOUNT_H
#define MASSIF_CTL_ACCOUNT_H

#include <sys/types.h>

#include "ctl/options/options.h"
#include "model/ending.h"
#include "model/log.h"
#include "model/store.h"

/* Before the program's first event: the lists of functions (-v). */
void mf_statistics_begin(const struct mf_options *options, pid_t pid);

/*
 * At its end, which is @end: the snapshots that were taken and culled (-v -v), each event (-v -v -v), what was
 * left out of stacks (-v -v -v -v), and the counters (--stats).
 */
void mf_statistics_end(const struct mf_options *options, const struct mf_store *store,
		    struct mf_end end, pid_t pid);

/* What the model has to keep for that. */
enum mf_log_level mf_statistics_log_level(const struct mf_options *options);

#endif
