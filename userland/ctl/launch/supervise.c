// SPDX-License-Identifier: GPL-2.0
// Supervises the program and the processes that outlive it: handles signals, job control and events.

#include "supervise.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"

/* The state of the program. */
struct watch {
	pid_t pid;
	bool ended, stopped;
	int status;
	struct mf_faults faults; /* page faults; valid once the program has ended */
	int64_t tick_at; /* when supervision->tick is to be called next; see now_ms() */
};

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Calls the callback @tick if it is due. Returns for how long this process may sleep, @period at most; -1: forever. */
static int tick(const struct mf_supervision *supervision, struct watch *watch, int period)
{
	int64_t now, left;

	if (!supervision->tick || !watch)
		return period;
	now = now_ms();
	if (!watch->tick_at || now >= watch->tick_at) {
		watch->tick_at = now + supervision->tick_ms;
		supervision->tick(supervision->tick_data);
	}
	left = watch->tick_at - now;
	return period >= 0 && period < left ? period : (int)left;
}

/* Returns the numbers of minor page faults of a process that has ended but has not been reaped, and of its children. */
static struct mf_faults faults_of(pid_t pid)
{
	char path[64], line[1024], *behind = NULL;
	struct mf_faults faults = { 0 };
	mf_auto_fclose FILE *file = NULL;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (file && fgets(line, sizeof(line), file))
		/* find the last ')': it ends the process's name, which may itself contain parentheses */
		behind = strrchr(line, ')');
	if (!behind || sscanf(behind, ") %*c %*d %*d %*d %*d %*d %*u %" SCNu64 " %" SCNu64, &faults.own,
			      &faults.children) != 2)
		return (struct mf_faults){ 0 };
	return faults;
}

/* Call this before the program is reaped: afterwards, /proc/PID is gone. */
static void note_end(struct watch *watch)
{
	siginfo_t info = { 0 };

	if (waitid(P_PID, (id_t)watch->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid)
		watch->faults = faults_of(watch->pid);
}

/* Updates the state of the program. Returns the signal that has just stopped it, or 0. */
static int look(struct watch *watch)
{
	int status, stopped_by = 0;

	note_end(watch);
	while (waitpid(watch->pid, &status, WNOHANG | WUNTRACED | WCONTINUED) == watch->pid) {
		if (WIFSTOPPED(status)) {
			watch->stopped = true;
			stopped_by = WSTOPSIG(status);
		} else if (WIFCONTINUED(status)) {
			watch->stopped = false;
			stopped_by = 0;
		} else {
			watch->ended = true;
			watch->status = status;
			return 0;
		}
	}
	return stopped_by;
}

/*
 * If the program was stopped by the terminal, stops massif-ctl as well, because the shell monitors massif-ctl, not the
 * program. If it was stopped by SIGSTOP, massif-ctl keeps running: the sender of SIGSTOP will later continue only the
 * program, so massif-ctl would remain stopped.
 */
static void follow_stop(struct watch *watch, int signal)
{
	if (signal != SIGTSTP && signal != SIGTTIN && signal != SIGTTOU)
		return;
	mf_signals_stop_self(signal);
	/* A shell continues the whole process group; another sender may have continued only massif-ctl. */
	look(watch);
	if (watch->stopped)
		kill(watch->pid, SIGCONT);
}

static void handle_signals(const struct mf_supervision *supervision, struct watch *watch)
{
	struct signalfd_siginfo info;
	int stopped_by;

	while (mf_signals_next(supervision->signals, &info)) {
		/*
		 * Check that the program is still running before sending a signal: once it has ended, its pid may be
		 * reused.
		 */
		stopped_by = look(watch);
		if (watch->ended)
			return;
		mf_signals_forward(&info, watch->pid);
		if (stopped_by)
			follow_stop(watch, stopped_by);
	}
}

/*
 * Waits for the next event and handles everything except signals. @watch is NULL if the program has ended. Returns 1 if a
 * signal is pending, 0 if not, or -errno.
 */
static int wait_for_events(const struct mf_supervision *supervision, struct watch *watch, int *drained,
			   struct mf_error *err)
{
	struct pollfd polled[] = {
		{ .fd = supervision->signals->fd, .events = POLLIN },
		{ .fd = *drained ? -1 : supervision->fd, .events = POLLIN },
		{ .fd = supervision->control_fd, .events = POLLIN },
	};
	int period = tick(supervision, watch, *drained ? -1 : supervision->period_ms);

	if (poll(polled, 3, period) < 0 && errno != EINTR)
		return mf_error_set(err, -errno, "poll: %s", strerror(errno));
	/* An error in drain() does not end the supervision of the program. */
	if (!*drained && supervision->drain)
		*drained = supervision->drain(supervision->data, err);
	if (polled[2].revents)
		supervision->serve(supervision->control);
	return polled[0].revents != 0;
}

int mf_supervise(const struct mf_supervision *supervision, int *status, struct mf_faults *faults,
		 struct mf_error *err)
{
	struct watch watch = { .pid = supervision->pid };
	int drained = 0;

	while (!watch.ended) {
		int ret = wait_for_events(supervision, &watch, &drained, err);

		if (ret < 0)
			return ret;
		if (ret)
			handle_signals(supervision, &watch);
	}
	*status = watch.status;
	*faults = watch.faults;
	return drained;
}

/*
 * Returns whether a pending signal should end massif-ctl. Also lets the user suspend massif-ctl from the terminal while
 * massif-ctl is in the foreground.
 */
static bool must_stop(const struct mf_supervision *supervision)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct signalfd_siginfo info;
	struct sigaction action;
	bool stop = false;

	while (mf_signals_next(supervision->signals, &info)) {
		int number = (int)info.ssi_signo;

		for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
			stop |= number == ends[i] && !sigaction(number, NULL, &action) &&
				action.sa_handler != SIG_IGN; /* nohup(1) makes the program ignore SIGHUP */
		if (number == SIGTSTP || number == SIGTTIN || number == SIGTTOU)
			mf_signals_stop_self(number);
	}
	return stop;
}

int mf_supervise_survivors(const struct mf_supervision *supervision, struct mf_error *err)
{
	int drained = 0;

	while (!drained && !supervision->is_done(supervision->data)) {
		int ret = wait_for_events(supervision, NULL, &drained, err);

		if (ret < 0)
			return ret;
		if (ret && must_stop(supervision))
			return 0;
	}
	return drained;
}
