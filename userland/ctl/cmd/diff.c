// SPDX-License-Identifier: GPL-2.0
// massif-ctl diff: what has changed between two recordings.

#include <errno.h>

#include "command.h"
#include "ctl/message/message.h"
#include "ctl/query/comparison.h"
#include "ctl/query/query.h"
#include "ctl/query/terminal.h"
#include "recording/reader.h"

enum {
	STATUS_SAME,  /* neither the peak nor the end has grown beyond --tolerance */
	STATUS_GROWN,
	STATUS_ERROR, /* bad options, or files that cannot be read */
};

/* One of the two recordings. */
struct side {
	struct mf_recording recording;
	struct mf_recorded *one; /* the process that is compared, if it is one */
};

static int refuse(const struct mf_error *err)
{
	mf_message_say(MF_MESSAGE_ERROR, "%s", err->text);
	return STATUS_ERROR;
}

static int diff(struct mf_comparison *comparison)
{
	struct mf_terminal terminal;
	struct mf_error err;

	if (mf_comparison_make(comparison, &err))
		return refuse(&err);
	mf_terminal_open(&terminal);
	mf_comparison_print(&terminal, comparison);
	if (mf_terminal_close(&terminal, &err))
		return refuse(&err);
	return mf_comparison_has_grown(comparison) ? STATUS_GROWN : STATUS_SAME;
}

/* Chooses the processes of a side: the one that --pid names, or all. Returns 0 or -errno with a message. */
static int choose(const struct mf_query *query, struct side *side, struct mf_comparison_side *chosen,
		  struct mf_error *err)
{
	*chosen = (struct mf_comparison_side){ side->recording.processes, side->recording.n_processes };
	if (query->pid || chosen->n < 2) {
		side->one = mf_query_process(query, &side->recording, err);
		*chosen = (struct mf_comparison_side){ &side->one, 1 };
		if (!side->one)
			return -ESRCH;
	}
	return mf_query_select(query, chosen->processes, chosen->n, err);
}

static int read_side(const struct mf_query *query, const char *path, struct side *side, struct mf_comparison_side *chosen,
		     struct mf_error *err)
{
	int code = mf_recording_read(path, &side->recording, err);

	if (code)
		return code;
	mf_query_say_damage(path, &side->recording);
	return choose(query, side, chosen, err);
}

static int check_temporary(const struct mf_query *query, struct mf_error *err)
{
	if (!query->temporary_given || (query->counted && query->count == MF_COUNT_TEMPORARIES))
		return 0;
	return mf_error_set(err, -EINVAL, "--temporary: temporary blocks are compared only with --value=temporary");
}

static int diff_files(struct mf_query *query)
{
	struct mf_comparison comparison = {
		.query = query,
		.pinned = { .inclusive = query->inclusive, .all_calls = query->all_calls },
		.touched = { .inclusive = query->inclusive, .all_calls = query->all_calls },
		.sites = { .inclusive = query->inclusive, .all_calls = query->all_calls },
	};
	struct side sides[MF_COMPARISON_SIDES] = { 0 };
	struct mf_error err;
	int status = STATUS_SAME;

	for (int side = 0; side < MF_COMPARISON_SIDES && status == STATUS_SAME; side++)
		if (read_side(query, query->files[side], &sides[side], &comparison.sides[side], &err))
			status = refuse(&err);
	if (status == STATUS_SAME)
		status = diff(&comparison);
	mf_comparison_deinit(&comparison);
	for (int side = 0; side < MF_COMPARISON_SIDES; side++)
		mf_recording_release(&sides[side].recording);
	return status;
}

const char *const mf_command_diff_words[] = {
	"--pid", "--at", "--by", "--inclusive", "--all-calls", "--filter", "--thread", "--through", "--top", "--min",
	"--tolerance", "--value", "--temporary", NULL,
};

int mf_command_diff(int argc, char **argv)
{
	__attribute__((cleanup(mf_query_release))) struct mf_query query = { 0 };
	struct mf_error err;

	if (mf_query_parse(&query, argc, argv, MF_COMPARISON_SIDES, mf_command_diff_words, &err) ||
	    check_temporary(&query, &err))
		return refuse(&err);
	/* Thread IDs are different in each run. */
	if (query.by == MF_SITES_BY_THREAD)
		query.by = MF_SITES_BY_THREAD_NAME;
	return diff_files(&query);
}
