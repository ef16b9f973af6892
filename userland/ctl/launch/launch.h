/* SPDX-License-Identifier: GPL-2.0 */
/* Starts the program as a child that finds everything as massif-ctl found it. */
#ifndef MASSIF_CTL_LAUNCH_H
#define MASSIF_CTL_LAUNCH_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/error.h"
#include "program.h"
#include "signals.h"

#define MF_LAUNCH_INHERITED_MAX 2

struct mf_launch {
	const struct mf_program *program;
	char *const *argv;	 /* of the program, its name as typed first */
	char *const *environment;
	const struct mf_signals *signals;
	int inherited[MF_LAUNCH_INHERITED_MAX]; /* to leave open in the program; -1: none */
	struct rlimit address_space; /* its limit, which we may have raised for ourselves; no hard limit: not */

	/* In the child just before exec; async-signal-safe. Returns 0 or -errno. NULL: nothing */
	int (*enrol)(void *data);
	int (*enrol_error)(int code, struct mf_error *err); /* the words for it, in the parent */
	void *enrol_data;
};

/* Descriptors 0, 1 and 2 are open afterwards, so that no file of ours takes their place. */
void mf_launch_reserve_standard(void);

/*
 * Raises massif-ctl's own limit of address space, in which it maps the session of each process, as far as it
 * may. *@launch keeps what the program is to have.
 */
void mf_launch_lift_limit(struct mf_launch *launch);

/*
 * Starts it. Returns 0 once the program is running; or -errno, with words, and nothing is left.
 * *@refused then says whether it was execve(2) that failed, and not something before.
 */
int mf_launch_start(const struct mf_launch *launch, pid_t *pid, bool *refused,
		    struct mf_error *err);

/*
 * Closes massif-ctl's own copies of what it was given: whoever is at the other end of a pipe shall
 * notice when the program closes it. Standard error stays.
 */
void mf_launch_drop_inherited(void);

#endif
