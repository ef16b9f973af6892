// SPDX-License-Identifier: GPL-2.0
// One running profile that is watched.

#include "live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/proc_mapping.h"

enum {
	CPU_SHARE = 100, /* an update may take this part of the time since the last one */
	REST_MS = 30000,
	NAMES_MS = 5000, /* names of what is hardly seen are looked up after this time */
};

static void set_text(char **text, const char *value)
{
	free(*text);
	*text = value ? strdup(value) : NULL;
}

int mf_live_open(struct mf_live *live, const struct mf_profiled *profiled, struct mf_error *err)
{
	*live = (struct mf_live){ .pid = profiled->pid, .process = -1, .session = { .memory = -1 } };
	set_text(&live->cmd, profiled->cmd);
	return mf_watch_open(&live->watch, profiled->socket, profiled->pid, err);
}

/*
 * Returns whether process @pid has mapped the session memory. The number can be that of a container, in which another
 * process has it. In pages mode, the process does not know the memory.
 */
static bool has_mapped(pid_t pid, uint64_t inode)
{
	__attribute__((cleanup(mf_proc_mappings_close))) struct mf_proc_mappings maps = { 0 };
	struct mf_proc_mapping mapping;

	if (mf_proc_mappings_open(&maps, pid))
		return false;
	while (mf_proc_mappings_next(&maps, &mapping))
		if (mapping.inode == inode && strstr(mapping.path, "massif-session"))
			return true;
	return false;
}

static void drop_session(struct mf_live *live)
{
	if (!live->has_session)
		return;
	mf_live_namer_destroy(mf_take(live->namer, NULL));
	mf_live_session_close(&live->session);
	mf_live_table_deinit(&live->table);
	if (live->process >= 0)
		close(mf_take(live->process, -1));
	live->has_session = false;
}

void mf_live_close(struct mf_live *live)
{
	if (!live->pid)
		return;
	drop_session(live);
	mf_watch_close(&live->watch);
	free(live->cmd);
	free(live->file);
	free(live->note);
	*live = (struct mf_live){ 0 };
}

void mf_live_poll(const struct mf_live *live, struct pollfd polled[static MF_LIVE_POLLED])
{
	polled[0] = (struct pollfd){ .fd = live->watch.fd, .events = POLLIN };
	polled[1] = (struct pollfd){ .fd = live->state < MF_LIVE_ENDING ? live->process : -1, .events = POLLIN };
	polled[2] = (struct pollfd){ .fd = live->namer ? mf_live_namer_fd(live->namer) : -1, .events = POLLIN };
}

/* Takes the session memory, unless it is the one that is being read already. */
static int take_session(struct mf_live *live, struct mf_watch_news *news, struct mf_error *err)
{
	bool is_here;
	int ret;

	if (live->has_session && mf_live_session_inode(news->memory) == live->session.inode)
		return 0;
	drop_session(live);
	live->n_changes++;
	set_text(&live->cmd, news->text);
	set_text(&live->note, NULL);
	live->history = (struct mf_live_history){ 0 };
	live->n_updates = 0;
	live->rests_until = 0;
	live->names_due = 0;
	ret = mf_live_session_open(&live->session, mf_take(news->memory, -1), news->start_ns, news->pages, err);
	if (ret)
		return ret;
	live->has_session = true;
	is_here = has_mapped(live->pid, live->session.inode);
	if (is_here)
		live->process = (int)syscall(SYS_pidfd_open, live->pid, 0);
	ret = mf_live_namer_create(&live->session.store, live->process < 0 ? 0 : live->pid, live->process,
				   news->pages, &live->namer, err);
	if (!ret)
		ret = mf_live_table_init(&live->table, err);
	if (ret)
		drop_session(live);
	else
		live->state = MF_LIVE_RUNNING;
	return ret;
}

/* Nothing comes after the end of the process, so what is left is looked up at once. */
static void name_rest(struct mf_live *live)
{
	if (live->state < MF_LIVE_ENDING || !live->namer)
		return;
	mf_live_namer_hurry(live->namer);
	mf_live_namer_start(live->namer, live->session.n_contexts);
}

