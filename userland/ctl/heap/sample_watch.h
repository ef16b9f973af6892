/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A thread that watches for reasons to sample the resident set of a process (--rss): its end, and snapshots of its profile. It
 * wakes the main thread, which takes the samples.
 */
#ifndef MASSIF_CTL_SAMPLE_WATCH_H
#define MASSIF_CTL_SAMPLE_WATCH_H

#include <pthread.h>
#include <stdbool.h>

#include "model/store.h"

/* Zero-initialise it. */
struct mf_sample_watch {
	const struct mf_store *store;
	pthread_t thread;
	bool started;
	/* accessed atomically: */
	uint64_t rested_ns; /* when to look for snapshots again (CLOCK_MONOTONIC) */
	bool stop;	    /* the thread must end */
};

/* Starts the thread for the process with @store. Without it, there are only periodic samples. */
void mf_sample_watch_start(struct mf_sample_watch *watch, const struct mf_store *store);

/* Ends the thread if it is running; the process then no longer waits at its end. */
void mf_sample_watch_stop(struct mf_sample_watch *watch);

/* No sample will be taken for a snapshot in the next @ms milliseconds, so that the thread need not look for any. */
void mf_sample_watch_rest(struct mf_sample_watch *watch, uint64_t ms);

/* Returns whether the process waits for a sample at its end; if so, it waits until mf_sample_watch_answer(). */
bool mf_sample_watch_has_end(const struct mf_store *store);

/* Lets the process end. */
void mf_sample_watch_answer(const struct mf_store *store);

#endif
