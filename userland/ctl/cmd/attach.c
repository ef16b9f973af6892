// SPDX-License-Identifier: GPL-2.0
// massif-ctl attach: profiles the pages of a running process until it ends, --duration expires or massif-ctl is
// stopped by a signal.

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ctl/options/time_units.h"
#include "attach.h"
#include "command.h"
#include "ctl/control/server.h"
#include "ctl/check/checker.h"
#include "ctl/files/recorder.h"
#include "ctl/options/defaults.h"
#include "ctl/output/logfile.h"
#include "ctl/message/message.h"
#include "ctl/options/number.h"
#include "ctl/options/options.h"
#include "ctl/output/output.h"
#include "ctl/pages/session.h"
#include "ctl/launch/pidproc.h"
#include "ctl/launch/signals.h"
#include "symbols/truncation.h"

enum {
	STATUS_REFUSED = 1,
	STATUS_OVER = 1, /* the process is over a budget */
	STATUS_LOST = 125,	   /* exit status if an output file could not be written anywhere */
	DURATION_MAX = 1000000000, /* largest value that --duration accepts, in seconds */
};

/* The arguments of the attach command itself. */
struct request {
	pid_t pid;
	double duration; /* how long to profile, in seconds; 0 means until the process ends or massif-ctl is stopped */
	bool heap;	 /* profile the heap, not the pages */
};

/* The state of one attach command. */
struct attachment {
	const struct mf_options *options;
	struct mf_pidproc process;
	struct mf_signals signals;
	struct mf_pages_session session;
	struct mf_control *control; /* server of the control socket, or NULL if the socket could not be opened */
	int timer;
};

static int refuse(const struct mf_error *err)
{
	mf_message_say(MF_MESSAGE_ERROR, "%s", err->text);
	return STATUS_REFUSED;
}

static int parse_duration(const char *text, double *seconds, struct mf_error *err)
{
	if (!text || !mf_number_parse_decimal(text, seconds) || !(*seconds > 0) ||
	    *seconds > DURATION_MAX) {
		mf_options_explain(err, "--duration",
				   "it needs a number of seconds, above 0 and at most 1000000000");
		return -EINVAL;
	}
	return 0;
}

static int parse_pid(const char *text, pid_t *pid, struct mf_error *err)
{
	int64_t number;

	if (!mf_number_parse_integer(text, &number) || number <= 0 || number > INT32_MAX)
		return mf_error_set(err, -EINVAL, "%.200s: not a process id", text);
	if (*pid)
		return mf_error_set(err, -EINVAL, "one process at a time: %d or %.200s?",
				    (int)*pid, text);
	*pid = (pid_t)number;
	return 0;
}

/*
 * Parses the pid and --duration, which may appear anywhere in @argv, into @request. Copies all other words to @options,
 * which has room for @argc words. Returns the number of words in @options, or -errno.
 */
static int sort_words(int argc, char **argv, struct request *request, char **options,
		      struct mf_error *err)
{
	static const char duration[] = "--duration";
	const size_t length = strlen(duration);
	int n = 0, ret = 0;

	for (int i = 0; i < argc && !ret; i++) {
		if (strcmp(argv[i], duration) == 0) {
			i++;
			ret = parse_duration(i < argc ? argv[i] : NULL, &request->duration, err);
		} else if (strncmp(argv[i], duration, length) == 0 && argv[i][length] == '=') {
			ret = parse_duration(argv[i] + length + 1, &request->duration, err);
		} else if (strcmp(argv[i], "--heap") == 0 || strcmp(argv[i], "--heap=yes") == 0) {
			request->heap = true;
		} else if (argv[i][0] == '-') {
			options[n++] = argv[i];
		} else {
			ret = parse_pid(argv[i], &request->pid, err);
		}
	}
	return ret ? ret : n;
}

