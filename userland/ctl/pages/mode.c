// SPDX-License-Identifier: GPL-2.0
// Pages mode: massif.ko records every mapping, and massif-ctl builds the profiles of all processes.

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "ctl/message/message.h"
#include "ctl/launch/mode.h"
#include "session.h"
#include "pages/pages.h"

enum {
	END_PATIENCE_MS = 5000, /* maximum time to wait for the program's last record after the program has ended */
};

static int drain(void *data, struct mf_error *err)
{
	return mf_pages_session_drain(data, err);
}

static int enrol(void *data)
{
	return mf_pages_enrol(data);
}

static bool is_done(void *data)
{
	struct mf_pages_session *session = data;

	return mf_pages_done(session->pages) || !mf_pages_count(session->pages);
}

static int prepare(struct mf_run *run, struct mf_error *err)
{
	struct mf_pages_session *session = calloc(1, sizeof(*session));
	int ret;

	if (!session)
		return mf_error_set(err, -ENOMEM, "out of memory");
	run->state = session;
	if (run->program->kind == MF_PROGRAM_PRIVILEGED)
		mf_message_say(MF_MESSAGE_PROBLEM,
			       "%s gains privileges (set-uid, set-gid or capabilities), so it is not "
			       "profiled; run it as a user who already has them",
			       run->program->image ? run->program->image : run->program->path);
	ret = mf_pages_session_open(session, run->options, run->program->path, run->cmd, err);
	if (ret)
		return ret;
	session->keeps_first = true;
	run->launch.enrol = enrol;
	run->launch.enrol_error = mf_pages_enrol_error;
	run->launch.enrol_data = session->pages;
	run->supervision.fd = mf_pages_fd(session->pages);
	run->supervision.period_ms = MF_PAGES_POLL_MS;
	run->supervision.drain = drain;
	run->supervision.is_done = is_done;
	run->supervision.data = session;
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

/* Reads records until the launched program's profile is complete, because its last record may arrive late. */
static void read_on(struct mf_pages_session *session)
{
	int64_t end = now_ms() + END_PATIENCE_MS;
	struct mf_error err;

	while (!session->first_ended && !mf_pages_done(session->pages) && now_ms() < end) {
		struct pollfd polled = { .fd = mf_pages_fd(session->pages), .events = POLLIN };

		poll(&polled, 1, MF_PAGES_POLL_MS);
		if (mf_pages_session_drain(session, &err)) {
			mf_message_say(MF_MESSAGE_ERROR, "%s", err.text);
			return;
		}
	}
}

static void ended(struct mf_run *run)
{
	struct mf_pages_session *session = run->state;

	if (!session->broken)
		read_on(session);
	mf_pages_session_end_first(session, run->status);
}

static size_t survivors(struct mf_run *run, mf_survivor_say *say, void *data)
{
	const struct mf_pages_session *session = run->state;
	size_t n = 0;

	/*
	 * If reading the module's records failed, or if the records do not include the end of the first process, they
	 * are incomplete and do not reliably show which processes are still running, so report none.
	 */
	if (!session->first_ended || session->broken)
		return 0;
	for (size_t i = 0; i < mf_pages_count(session->pages); i++) {
		const struct mf_pages_process *process = mf_pages_process(session->pages, i);

		if (process->state != MF_PAGES_RUNNING)
			continue;
		n++;
		if (say)
			say(data, process->pid, process->cmd ? process->cmd : process->comm);
	}
	return n;
}

static void pause_threads(struct mf_run *run)
{
}

static int resume(struct mf_run *run, struct mf_error *err)
{
	struct mf_pages_session *session = run->state;

	return mf_pages_forked(session->pages, err);
}

static void finish(struct mf_run *run)
{
	struct mf_pages_session *session = run->state;
	size_t left = survivors(run, NULL, NULL);

	mf_survivor_say_cut_off(left);
	mf_pages_session_end(session);
	if (!session->first_ended)
		mf_message_say(MF_MESSAGE_PROBLEM,
			       "massif.ko recorded nothing about %s, so no file is written for it",
			       run->program->path);
}

static void cleanup(struct mf_run *run)
{
	if (!run->state)
		return;
	mf_pages_session_close(run->state);
	free(run->state);
}

static void list(void *data, FILE *out)
{
	struct mf_run *run = data;

	mf_pages_session_list(run->state, out);
}

static int snapshot(void *data, enum mf_control_verb verb, pid_t pid, FILE *out,
		    struct mf_error *err)
{
	struct mf_run *run = data;

	return mf_pages_session_snapshot(run->state, verb, pid, out, err);
}

static int watch(void *data, pid_t pid, struct mf_control_watched *watched, struct mf_error *err)
{
	struct mf_run *run = data;

	return mf_pages_session_watch(run->state, pid, watched, err);
}

static bool figures(struct mf_run *run, struct mf_progress_figures *to)
{
	return mf_pages_session_figures(run->state, to);
}

const struct mf_mode mf_mode_pages = {
	.prepare = prepare,
	.started = started,
	.ended = ended,
	.survivors = survivors,
	.figures = figures,
	.pause = pause_threads,
	.resume = resume,
	.finish = finish,
	.cleanup = cleanup,
	.control = { .list = list, .snapshot = snapshot, .watch = watch },
};
