// SPDX-License-Identifier: GPL-2.0
// Heap mode: the shim inside the program does the accounting in memory that it shares with massif-ctl.

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "family.h"
#include "ctl/launch/exec_watch.h"
#include "ctl/message/message.h"
#include "ctl/launch/mode.h"
#include "ctl/launch/shim_unsupported.h"
#include "origin.h"
#include "ctl/launch/shim.h"
#include "timekeeper.h"
#include "touch_session.h"

struct heap_state {
	struct mf_heap_family *family;
	struct mf_heap_process *first; /* the launched process, until it executes a program that joins massif-ctl */
	bool shim;    /* whether the program loads the shim */
	int session;  /* descriptor of the store until the program has inherited it */
	int trace;    /* descriptor for --trace-malloc until the program has inherited it */
	char **environment;
	struct mf_exec_watch watch; /* detects when the program calls exec, which removes the shim */
	int64_t watch_at;	     /* time of the next check of @watch for an exec; see mf_timekeeper_now() */
};

/*
 * Passes the program a copy of the descriptor that messages are written to, because the program may have closed its
 * standard error.
 */
static int prepare_trace(struct mf_run *run, struct heap_state *state,
			 const struct mf_heap_process *first, struct mf_error *err)
{
	if (!run->options->trace_malloc)
		return 0;
	state->trace = mf_fd_move_high(mf_message_target());
	if (state->trace < 0)
		return mf_error_set(err, state->trace,
				    "no file descriptor is left for --trace-malloc: %s",
				    strerror(-state->trace));
	first->store.header->trace_fd = state->trace;
	run->launch.inherited[1] = state->trace;
	return 0;
}

/* Prepares the session's descriptor and the environment that loads the shim, both of which the program inherits. */
static int prepare_shim(struct mf_run *run, struct heap_state *state,
			struct mf_heap_process *first, struct mf_error *err)
{
	mf_auto_free char *shim = NULL;
	int ret = mf_shim_find(&shim, err);

	if (ret)
		return ret;
	state->session = mf_fd_move_high(first->memory);
	if (state->session < 0)
		return mf_error_set(err, state->session,
				    "no file descriptor is left for the session: %s",
				    strerror(-state->session));
	ret = mf_shim_make_environment(run->launch.environment, shim, state->session,
				       mf_heap_family_address(state->family), &state->environment,
				       err);
	if (ret)
		return ret;
	run->launch.environment = state->environment;
	run->launch.inherited[0] = state->session;
	mf_message_say(MF_MESSAGE_DETAIL, "preloading %s", shim);
	return prepare_trace(run, state, first, err);
}

/* Opens a session with massif.ko, if --rss wants one and there can be one. */
static int prepare_touches(struct mf_run *run, struct heap_state *state, struct mf_error *err)
{
	struct epoll_event event = { .events = EPOLLIN };
	int ret = mf_touch_session_open(run->options, &run->options->touches, err);

	if (ret || !run->options->touches)
		return ret;
	run->launch.enrol = mf_touch_session_enrol;
	run->launch.enrol_error = mf_pages_enrol_error;
	run->launch.enrol_data = run->options->touches;
	event.data.fd = mf_touch_session_fd(run->options->touches);
	if (epoll_ctl(mf_heap_family_fd(state->family), EPOLL_CTL_ADD, event.data.fd, &event))
		return mf_error_set(err, -errno, "cannot wait for massif.ko: %s", strerror(errno));
	return 0;
}

/* Returns the path of the file that the kernel executes for @program; NULL if unknown. */
static const char *first_image(const struct mf_program *program)
{
	if (program->kind == MF_PROGRAM_UNKNOWN)
		return NULL;
	return program->image ? program->image : program->path;
}