int mf_attach_make_timer(double seconds, int *timer, struct mf_error *err)
{
	struct itimerspec when = {
		.it_value = { .tv_sec = (time_t)seconds,
			      .tv_nsec = (long)((seconds - floor(seconds)) * 1e9) },
	};

	*timer = -1;
	if (seconds <= 0)
		return 0;
	/* A timer that is set to zero never expires. */
	if (!when.it_value.tv_sec && !when.it_value.tv_nsec)
		when.it_value.tv_nsec = 1;
	*timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (*timer < 0 || timerfd_settime(*timer, 0, &when, NULL))
		return mf_error_set(err, -errno, "cannot make a timer: %s", strerror(errno));
	return 0;
}

bool mf_attach_must_stop(const struct mf_signals *signals)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct signalfd_siginfo info;
	bool stop = false;

	while (mf_signals_next(signals, &info)) {
		for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
			stop |= (int)info.ssi_signo == ends[i];
		if (info.ssi_signo == SIGTSTP || info.ssi_signo == SIGTTIN ||
		    info.ssi_signo == SIGTTOU)
			mf_signals_stop_self((int)info.ssi_signo);
	}
	return stop;
}

static void list(void *data, FILE *out)
{
	mf_pages_session_list(data, out);
}

static int snapshot(void *data, enum mf_control_verb verb, pid_t pid, FILE *out,
		    struct mf_error *err)
{
	return mf_pages_session_snapshot(data, verb, pid, out, err);
}

static int watch(void *data, pid_t pid, struct mf_control_watched *watched, struct mf_error *err)
{
	return mf_pages_session_watch(data, pid, watched, err);
}

static const struct mf_control_ops control_ops = { .list = list, .snapshot = snapshot, .watch = watch };

/* Records until the process ends, the duration expires or a signal ends massif-ctl. Returns 0 or -errno. */
static int follow(struct attachment *a, struct mf_error *err)
{
	struct pollfd polled[] = {
		{ .fd = a->signals.fd, .events = POLLIN },
		{ .fd = a->timer, .events = POLLIN },
		{ .fd = mf_pages_fd(a->session.pages), .events = POLLIN },
		{ .fd = mf_control_fd(a->control), .events = POLLIN },
	};
	const int n = sizeof(polled) / sizeof(polled[0]);
	int ret;

	while (!a->session.first_ended && !mf_pages_done(a->session.pages)) {
		if (poll(polled, (nfds_t)n, MF_PAGES_POLL_MS) < 0 && errno != EINTR)
			return mf_error_set(err, -errno, "poll: %s", strerror(errno));
		ret = mf_pages_session_drain(&a->session, err);
		if (ret)
			return ret;
		if (polled[3].revents)
			mf_control_serve(a->control);
		if (polled[1].revents || (polled[0].revents && mf_attach_must_stop(&a->signals)))
			return 0;
	}
	return 0;
}

/* Attaches, records and writes the files. Returns the exit status. */
static int record(struct attachment *a)
{
	pid_t pid = a->process.pid;
	struct mf_error err;
	bool kept;
	int ret;

	ret = mf_pages_join(a->session.pages, pid, &err);
	/* If the process is still alive, its pid cannot have been reused before the attach. */
	if (!ret && !mf_pidproc_is_alive(&a->process))
		ret = mf_error_set(&err, -ESRCH, "process %d has just ended", (int)pid);
	if (ret)
		return refuse(&err);
	mf_output_reserve(a->options, pid);
	mf_message_say(MF_MESSAGE_NOTE, "attached to process %d (%.*s)%s", (int)pid,
		       (int)strcspn(a->process.cmd, "\n"), a->process.cmd,
		       a->timer < 0 ? "; Ctrl-C detaches" : "");
	/*
	 * If the control socket cannot be opened, other commands cannot read the running profile, but the profile
	 * itself is unaffected.
	 */
	if (mf_control_open(&control_ops, &a->session, &a->control, &err))
		mf_message_say(MF_MESSAGE_DETAIL, "%s", err.text);
	mf_control_follow(a->control, a->options->outputs);
	ret = follow(a, &err);
	if (ret)
		refuse(&err);
	if (!ret && !a->session.first_ended && mf_pages_count(a->session.pages))
		mf_message_say(MF_MESSAGE_DETAIL, "detaching from process %d", (int)pid);
	mf_pages_session_end(&a->session);
	mf_control_follow(NULL, a->options->outputs);
	mf_control_close(mf_take(a->control, NULL));
	mf_recorder_say(a->options->recorder);
	kept = mf_checker_say(a->options->checker);
	return ret ? STATUS_REFUSED : kept ? 0 : STATUS_OVER;
}