static void note_end(struct mf_live *live, enum mf_live_state state)
{
	struct mf_error err;

	if (live->state >= state)
		return;
	if (live->has_session && live->state == MF_LIVE_RUNNING) {
		/* The session memory remains, and it is now complete. */
		live->rests_until = 0;
		mf_live_update(live, &err);
		live->session.end_ms = live->session.totals.age_ms;
	}
	live->state = state;
	live->n_changes++;
	name_rest(live);
}

static int take_news(struct mf_live *live, struct mf_watch_news *news, struct mf_error *err)
{
	if (news->kind != MF_WATCH_NOTHING && news->kind != MF_WATCH_SESSION)
		live->n_changes++;
	switch (news->kind) {
	case MF_WATCH_NOTHING:
		break;
	case MF_WATCH_SESSION:
		return live->state < MF_LIVE_ENDING ? take_session(live, news, err) : 0;
	case MF_WATCH_LATER:
		set_text(&live->note, news->text);
		break;
	case MF_WATCH_GONE:
		set_text(&live->note, news->text);
		note_end(live, MF_LIVE_ENDED);
		break;
	case MF_WATCH_WRITTEN:
		if (news->pid != live->pid)
			break;
		set_text(&live->file, news->text);
		note_end(live, MF_LIVE_ENDED);
		break;
	case MF_WATCH_CLOSED:
		note_end(live, MF_LIVE_ENDED);
		if (!live->file && !live->note)
			set_text(&live->note, "its massif-ctl has ended without a file");
		break;
	case MF_WATCH_GARBAGE:
		note_end(live, MF_LIVE_ENDED);
		return mf_error_set(err, -EPROTO, "the massif-ctl that profiles process %d sends what this one does not "
						  "understand; it may be of another version", (int)live->pid);
	}
	return 0;
}

static bool has_ended(const struct mf_live *live)
{
	struct pollfd polled = { .fd = live->process, .events = POLLIN };

	return live->process >= 0 && poll(&polled, 1, 0) > 0;
}

int mf_live_look(struct mf_live *live, struct mf_error *err)
{
	const struct mf_live_batch *batch;
	struct mf_watch_news news;
	int ret = 0;

	do {
		mf_watch_next(&live->watch, &news);
		ret = take_news(live, &news, err);
		mf_watch_free(&news);
	} while (!ret && news.kind != MF_WATCH_NOTHING && live->watch.fd >= 0);
	if (live->state < MF_LIVE_ENDING && has_ended(live))
		note_end(live, MF_LIVE_ENDING);
	batch = !ret && live->namer ? mf_live_namer_take(live->namer) : NULL;
	if (!batch)
		return ret;
	ret = mf_live_table_name(&live->table, batch, err);
	mf_live_table_add_up(&live->table, &live->session);
	live->n_changes++;
	name_rest(live);
	return ret;
}

static int64_t used_us(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (int64_t)used.tv_sec * 1000000 + used.tv_nsec / 1000;
}

int mf_live_update(struct mf_live *live, struct mf_error *err)
{
	int64_t before = used_us(), rest;
	int ret;

	if (live->state != MF_LIVE_RUNNING || mf_live_now_ms() < live->rests_until)
		return 0;
	ret = mf_live_table_update(&live->table, &live->session, err);
	if (ret)
		return ret;
	live->n_updates++;
	live->n_changes++;
	mf_live_history_add(&live->history, live->session.totals.age_ms, live->session.totals.total);
	if (mf_live_table_needs_names(&live->table) || mf_live_now_ms() >= live->names_due) {
		mf_live_namer_start(live->namer, live->session.n_contexts);
		live->names_due = mf_live_now_ms() + NAMES_MS;
	}
	rest = (used_us() - before) * CPU_SHARE / 1000;
	live->rests_until = mf_live_now_ms() + (rest < REST_MS ? rest : REST_MS);
	return 0;
}

int mf_live_name_all(struct mf_live *live, struct mf_error *err)
{
	if (!live->namer)
		return 0;
	mf_live_namer_start(live->namer, live->session.n_contexts);
	mf_live_namer_wait(live->namer);
	return mf_live_look(live, err);
}
