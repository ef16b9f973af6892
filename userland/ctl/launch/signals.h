/* SPDX-License-Identifier: GPL-2.0 */
/* The signals that massif-ctl was given: received as data, and handed on to the program. */
#ifndef MASSIF_CTL_SIGNALS_H
#define MASSIF_CTL_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/types.h>

#include "base/error.h"

/* What massif-ctl found when it was started, and what the program shall find. */
struct mf_signals {
	int fd; /* readable when a signal has come; close-on-exec */
	sigset_t mask;
	struct sigaction child_action; /* of SIGCHLD */
	struct itimerval timer;	       /* alarm(2) before our exec; fork would drop it */
};

/*
 * Blocks all signals but those of this process's own faults. No disposition changes but that of
 * SIGCHLD, which may be ignored: then nobody could wait. Returns 0 or -errno.
 */
int mf_signals_take(struct mf_signals *signals, struct mf_error *err);

/* Undoes it in the child, just before exec. Async-signal-safe. */
void mf_signals_restore(const struct mf_signals *signals);

/* Undoes it in massif-ctl itself, closing the descriptor; alarms are the program's now. */
void mf_signals_release(struct mf_signals *signals);

/* The next signal that has come. Returns false when there is none. */
bool mf_signals_next(const struct mf_signals *signals, struct signalfd_siginfo *info);

/* Sends @info's signal on to @pid, unless the program has received it by itself. */
void mf_signals_forward(const struct signalfd_siginfo *info, pid_t pid);

/* Stops this process by @signal, as if it had never been blocked. Returns when it is continued. */
void mf_signals_stop_self(int signal);

/* Ends this process by @signal, without a core dump of it. */
void mf_signals_die(int signal) __attribute__((noreturn));

#endif
