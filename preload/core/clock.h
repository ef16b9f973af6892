/* SPDX-License-Identifier: GPL-2.0 */
/* The outside clock in the model's unit: milliseconds or instructions. */
#ifndef MASSIF_PRELOAD_CLOCK_H
#define MASSIF_PRELOAD_CLOCK_H

#include <stdint.h>

struct perf_event_mmap_page;

/* A thread's counter of instructions. All zero: none yet. */
struct mf_clock {
	const struct perf_event_mmap_page *page; /* how to read it from user mode; NULL: not at all */
	int fd;		  /* to read it by the kernel, where that must be; else -1 */
	uint32_t process; /* that opened it: a child has none */
	uint64_t last;	  /* its value at the thread's latest event */
};

/* At the start of the session: time is counted from here. */
void mf_clock_start(void);

/*
 * The present time. For a thread that is alone, since it adds up all threads: a thread's instructions
 * count from its first event on. Costs nothing when the unit is bytes.
 */
int64_t mf_clock_now(struct mf_clock *clock);

/* The instructions that the thread has executed since this was called last; the unit is these. */
int64_t mf_clock_advance(struct mf_clock *clock);

/* Adds what the thread has done since its last event, and closes its counter. Alone. */
void mf_clock_end(struct mf_clock *clock);

/* In a forked child: the counter was the parent's thread's. */
void mf_clock_forget(struct mf_clock *clock);

#endif