static int prepare(struct mf_run *run, struct mf_error *err)
{
	const struct mf_program *program = run->program;
	const char *obstacle = mf_unsupported_of(program->kind);
	struct mf_heap_process *first;
	struct heap_state *state;
	int ret;

	state = calloc(1, sizeof(*state));
	if (!state)
		return mf_error_set(err, -ENOMEM, "out of memory");
	state->session = -1;
	state->trace = -1;
	run->state = state;

	mf_launch_lift_limit(&run->launch);
	ret = mf_heap_process_create(run->options, program->path, run->cmd, 0, &first, err);
	if (ret)
		return ret;
	/* Open the executable file now, because it may be deleted as soon as the program is running. */
	if (first_image(program))
		mf_mapped_program(&first->mapped, first_image(program));
	ret = mf_heap_family_create(run->options, first, NULL, &state->family, err);
	if (ret) {
		mf_heap_process_destroy(first);
		return ret;
	}
	mf_origin_note(&first->store, run->options, run->cmd, mf_heap_family_address(state->family));
	if (!mf_options_look_inside(run->options))
		return 0;
	/*
	 * @obstacle is the reason why the shim cannot be loaded. It applies only to the launched program: programs that
	 * join later have already loaded the shim.
	 */
	if (!obstacle) {
		state->shim = true;
		ret = prepare_touches(run, state, err);
		return ret ?: prepare_shim(run, state, first, err);
	}
	mf_message_say(MF_MESSAGE_PROBLEM, "%s %s",
		       program->image ? program->image : program->path, obstacle);
	return 0;
}

/* Returns whether the program announced an exec that state->watch has not detected. The exec may have failed. */
static bool executes_unseen(const struct heap_state *state)
{
	return !state->watch.replaced_by && state->first->store.header->executes;
}

static bool is_profiled(void *data, pid_t pid)
{
	return mf_heap_family_has(data, pid);
}

/* Returns the number of milliseconds until the next look is due; -1 if none is. */
static int look_at_heap_and_touches(struct mf_run *run)
{
	struct mf_touch_session *touches = run->options->touches;
	struct heap_state *state = run->state;
	int period;

	mf_touch_session_look(touches);
	period = mf_heap_family_look(state->family);
	mf_touch_session_tidy(touches, is_profiled, state->family);
	return mf_touch_session_fd(touches) < 0 ? period : mf_timekeeper_sooner(period, MF_PAGES_POLL_MS);
}

static int look(void *data, struct mf_error *err)
{
	struct mf_run *run = data;
	struct heap_state *state = run->state;
	int period = look_at_heap_and_touches(run);
	int64_t now = mf_timekeeper_now();

	/* If the launched process has called exec and joined the run again, its profile is now the new program's. */
	if (mf_heap_family_launched(state->family) != state->first)
		state->watch.period_ms = -1;
	if (state->watch.period_ms >= 0 && (now >= state->watch_at || executes_unseen(state))) {
		mf_exec_watch_look(&state->watch);
		state->watch_at = now + state->watch.period_ms;
		if (state->watch.replaced_by)
			mf_heap_process_note_end(state->first);
	}
	run->supervision.period_ms = mf_timekeeper_sooner(period, state->watch.period_ms);
	return 0;
}

static bool is_done(void *data)
{
	struct mf_run *run = data;
	struct heap_state *state = run->state;

	return mf_heap_family_is_empty(state->family);
}

/*
 * Raises massif-ctl's limit on open descriptors. Each profiled process needs two descriptors, and more while it
 * connects. The program's own limit is not affected, because the program has already been started with it.
 */
static void raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static void started(struct mf_run *run)
{
	struct heap_state *state = run->state;
	struct mf_heap_process *first = mf_heap_family_launched(state->family);

	if (state->session >= 0)
		close(mf_take(state->session, -1));
	if (state->trace >= 0)
		close(mf_take(state->trace, -1));
	raise_limit();
	first->pid = run->pid;
	state->first = first;
	if (state->shim || mf_heap_family_fd(state->family) >= 0) {
		mf_exec_watch_init(&state->watch, run->pid, first_image(run->program));
		if (!state->shim)
			state->watch.period_ms = -1;
		run->supervision.period_ms = 1;
		run->supervision.drain = look;
		run->supervision.is_done = is_done;
		run->supervision.fd = mf_heap_family_fd(state->family);
		run->supervision.data = run;
	}
	mf_heap_process_start(first);
}

/* The shim announces an exec, unless the program makes the system call without the C library. */
static bool executed_another(const struct heap_state *state)
{
	return state->watch.replaced_by || state->first->store.header->executes;
}

