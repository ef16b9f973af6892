// SPDX-License-Identifier: GPL-2.0
// Accompanies the program to its end: signals, job control, and a source of events beside.

#include "ctl/supervise.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>

/* Where the program is. */
struct watch {
	pid_t pid;
	bool ended, stopped;
	int status;
};

/* Takes in what has happened to the program. Returns the signal that stopped it just now, or 0. */
static int look(struct watch *watch)
{
	int status, stopped_by = 0;

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
 * The terminal stopped the program: stop, too, since the shell watches us, not it. A SIGSTOP is no
 * terminal's. Whoever sends it to the program alone will continue the program alone, and would
 * leave us stopped for ever.
 */
static void follow_stop(struct watch *watch, int signal)
{
	if (signal != SIGTSTP && signal != SIGTTIN && signal != SIGTTOU)
		return;
	mf_signals_stop_self(signal);
	/* A shell continues the whole group; somebody else perhaps only us. */
	look(watch);
	if (watch->stopped)
		kill(watch->pid, SIGCONT);
}

static void handle_signals(const struct mf_supervision *supervision, struct watch *watch)
{
	struct signalfd_siginfo info;
	int stopped_by;

	while (mf_signals_next(supervision->signals, &info)) {
		/* Before anything is sent: a process that is gone may have given its number on. */
		stopped_by = look(watch);
		if (watch->ended)
			return;
		mf_signals_forward(&info, watch->pid);
		if (stopped_by)
			follow_stop(watch, stopped_by);
	}
}

int mf_supervise(const struct mf_supervision *supervision, int *status, struct mf_error *err)
{
	struct watch watch = { .pid = supervision->pid };
	struct pollfd polled[] = {
		{ .fd = supervision->signals->fd, .events = POLLIN },
		{ .fd = supervision->fd, .events = POLLIN },
		{ .fd = supervision->control_fd, .events = POLLIN },
	};
	int ret = 0;

	while (!watch.ended) {
		int period = ret ? -1 : supervision->period_ms;

		if (poll(polled, 3, period) < 0 && errno != EINTR)
			return mf_error_set(err, -errno, "poll: %s", strerror(errno));
		if (!ret && supervision->drain) {
			ret = supervision->drain(supervision->data, err);
			/* The program does not suffer from it; and a negative one is not polled. */
			if (ret)
				polled[1].fd = -1;
		}
		if (polled[2].revents)
			supervision->serve(supervision->control);
		if (polled[0].revents)
			handle_signals(supervision, &watch);
	}
	*status = watch.status;
	return ret;
}
