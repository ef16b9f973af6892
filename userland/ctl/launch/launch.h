/* SPDX-License-Identifier: GPL-2.0 */
/* Starts the program as a child, in the same environment that massif-ctl was started in. */
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
	char *const *argv;	 /* the program's arguments, starting with its name as typed */
	char *const *environment;
	const struct mf_signals *signals;
	int inherited[MF_LAUNCH_INHERITED_MAX]; /* descriptors that stay open in the program; unused entries are -1 */
	/* the original RLIMIT_AS, which the program gets if massif-ctl raised its own; otherwise rlim_max is 0 */
	struct rlimit address_space;

	/* Callback, called in the child just before exec; async-signal-safe. Returns 0 or -errno. May be NULL. */
	int (*enrol)(void *data);
	/* called in the parent to describe why the callback @enrol failed */
	int (*enrol_error)(int code, struct mf_error *err);
	void *enrol_data;
};

/* Opens descriptors 0, 1 and 2 if they are closed, so that no other file gets their numbers. */
void mf_launch_reserve_standard(void);

/*
 * Raises massif-ctl's own address-space limit as far as permitted, because massif-ctl maps the session of every
 * process. *@launch keeps the original limit for the program.
 */
void mf_launch_lift_limit(struct mf_launch *launch);

/*
 * Starts the program. Returns 0 once the program is running. On failure, returns -errno with a message and leaves no
 * process behind; *@refused is set if it was execve(2) that failed.
 */
int mf_launch_start(const struct mf_launch *launch, pid_t *pid, bool *refused,
		    struct mf_error *err);

/*
 * Closes massif-ctl's own copies of inherited descriptors, so that the peer of a pipe notices when the program
 * closes it. Standard error stays open.
 */
void mf_launch_drop_inherited(void);

#endif
