/* SPDX-License-Identifier: GPL-2.0 */
/* Receives massif-ctl's signals through a signalfd and forwards them to the program. */
#ifndef MASSIF_CTL_SIGNALS_H
#define MASSIF_CTL_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/types.h>

#include "base/error.h"

/* The signal state that massif-ctl was started with; the program is started with the same state. */
struct mf_signals {
	int fd; /* readable when a signal is pending; close-on-exec */
	sigset_t mask;
	struct sigaction child_action; /* the original disposition of SIGCHLD */
	/* timer of an alarm(2) that was set before massif-ctl was executed; fork clears it in the child */
	struct itimerval timer;
};

/*
 * Blocks all signals except SIGSEGV and other synchronous ones. Sets SIGCHLD to its default disposition, because
 * waitpid() for the program would fail if SIGCHLD were ignored; other dispositions are unchanged. Returns 0 or -errno.
 */
int mf_signals_take(struct mf_signals *signals, struct mf_error *err);

/* Restores the original state in the child, just before exec. Async-signal-safe. */
void mf_signals_restore(const struct mf_signals *signals);

/*
 * Restores massif-ctl's own signal mask and SIGCHLD action to what they were before mf_signals_take(), and closes the
 * signal descriptor. Does not restore the timer.
 */
void mf_signals_release(struct mf_signals *signals);

/* Reads the next pending signal. Returns false if there is none. */
bool mf_signals_next(const struct mf_signals *signals, struct signalfd_siginfo *info);

/*
 * Forwards the signal described by @info to @pid, if it concerns the program and the program has not received it
 * directly.
 */
void mf_signals_forward(const struct signalfd_siginfo *info, pid_t pid);

/* Stops this process with @signal, as if @signal were not blocked. Returns when the process is continued. */
void mf_signals_stop_self(int signal);

/* Terminates this process with @signal, without a core dump. */
void mf_signals_die(int signal) __attribute__((noreturn));

#endif