/* Reports that the program has executed another program, and that the profile ends at that point. */
static void tell_of_another_program(const struct mf_run *run, const struct heap_state *state)
{
	const char *path = state->watch.replaced_by;

	mf_message_say(MF_MESSAGE_PROBLEM, "%s executed another program%s%s, which is not profiled; %s",
		       run->program->path, path ? ", " : "", path ?: "",
		       run->options->trace_children ? "profile that program directly" :
						      "--trace-children=yes profiles it, too");
}

static void note_status(struct mf_heap_process *process, const struct mf_run *run)
{
	process->status = run->status;
	process->cut_off = process->store.header->pid && mf_run_was_cut_off(run);
}

static void ended(struct mf_run *run)
{
	struct heap_state *state = run->state;
	struct mf_heap_process *first = mf_heap_family_launched(state->family);

	if (first)
		mf_heap_process_note_end(first);
	if (first && first == state->first && !first->store.header->pid && state->shim)
		mf_message_say(MF_MESSAGE_PROBLEM,
			       "%s did not load the preload library, so heap mode cannot profile it; use "
			       "--pages-as-heap=yes", run->program->path);
	if (first && first == state->first && executed_another(state))
		tell_of_another_program(run, state);
	else if (first)
		note_status(first, run);
	mf_heap_family_end_launched(state->family);
	state->watch.period_ms = -1;
}

static size_t survivors(struct mf_run *run, mf_survivor_say *say, void *data)
{
	struct heap_state *state = run->state;

	return mf_heap_family_survivors(state->family, say, data);
}

static void pause_threads(struct mf_run *run)
{
	struct heap_state *state = run->state;

	mf_heap_family_pause(state->family);
}

static int resume_threads(struct mf_run *run, struct mf_error *err)
{
	struct heap_state *state = run->state;

	mf_touch_session_forked(run->options->touches);
	mf_heap_family_resume(state->family);
	return 0;
}

static void finish(struct mf_run *run)
{
	struct heap_state *state = run->state;

	mf_heap_family_end(state->family);
}

static void cleanup(struct mf_run *run)
{
	struct heap_state *state = run->state;

	if (!state)
		return;
	mf_heap_family_destroy(state->family);
	mf_touch_session_close(mf_take(run->options->touches, NULL));
	if (state->session >= 0)
		close(state->session);
	if (state->trace >= 0)
		close(state->trace);
	mf_shim_free_environment(state->environment);
	mf_exec_watch_deinit(&state->watch);
	free(state);
}

static void list(void *data, FILE *out)
{
	struct mf_run *run = data;
	struct heap_state *state = run->state;

	mf_heap_family_list(state->family, out);
}

static int snapshot(void *data, enum mf_control_verb verb, pid_t pid, FILE *out,
		    struct mf_error *err)
{
	struct mf_run *run = data;
	struct heap_state *state = run->state;
	struct mf_heap_process *process = mf_heap_family_find(state->family, pid);

	if (!process)
		return mf_error_set(err, -ESRCH, "process %d is no longer profiled",
				    (int)(pid ? pid : run->pid));
	mf_heap_process_request_sample(process);
	return mf_heap_process_snapshot(process, verb, out, err);
}

static int watch(void *data, pid_t pid, struct mf_control_watched *watched, struct mf_error *err)
{
	struct mf_run *run = data;
	struct heap_state *state = run->state;

	return mf_heap_family_watch(state->family, pid, run->pid, watched, err);
}

static bool figures(struct mf_run *run, struct mf_progress_figures *to)
{
	struct heap_state *state = run->state;
	const struct mf_heap_process *process = mf_heap_family_launched(state->family);

	if (process)
		*to = mf_heap_process_figures(process);
	return process != NULL;
}

const struct mf_mode mf_mode_heap = {
	.prepare = prepare,
	.started = started,
	.ended = ended,
	.survivors = survivors,
	.figures = figures,
	.pause = pause_threads,
	.resume = resume_threads,
	.finish = finish,
	.cleanup = cleanup,
	.control = { .list = list, .snapshot = snapshot, .watch = watch },
};
