/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A machine with a counter of instructions, or without one, whatever this one has: answers
 * perf_event_open(2) in the kernel's place, for a program and all that it starts.
 */
#ifndef SELFTESTS_LIB_COUNTER_BROKER_H
#define SELFTESTS_LIB_COUNTER_BROKER_H

#include <stdint.h>

enum counter_kind {
	COUNTER_OF_TIME, /* the kernel's of the thread's CPU time, to be read(2) */
	COUNTER_OF_PAGE, /* a page that the thread maps, with a count that advances all the while */
};

struct counter_broker {
	/* What is answered. */
	enum counter_kind kind;
	int error;	/* or this, from the answer of number @spared on */
	uint32_t spared;

	/* What was asked: for counters of instructions in user mode, of the thread itself; or others. */
	uint32_t asked, asked_else;
	uint32_t ready; /* from when on pages have an index, for rdpmc: perf_event_open(NULL) */
};

/* What rdpmc reads begins at this, less what the page has. */
#define COUNTER_START (1ull << 40)

/* Shared with the one that answers. It is all 0 again after this. */
struct counter_broker *counter_broker(void);

/*
 * In a child, before it executes the program: ctl_run()'s @before. Whoever answers, answers until
 * all of these have ended.
 */
void counter_broker_begin(void);

/* NULL, or why no program can be had its answers, or why counters of @kind cannot be. */
const char *counter_broker_obstacle(enum counter_kind kind);

#endif
