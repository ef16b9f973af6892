/* SPDX-License-Identifier: GPL-2.0 */
/* Samples the resident set of a process that is profiled in heap mode, while it runs. */
#ifndef MASSIF_RESIDENCY_SAMPLER_H
#define MASSIF_RESIDENCY_SAMPLER_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "model/store.h"
#include "profile/residency.h"
#include "residency/sample.h"
#include "residency/touched.h"

/* If there are twice as many samples at snapshots and on request as this, every second one is dropped. */
#define MF_MOMENTS_KEPT 32u

/* The same of the periodic samples among them. */
#define MF_PERIODIC_MOMENTS_KEPT 8u

/* If there are twice as many samples as this, every second one but the largest is dropped, and the interval is doubled. */
#define MF_SAMPLES_KEPT 500u

/* Zero-initialise it. */
struct mf_sampler {
	struct mf_residency residency; /* what has been found */
	struct mf_sample_memory memory;
	uint64_t interval_ms;
	uint64_t next_ms; /* the time of the next sample, since the first event */
	uint64_t moment_interval_ms, next_moment_ms; /* of the periodic samples that are kept with their sites */
	uint64_t rested_ms; /* from then on, a sample for a snapshot may be taken: all samples have been paid for (DUTY) */
};

/* When and why a sample is taken. */
struct mf_sample_at {
	uint64_t time_ms; /* since the process's first event */
	int64_t time;	  /* the same in the profile's unit of time */
	int64_t of;	  /* in the profile's unit of time: when the snapshot was taken that is the reason */
	uint32_t reasons; /* MF_SAMPLE_... */
	const struct mf_touch_source *touches; /* knows who touched the pages first; NULL: nothing does */
};

/*
 * Takes a sample of process @pid, whose live blocks are in @store, in the file @memory. Returns 0 or -errno: -ESRCH or -ENOENT
 * if the process has ended, -EACCES if it may not be observed, -EAGAIN if it has executed another program or has not mapped
 * @memory yet.
 */
int mf_sampler_take(struct mf_sampler *sampler, pid_t pid, const struct mf_store *store, int memory,
		    struct mf_sample_at at, struct mf_error *err);

/*
 * Keeps a copy of @detail with the samples at snapshots and on request. Of several for the same snapshot, the first is kept,
 * which is the nearest. Returns 0 or -ENOMEM.
 */
int mf_sampler_keep_moment(struct mf_residency *residency, const struct mf_residency_detail *detail);

void mf_sampler_deinit(struct mf_sampler *sampler);

#endif
