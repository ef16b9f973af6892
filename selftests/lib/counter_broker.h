/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Simulates a machine with or without an instruction counter: answers perf_event_open(2) instead of the kernel, for a
 * program and everything that it starts.
 */
#ifndef MASSIF_SELFTESTS_COUNTER_BROKER_H
#define MASSIF_SELFTESTS_COUNTER_BROKER_H

#include <stdint.h>

enum counter_kind {
	COUNTER_OF_TIME, /* the kernel's clock of the thread's CPU time, read with read(2) */
	COUNTER_OF_PAGE, /* a page that the thread maps, with a count that increases continuously */
};

struct counter_broker {
	/* How to answer perf_event_open(). */
	enum counter_kind kind;
	int error;	/* errno with which calls fail, except for the first @spared calls; 0: none fails */
	uint32_t spared;

	/*
	 * Number of perf_event_open() calls, and how many of them were for anything other than a user-mode instruction
	 * counter of the calling thread.
	 */
	uint32_t asked, asked_else;
	uint32_t ready; /* set when pages have an index for rdpmc; triggered by perf_event_open(NULL) */
};

/* Initial value of rdpmc, minus the offset in the page. */
#define COUNTER_START (1ull << 40)

/* Returns the zero-initialised state shared with the process that answers the calls. */
struct counter_broker *counter_broker(void);

/*
 * Call this in a child before it executes the program, as @before of ctl_run(). The process that answers the calls runs
 * until all processes with the filter have ended.
 */
void counter_broker_begin(void);

/* Returns the reason why calls cannot be intercepted here or counters of @kind are not possible, or NULL. */
const char *counter_broker_obstacle(enum counter_kind kind);

#endif
