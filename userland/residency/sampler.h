/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Samples the resident set of a process that is profiled in heap mode, while it runs.
 *
 * A sample reads /proc/PID/smaps, /proc/PID/pagemap and the table of live blocks, one after the other. So what the program
 * changes meanwhile can be in one and not in the other; a sample says how long it took. The sum of its bands is the sum of
 * the resident sizes in smaps.
 */
#ifndef MASSIF_RESIDENCY_SAMPLER_H
#define MASSIF_RESIDENCY_SAMPLER_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "model/store.h"
#include "profile/residency.h"
#include "thread_stacks.h"

/* If there are twice as many samples as this, every second one is dropped, and the interval is doubled. */
#define MF_SAMPLES_KEPT 500u

/* Zero-initialise it. */
struct mf_sampler {
	struct mf_residency residency; /* what has been found */
	struct mf_thread_stacks stacks;
	uint64_t interval_ms;
	uint64_t next_ms; /* the time of the next sample, since the first event */
};

/*
 * Takes a sample of process @pid, whose live blocks are in @store, @time_ms after its first event. Returns 0 or -errno:
 * -ESRCH if the process has ended, -EACCES if it may not be observed.
 */
int mf_sampler_take(struct mf_sampler *sampler, pid_t pid, const struct mf_store *store, uint64_t time_ms,
		    struct mf_error *err);

void mf_sampler_deinit(struct mf_sampler *sampler);

#endif
