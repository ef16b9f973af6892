/* SPDX-License-Identifier: GPL-2.0 */
/* Samples the resident set of a process that is profiled in heap mode, while it runs. */
#ifndef MASSIF_RESIDENCY_SAMPLER_H
#define MASSIF_RESIDENCY_SAMPLER_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "model/store.h"
#include "profile/residency.h"
#include "residency/thread_stacks.h"

/* If there are twice as many samples as this, every second one is dropped, and the interval is doubled. */
#define MF_SAMPLES_KEPT 500u

/* Zero-initialise it. */
struct mf_sampler {
	struct mf_residency residency; /* what has been found */
	struct mf_thread_stacks stacks;
	uint64_t interval_ms;
	uint64_t next_ms; /* the time of the next sample, since the first event */
};

/* When and why a sample is taken. */
struct mf_sample_at {
	uint64_t time_ms; /* since the process's first event */
	int64_t time;	  /* the same in the profile's unit of time */
	uint32_t reasons; /* MF_SAMPLE_... */
};

/*
 * Takes a sample of process @pid, whose live blocks are in @store, in the file @memory. Returns 0 or -errno: -ESRCH or -ENOENT
 * if the process has ended, -EACCES if it may not be observed.
 */
int mf_sampler_take(struct mf_sampler *sampler, pid_t pid, const struct mf_store *store, int memory,
		    struct mf_sample_at at, struct mf_error *err);

void mf_sampler_deinit(struct mf_sampler *sampler);

#endif