static int attach(struct mf_options *options, const struct request *request)
{
	__attribute__((cleanup(mf_pidproc_close))) struct mf_pidproc process = { .fd = -1 };
	__attribute__((cleanup(mf_logfile_close))) struct mf_logfile log = { .fd = -1 };
	mf_auto_close int timer = -1;
	struct attachment a = { .options = options };
	struct mf_error err, note = { "" };
	bool own;
	int status;

	if (mf_logfile_open(&log, options, &err) || mf_output_check(options, &own, &err) ||
	    mf_clock_choose_unit(options, &note, &err) ||
	    mf_pidproc_open(&process, request->pid, &err))
		return refuse(&err);
	mf_logfile_name(&log, request->pid);
	if (mf_pages_session_open(&a.session, options, NULL, process.cmd, &err) ||
	    mf_attach_make_timer(request->duration, &timer, &err) || mf_signals_take(&a.signals, &err)) {
		mf_pages_session_close(&a.session);
		return refuse(&err);
	}
	mf_truncation_endure();
	a.process = process;
	a.timer = timer;
	status = record(&a);
	if (mf_outputs_are_lost(options->outputs))
		status = STATUS_LOST;
	mf_pages_session_close(&a.session);
	mf_signals_release(&a.signals);
	return status;
}

static int attach_with(struct mf_options *options, const struct mf_defaults *defaults, int argc,
		       char **argv, char **words)
{
	struct request request = { 0 };
	struct mf_error err;
	int n, used;

	n = sort_words(argc, argv, &request, words, &err);
	if (n < 0)
		return refuse(&err);
	if (mf_options_parse_defaults(options, defaults, &err) ||
	    mf_options_parse(options, n, words, &used, &err))
		return refuse(&err);
	if (options->wanted == MF_OPTIONS_HELP)
		return mf_command_explain("attach");
	if (options->wanted == MF_OPTIONS_VERSION)
		return mf_command_version(0, argv + argc);
	if (!request.pid) {
		mf_error_set(&err, 0, "no process specified: massif-ctl attach PID\n"
				      "Use --help for more information.");
		return refuse(&err);
	}
	options->heap = true;
	options->pages_as_heap = !request.heap;
	mf_message_set_level(options->verbosity);
	mf_defaults_say_refused(defaults);
	return request.heap ? mf_attach_heap(options, request.pid, request.duration) : attach(options, &request);
}

int mf_command_attach(int argc, char **argv)
{
	__attribute__((cleanup(mf_defaults_free))) struct mf_defaults defaults = { 0 };
	__attribute__((cleanup(mf_options_deinit))) struct mf_options options = { 0 };
	mf_auto_free char **words = calloc((size_t)argc + 1, sizeof(*words));
	struct mf_error err;

	if (!words) {
		mf_error_set(&err, -ENOMEM, "out of memory");
		return refuse(&err);
	}
	if (!mf_options_has_command_line_only(argc, argv) && mf_defaults_read(&defaults, &err))
		return refuse(&err);
	if (mf_options_init(&options, argc + (int)defaults.count, &err))
		return refuse(&err);
	return attach_with(&options, &defaults, argc, argv, words);
}
