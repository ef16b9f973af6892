/* SPDX-License-Identifier: GPL-2.0 */
/* Prints the output of Massif's -v and --stats options, in Massif's format. */
#ifndef MASSIF_CTL_STATISTICS_H
#define MASSIF_CTL_STATISTICS_H

#include <sys/types.h>

#include "ctl/options/options.h"
#include "model/ending.h"
#include "model/log.h"
#include "model/store.h"

/*
 * Prints the functions selected by --alloc-fn and --ignore-fn, as well as the built-in allocation functions (with -v).
 * Call this before the program's first event.
 */
void mf_statistics_begin(const struct mf_options *options, pid_t pid);

/*
 * Prints, when the program has ended: snapshots taken and culled (-v -v), every event (-v -v -v), functions removed
 * from stacks (-v -v -v -v), and counters (--stats).
 */
void mf_statistics_end(const struct mf_options *options, const struct mf_store *store,
		    struct mf_end end, pid_t pid);

/* Returns which events the model must log for mf_statistics_end(). */
enum mf_log_level mf_statistics_log_level(const struct mf_options *options);

#endif
