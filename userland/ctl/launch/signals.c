// SPDX-License-Identifier: GPL-2.0
// Receives massif-ctl's signals through a signalfd and forwards them to the program.

#include "signals.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* Synchronous signals, caused by bugs in massif-ctl itself. They are not blocked, because that would hide the bugs. */
static const int faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGABRT };

int mf_signals_take(struct mf_signals *signals, struct mf_error *err)
{
	const struct itimerval none = { 0 };
	struct sigaction action = { .sa_handler = SIG_DFL };
	sigset_t blocked;

	sigfillset(&blocked);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigdelset(&blocked, faults[i]);
	sigprocmask(SIG_BLOCK, &blocked, &signals->mask);
	sigaction(SIGCHLD, &action, &signals->child_action);
	setitimer(ITIMER_REAL, &none, &signals->timer);
	signals->fd = signalfd(-1, &blocked, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals->fd < 0)
		return mf_error_set(err, -errno, "cannot receive signals: signalfd: %s",
				    strerror(errno));
	return 0;
}

void mf_signals_restore(const struct mf_signals *signals)
{
	setitimer(ITIMER_REAL, &signals->timer, NULL);
	sigaction(SIGCHLD, &signals->child_action, NULL);
	sigprocmask(SIG_SETMASK, &signals->mask, NULL);
}

void mf_signals_release(struct mf_signals *signals)
{
	close(signals->fd);
	signals->fd = -1;
	sigaction(SIGCHLD, &signals->child_action, NULL);
	sigprocmask(SIG_SETMASK, &signals->mask, NULL);
}

bool mf_signals_next(const struct mf_signals *signals, struct signalfd_siginfo *info)
{
	return read(signals->fd, info, sizeof(*info)) == (ssize_t)sizeof(*info);
}

/*
 * Returns whether a signal must be forwarded to the program. Signals that the program receives anyway are not
 * forwarded: terminal signals (Ctrl-C, hang-up, window size change), which the kernel sends to the whole foreground
 * process group, and signals that the program sends to its own process group. SIGALRM from a timer that was set before
 * massif-ctl was executed is meant for the program, so it is forwarded.
 */
static bool concerns_program(const struct signalfd_siginfo *info, pid_t pid)
{
	if (info->ssi_signo == SIGCHLD)
		return false;
	if (info->ssi_code == SI_KERNEL)
		return info->ssi_signo == SIGALRM;
	return info->ssi_pid != (uint32_t)pid && info->ssi_pid != (uint32_t)getpid();
}

void mf_signals_forward(const struct signalfd_siginfo *info, pid_t pid)
{
	int number = (int)info->ssi_signo;

	if (!concerns_program(info, pid))
		return;
	if (info->ssi_code == SI_QUEUE) {
		union sigval value = { .sival_ptr = (void *)(uintptr_t)info->ssi_ptr };

		sigqueue(pid, number, value);
	} else {
		kill(pid, number);
	}
}

/* Gives @signal its default action and unblocks it. */
static void unblock(int signal, struct sigaction *old)
{
	struct sigaction action = { .sa_handler = SIG_DFL };
	sigset_t set;

	sigaction(signal, &action, old);
	sigemptyset(&set);
	sigaddset(&set, signal);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

void mf_signals_stop_self(int signal)
{
	const struct timespec now = { 0 };
	struct sigaction old;
	sigset_t set;

	kill(getpid(), signal);
	unblock(signal, &old);
	/* This process was stopped and has been continued; discard the pending SIGCONT. */
	sigemptyset(&set);
	sigaddset(&set, signal);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigaction(signal, &old, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGCONT);
	sigtimedwait(&set, NULL, &now);
}

void mf_signals_die(int signal)
{
	const struct rlimit none = { 0 };

	/*
	 * Prevent massif-ctl from dumping core: only the program's own core dump is useful. PR_SET_DUMPABLE is needed
	 * because RLIMIT_CORE is ignored if core_pattern is a pipe.
	 */
	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	kill(getpid(), signal);
	if (signal != SIGKILL)
		unblock(signal, NULL);
	/* The signal did not terminate this process: exit with the status that a shell would report. */
	_exit(128 + signal);
}
