// SPDX-License-Identifier: GPL-2.0
// A session with massif.ko beside a run in heap mode: the module records who touched the pages of the profiled processes first.

#include "touch_session.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "ctl/message/message.h"
#include "ctl/options/skipped_children.h"
#include "ctl/pages/priority.h"

struct mf_touch_session {
	const struct mf_options *options;
	struct mf_pages *pages; /* NULL: the session has failed */
	/* processes that have ended, but whose heap profile may not have been written yet */
	struct mf_pages_process **ended;
	size_t n_ended, room;
	struct mf_priority priority;
};

static bool skips(void *data, const char *path, const char *args, size_t n_bytes)
{
	return mf_children_skips(data, path, args, n_bytes);
}

/* Says why there is no session, if the user may wonder. */
static void say_none(int code, const struct mf_error *err)
{
	bool is_usual = code == -ENOENT || code == -EACCES || code == -EPERM;

	mf_message_say(is_usual ? MF_MESSAGE_DETAIL : MF_MESSAGE_PROBLEM,
		       "the resident set is sampled from /proc, without massif.ko: %s", err->text);
}

int mf_touch_session_open(const struct mf_options *options, struct mf_touch_session **session, struct mf_error *err)
{
	struct mf_pages_options pages = {
		.model = options->model,
		.what = MF_PAGES_RESIDENT,
		.depth = options->report.depth,
		.traces_children = options->trace_children,
		.skips = skips,
		.skips_data = (void *)options,
		.held = options->held,
	};
	struct mf_touch_session *made;
	struct mf_error why;
	int code;

	*session = NULL;
	if (options->rss != MF_RSS_ANY && options->rss != MF_RSS_MODULE)
		return 0;
	made = calloc(1, sizeof(*made));
	if (!made)
		return mf_error_set(err, -ENOMEM, "out of memory");
	made->options = options;
	pages.model.time_unit = MF_TIME_MS;
	pages.model.heap_admin = 0;
	code = mf_pages_open(&pages, &made->pages, &why);
	if (!code) {
		*session = made;
		return 0;
	}
	free(made);
	if (options->rss == MF_RSS_MODULE)
		return mf_error_set(err, code, "--rss=module: %.700s (--rss=sampled needs no module)", why.text);
	say_none(code, &why);
	return 0;
}

static void end(struct mf_touch_session *session)
{
	mf_pages_close(mf_take(session->pages, NULL));
	session->n_ended = 0;
}

void mf_touch_session_close(struct mf_touch_session *session)
{
	if (!session)
		return;
	end(session);
	free(session->ended);
	free(session);
}

int mf_touch_session_fd(const struct mf_touch_session *session)
{
	return session && session->pages ? mf_pages_fd(session->pages) : -1;
}

int mf_touch_session_enrol(void *data)
{
	const struct mf_touch_session *session = data;
	int code = mf_pages_enrol(session->pages);

	return session->options->rss == MF_RSS_MODULE ? code : 0;
}

/* Ends the session, because of @err. */
static void fail(struct mf_touch_session *session, const struct mf_error *err)
{
	mf_message_say(MF_MESSAGE_PROBLEM, "the resident set is sampled from /proc from now on, without massif.ko: %s",
		       err->text);
	end(session);
}

int mf_touch_session_join(struct mf_touch_session *session, pid_t pid, struct mf_error *err)
{
	int code = session ? mf_pages_join(session->pages, pid, err) : 0;

	if (!code || session->options->rss == MF_RSS_MODULE)
		return code;
	fail(session, err);
	return 0;
}

void mf_touch_session_forked(struct mf_touch_session *session)
{
	struct mf_error err;

	if (session && session->pages && mf_pages_forked(session->pages, &err))
		fail(session, &err);
}

static void keep(struct mf_touch_session *session, struct mf_pages_process *process)
{
	size_t room = session->room ? 2 * session->room : 16;
	struct mf_pages_process **more;

	if (session->n_ended == session->room) {
		more = reallocarray(session->ended, room, sizeof(*more));
		if (!more) {
			mf_pages_release(session->pages, process);
			return;
		}
		session->ended = more;
		session->room = room;
	}
	session->ended[session->n_ended++] = process;
}

/* Returns whether what is recorded of an ended process is of its last program. */
static bool is_complete(const struct mf_pages_process *process)
{
	return process->state != MF_PAGES_REPLACED && process->state != MF_PAGES_SECURE && process->state != MF_PAGES_SKIPPED;
}

void mf_touch_session_look(struct mf_touch_session *session)
{
	struct mf_pages_process *process;
	struct mf_error err;
	int ret;

	if (!session || !session->pages)
		return;
	/* Only for a moment: the threads and processes that look up names shall not have that priority. */
	mf_priority_raise(&session->priority);
	ret = mf_pages_drain(session->pages, &err);
	mf_priority_restore(&session->priority);
	if (ret) {
		fail(session, &err);
		return;
	}
	while ((process = mf_pages_next_ended(session->pages))) {
		if (is_complete(process))
			keep(session, process);
		else
			mf_pages_release(session->pages, process);
	}
}

const struct mf_pages_process *mf_touch_session_find(const struct mf_touch_session *session, pid_t pid)
{
	return session && session->pages ? mf_pages_find(session->pages, pid) : NULL;
}

static void each(void *data, uint64_t start, uint64_t end, mf_touch_found *found, void *found_data)
{
	mf_pages_each_resident(data, start, end, found, found_data);
}

static uint64_t resident(void *data)
{
	return mf_pages_resident(data).bytes;
}

bool mf_touch_session_source(const struct mf_touch_session *session, pid_t pid, struct mf_touch_source *source)
{
	const struct mf_pages_process *process = mf_touch_session_find(session, pid);

	if (!process || process->state != MF_PAGES_RUNNING)
		return false;
	*source = (struct mf_touch_source){ .each = each, .resident = resident, .data = (void *)process };
	return true;
}

static void release(struct mf_touch_session *session, size_t i)
{
	mf_pages_release(session->pages, session->ended[i]);
	session->ended[i] = session->ended[--session->n_ended];
}

void mf_touch_session_forget(struct mf_touch_session *session, pid_t pid)
{
	for (size_t i = session ? session->n_ended : 0; i-- > 0;)
		if (session->ended[i]->pid == pid)
			release(session, i);
}

void mf_touch_session_tidy(struct mf_touch_session *session, bool (*is_profiled)(void *data, pid_t pid), void *data)
{
	for (size_t i = session ? session->n_ended : 0; i-- > 0;)
		if (!is_profiled(data, session->ended[i]->pid))
			release(session, i);
}
