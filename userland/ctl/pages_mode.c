// SPDX-License-Identifier: GPL-2.0
// Pages mode: massif.ko tells of every mapping; the profiles of all processes grow in ours.

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ctl/account.h"
#include "ctl/message.h"
#include "ctl/mode.h"
#include "ctl/output.h"
#include "pages/pages.h"

enum {
	END_PATIENCE_MS = 5000, /* from the program's death to the last of its records */
};

struct pages_state {
	struct mf_pages *pages;
	bool launched_ended; /* the launched program's profile is done with */
	bool broken;	     /* the records make no sense any more */
};

static void say_quality(const struct mf_pages_process *process)
{
	if (process->lost)
		mf_message_say(MF_MESSAGE_PROBLEM,
			       "the profile of process %d is incomplete: %" PRIu64
			       " events were lost",
			       (int)process->pid, process->lost);
	else if (process->state == MF_PAGES_EXITED && !process->exact)
		mf_message_say(MF_MESSAGE_PROBLEM,
			       "the profile of process %d is not exact: %" PRIu64
			       " pages by our account, %" PRIu64 " by the kernel's",
			       (int)process->pid, process->model_pages, process->kernel_pages);
	if (process->no_stack)
		mf_message_say(MF_MESSAGE_DETAIL,
			       "process %d: %" PRIu64 " of %" PRIu64 " events have no stack",
			       (int)process->pid, process->no_stack, process->events);
}

static void end_process(struct mf_run *run, const struct mf_pages_process *process)
{
	enum mf_message_level level = process->launched ? MF_MESSAGE_PROBLEM : MF_MESSAGE_DETAIL;
	struct mf_error err;

	switch (process->state) {
	case MF_PAGES_REPLACED:
		mf_message_say(level, "process %d executed another program (%s); no file is "
				      "written for what it was before",
			       (int)process->pid, process->comm);
		return;
	case MF_PAGES_SECURE:
		mf_message_say(level, "process %d executed a program that gains rights or may "
				      "not be read (%s); it is not profiled and no file is written",
			       (int)process->pid, process->comm);
		return;
	default:
		mf_account_end(run->options, process->store, process->pid);
		say_quality(process);
		if (mf_output_write(run->options, run->cmd, process->store, process->pid, true,
				    &err))
			mf_message_say(MF_MESSAGE_ERROR, "%s", err.text);
	}
}

/* Writes the files of all processes whose profiles are complete. */
static void write_ended(struct mf_run *run)
{
	struct pages_state *state = run->state;
	struct mf_pages_process *process;

	while ((process = mf_pages_next_ended(state->pages))) {
		state->launched_ended |= process->launched;
		end_process(run, process);
		mf_pages_release(state->pages, process);
	}
}

static int drain(void *data, struct mf_error *err)
{
	struct mf_run *run = data;
	struct pages_state *state = run->state;
	int ret = mf_pages_drain(state->pages, err);

	state->broken |= ret != 0;
	write_ended(run);
	return ret;
}

static int enrol(void *data)
{
	return mf_pages_enrol(data);
}

static int prepare(struct mf_run *run, struct mf_error *err)
{
	struct mf_pages_options options = {
		.model = run->options->model,
		.depth = run->options->report.depth,
	};
	struct pages_state *state;
	int ret;

	state = calloc(1, sizeof(*state));
	if (!state)
		return mf_error_set(err, -ENOMEM, "out of memory");
	run->state = state;
	if (run->program->kind == MF_PROGRAM_PRIVILEGED)
		mf_message_say(MF_MESSAGE_PROBLEM,
			       "%s gains rights when it is executed (set-uid, set-gid or "
			       "capabilities), so massif.ko leaves it alone; run it as a user who "
			       "has them",
			       run->program->image ? run->program->image : run->program->path);
	options.model.heap_admin = 0;
	options.model.logs_steps = mf_account_log_level(run->options);
	ret = mf_pages_open(&options, &state->pages, err);
	if (ret)
		return ret;
	run->launch.enrol = enrol;
	run->launch.enrol_error = mf_pages_enrol_error;
	run->launch.enrol_data = state->pages;
	run->supervision.fd = mf_pages_fd(state->pages);
	run->supervision.period_ms = MF_PAGES_POLL_MS;
	run->supervision.drain = drain;
	run->supervision.data = run;
	return 0;
}

static void started(struct mf_run *run)
{
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Reads until the launched program's profile is there: its last record may be on its way. */
static void read_on(struct mf_run *run)
{
	struct pages_state *state = run->state;
	int64_t end = now_ms() + END_PATIENCE_MS;
	struct mf_error err;

	while (!state->launched_ended && !mf_pages_done(state->pages) && now_ms() < end) {
		struct pollfd polled = { .fd = mf_pages_fd(state->pages), .events = POLLIN };

		poll(&polled, 1, MF_PAGES_POLL_MS);
		if (drain(run, &err)) {
			mf_message_say(MF_MESSAGE_ERROR, "%s", err.text);
			return;
		}
	}
}

static void finish(struct mf_run *run)
{
	struct pages_state *state = run->state;
	struct mf_error err;
	size_t left;

	if (!state->broken)
		read_on(run);
	/* Nobody shall have to wait for a daemon. */
	left = mf_pages_count(state->pages);
	if (state->launched_ended && left)
		mf_message_say(MF_MESSAGE_PROBLEM,
			       "%zu of the processes that the program started still run; their "
			       "profiles end here",
			       left);
	if (mf_pages_end(state->pages, &err))
		mf_message_say(MF_MESSAGE_ERROR, "%s", err.text);
	write_ended(run);
	if (!state->launched_ended)
		mf_message_say(MF_MESSAGE_PROBLEM,
			       "massif.ko told nothing of %s, so no file is written for it",
			       run->program->path);
}

static void cleanup(struct mf_run *run)
{
	struct pages_state *state = run->state;

	if (!state)
		return;
	mf_pages_close(state->pages);
	free(state);
}

const struct mf_mode mf_mode_pages = {
	.prepare = prepare,
	.started = started,
	.finish = finish,
	.cleanup = cleanup,
};
