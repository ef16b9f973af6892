/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Simulates a machine with or without an instruction counter, for a program and all processes that it starts, by
 * answering perf_event_open(2) in place of the kernel.
 */
#ifndef MASSIF_SELFTESTS_COUNTER_BROKER_H
#define MASSIF_SELFTESTS_COUNTER_BROKER_H

#include <stdint.h>

enum counter_kind {
	/* perf_event_open() returns a descriptor from which read(2) reads the thread's CPU-time clock */
	COUNTER_OF_TIME,
	/*
	 * perf_event_open() returns a descriptor for a page that contains a continuously increasing count; the thread
	 * maps this page
	 */
	COUNTER_OF_PAGE,
};

struct counter_broker {
	/* How to answer perf_event_open(). */
	enum counter_kind kind;
	/* errno with which every perf_event_open() call fails after the first @spared calls; 0 if none is to fail */
	int error;
	uint32_t spared;

	/*
	 * The number of perf_event_open() calls, and the number of those that were not for a user-mode instruction
	 * counter of the calling thread. Neither includes perf_event_open(NULL), see @ready.
	 */
	uint32_t asked, asked_else;
	/*
	 * true if the counters' pages contain an rdpmc index, so that programs can read the counters with rdpmc. A
	 * program requests this by calling perf_event_open(NULL), which fails with EFAULT.
	 */
	uint32_t ready;
	/* the value of the newest counter at that time, which is that of the program's only thread; 0 without pages */
	uint64_t before_ready;
};

/*
 * A counter's value is the sum of the offset in its page and the number returned by rdpmc. The broker adds
 * COUNTER_START to the offset, and the emulation of rdpmc subtracts it from the number. So rdpmc returns a negative
 * number, which the reader must sign-extend to 64 bits.
 */
#define COUNTER_START (1ull << 40)

/* Returns the state that the test shares with the process that answers perf_event_open(); initially zero. */
struct counter_broker *counter_broker(void);

/*
 * Installs a seccomp filter that intercepts perf_event_open(), and starts the broker, the process that answers the
 * intercepted calls. Call this in a child before it executes the program, for example as @before of ctl_run(). The
 * broker runs until all processes with the filter have ended.
 */
void counter_broker_begin(void);

/*
 * Returns NULL if the broker works on this machine: seccomp can intercept system calls, and counters of @kind can be
 * opened. Otherwise returns the reason why not.
 */
const char *counter_broker_obstacle(enum counter_kind kind);

#endif
