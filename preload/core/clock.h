/* SPDX-License-Identifier: GPL-2.0 */
/* Determines the time of an event in the model's unit: milliseconds or instructions. */
#ifndef MASSIF_PRELOAD_CLOCK_H
#define MASSIF_PRELOAD_CLOCK_H

#include <stdint.h>

struct perf_event_mmap_page;

/* A thread's counter of executed instructions. Zero-filled until it is opened. */
struct mf_clock {
	/* the kernel's page for reading the counter with rdpmc; NULL if it could not be mapped */
	const struct perf_event_mmap_page *page;
	int fd;		  /* descriptor for read(2) if rdpmc is not available; else -1 */
	uint32_t process; /* ID of the process that opened the counter; forked children must not use it */
	uint64_t last;	  /* number of instructions counted up to the thread's last event */
};

/* Starts the session's clock: times are counted from this call. */
void mf_clock_start(void);

/*
 * Returns the current time in the session's unit, or 0 if that unit is bytes. If the unit is instructions, the time is
 * the sum over all threads, each counted from its first event.
 * Context: the calling thread has closed the gate (gate.h).
 */
int64_t mf_clock_now(struct mf_clock *clock);

/*
 * Returns the number of instructions that the thread has executed since the last call. Call this only if the session's
 * time unit is instructions.
 */
int64_t mf_clock_advance(struct mf_clock *clock);

/*
 * Adds the instructions that the thread has executed since its last event to the session's time, and closes the
 * thread's instruction counter.
 * Context: the calling thread has closed the gate (gate.h), so no other thread is in the middle of an event.
 */
void mf_clock_end(struct mf_clock *clock);

/*
 * In a forked child: closes the instruction counter inherited from a thread of the parent, without adding it to any
 * total.
 */
void mf_clock_forget(struct mf_clock *clock);

#endif
