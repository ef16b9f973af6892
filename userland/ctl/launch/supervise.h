/* SPDX-License-Identifier: GPL-2.0 */
/* Accompanies the program, and what it leaves behind: signals, job control, a source of events. */
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
	int fd;	       /* of the events; -1: none */
	/* @drain is called at least this often, -1: only when @fd is readable. It may change it. */
	int period_ms;
	int (*drain)(void *data, struct mf_error *err); /* after an error it is not called again */
	bool (*is_done)(void *data); /* whether no process of the run is left */
	void *data;
	/* Another source, -1: none. @serve is called when it is readable. */
	int control_fd;
	void (*serve)(void *control);
	void *control;
};

/*
 * Page faults of the program itself, and of the children for which it has waited: a measure of whose the
 * memory was. Both are 0 if they cannot be known.
 */
struct mf_faults {
	uint64_t own, children;
};

/*
 * Returns 0, with the status as of waitpid(2), when the program has ended; the -errno of @drain then,
 * if it failed; or the -errno of a system call that must not fail, at once.
 */
int mf_supervise(const struct mf_supervision *supervision, int *status, struct mf_faults *faults,
		 struct mf_error *err);

/*
 * Accompanies the processes that the program left behind, until @is_done or until SIGINT, SIGTERM, SIGHUP
 * or SIGQUIT arrives. Returns as mf_supervise().
 */
int mf_supervise_survivors(const struct mf_supervision *supervision, struct mf_error *err);

#endif
