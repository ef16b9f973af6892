/* SPDX-License-Identifier: GPL-2.0 */
/* What the two modes of massif-ctl attach share. */
#ifndef MASSIF_CTL_ATTACH_H
#define MASSIF_CTL_ATTACH_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "ctl/launch/signals.h"
#include "ctl/options/options.h"

/* Makes a timer that expires after @seconds; sets *@timer to -1 if @seconds is 0. Returns 0 or -errno. */
int mf_attach_make_timer(double seconds, int *timer, struct mf_error *err);

/* Handles pending signals; the terminal's stop signals suspend massif-ctl. Returns whether massif-ctl must exit. */
bool mf_attach_must_stop(const struct mf_signals *signals);

/* massif-ctl attach --heap: profiles the heap of process @pid. Returns the exit status. */
int mf_attach_heap(struct mf_options *options, pid_t pid, double duration);

#endif
