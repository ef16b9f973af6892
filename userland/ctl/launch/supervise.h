/* SPDX-License-Identifier: GPL-2.0 */
/* Supervises the program and the processes that outlive it: handles signals, job control and events. */
#ifndef MASSIF_CTL_SUPERVISE_H
#define MASSIF_CTL_SUPERVISE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "signals.h"

struct mf_supervision {
	pid_t pid;
	const struct mf_signals *signals;
	int fd;	       /* descriptor that becomes readable when there are events, or -1 */
	/*
	 * Maximum number of milliseconds between two calls of the callback @drain; -1 to call it only when the
	 * descriptor @fd is readable. @drain may change this number.
	 */
	int period_ms;
	/* callback that handles events; not called again after an error */
	int (*drain)(void *data, struct mf_error *err);
	bool (*is_done)(void *data); /* returns true when no process of the run is left */
	void *data;
	/* A second descriptor to watch, or -1. The callback @serve is called when it is readable. */
	int control_fd;
	void (*serve)(void *control);
	void *control;
	/* Callback that is called every @tick_ms while the program runs; NULL: none. */
	void (*tick)(void *data);
	int tick_ms;
	void *tick_data;
};

/*
 * Numbers of minor page faults of the program, and of the children that it has waited for. They are used to estimate
 * which of them used most of the memory. Both numbers are 0 if unknown.
 */
struct mf_faults {
	uint64_t own, children;
};

/*
 * Supervises the program until it ends. Returns 0 and stores the status in the format of waitpid(2). If @drain fails,
 * returns its -errno after the program has ended. If an essential system call fails, returns its -errno immediately.
 */
int mf_supervise(const struct mf_supervision *supervision, int *status, struct mf_faults *faults,
		 struct mf_error *err);

/*
 * Supervises the processes that outlive the program, until @is_done returns true, or until SIGINT, SIGTERM, SIGHUP or
 * SIGQUIT arrives. Returns 0 or the same errors as mf_supervise().
 */
int mf_supervise_survivors(const struct mf_supervision *supervision, struct mf_error *err);

#endif
