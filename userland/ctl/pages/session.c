// SPDX-License-Identifier: GPL-2.0
// A pages mode session, and the files that are written from it.

#include "session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"
#include "ctl/output/statistics.h"
#include "ctl/options/skipped_children.h"
#include "ctl/heap/filter_server.h"
#include "ctl/launch/exit_status.h"
#include "ctl/message/message.h"
#include "ctl/output/output.h"
#include "model/model.h"

enum {
	REMARK_BYTES = 1024, /* size of a buffer for the remark that lists all losses of events */
};

/* Converts a time to the unit used in reports, milliseconds since the start of the process. */
static uint64_t moment(const struct mf_pages_process *process, uint64_t ns)
{
	return ns > process->start_ns ? (ns - process->start_ns) / 1000000 : 0;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Formats losses as "4 events lost at 10-20 ms, 7 at 30-31 ms"; returns NULL if there are none. */
static const char *describe_losses(const struct mf_pages_process *process,
				   char remark[static REMARK_BYTES])
{
	size_t at = 0;

	for (uint32_t i = 0; i < process->n_losses && at < REMARK_BYTES; i++) {
		const struct mf_pages_loss *loss = &process->losses[i];

		at += (size_t)snprintf(remark + at, REMARK_BYTES - at,
				       "%s%" PRIu64 "%s at %" PRIu64 "-%" PRIu64 " ms",
				       i ? ", " : "", loss->count, i ? "" : " events lost",
				       moment(process, loss->from_ns), moment(process, loss->to_ns));
	}
	return process->n_losses ? remark : NULL;
}

static void say_quality(const struct mf_pages_process *process)
{
	char losses[REMARK_BYTES];

	if (process->lost)
		mf_message_say(MF_MESSAGE_PROBLEM,
			       "the profile of process %d is incomplete because massif-ctl fell behind: "
			       "%s after its start; memory of unknown origin is under [lost]",
			       (int)process->pid, describe_losses(process, losses));
	else if (process->state == MF_PAGES_EXITED && !process->exact)
		mf_message_say(MF_MESSAGE_PROBLEM,
			       "the profile of process %d is not exact: %" PRIu64
			       " pages in the profile, %" PRIu64 " in the kernel",
			       (int)process->pid, process->model_pages, process->kernel_pages);
	if (process->limited)
		mf_message_say(MF_MESSAGE_PROBLEM,
			       "process %d: %" PRIu64 " stacks have a single frame because massif-ctl "
			       "fell behind",
			       (int)process->pid, process->limited);
	if (process->no_stack)
		mf_message_say(MF_MESSAGE_DETAIL,
			       "process %d: %" PRIu64 " of %" PRIu64 " events have no stack",
			       (int)process->pid, process->no_stack, process->events);
}

static void end_replaced(const struct mf_pages_process *process)
{
	if (process->followed)
		mf_message_say(MF_MESSAGE_DETAIL,
			       "process %d executed another program (%s); a new profile starts",
			       (int)process->pid, process->comm);
	else
		mf_message_say(process->launched ? MF_MESSAGE_PROBLEM : MF_MESSAGE_DETAIL,
			       "process %d executed another program (%s); no file is written for its "
			       "previous program",
			       (int)process->pid, process->comm);
}

static const char *cmd_of(const struct mf_pages_session *session,
			  const struct mf_pages_process *process)
{
	return process->cmd ? process->cmd : session->cmd;
}

static struct mf_output_of output_of(const struct mf_pages_session *session,
				     const struct mf_pages_process *process, uint64_t at_ns,
				     struct mf_output_name *name)
{
	*name = session->name;
	if (process->path)
		mf_output_make_name(name, process->path, strlen(process->path));
	else if (process->cmd)
		mf_output_make_name(name, process->cmd, strcspn(process->cmd, " "));
	return (struct mf_output_of){
		.store = process->store,
		.cmd = cmd_of(session, process),
		.name = name->text,
		.pid = process->pid,
		.parent = process->parent,
		.status = MF_EXIT_STATUS_UNKNOWN,
		.pages = true,
		.took_ms = moment(process, at_ns),
		.lost = process->lost,
		.end = { .now = (int64_t)moment(process, at_ns) },
	};
}

/*
 * A process from which massif-ctl detached may have been idle for a while, so its profile ends at the time of the
 * detach.
 */
static uint64_t end_of(const struct mf_pages_session *session, const struct mf_pages_process *process)
{
	if (process->state == MF_PAGES_STOPPED && session->end_ns > process->end_ns)
		return session->end_ns;
	return process->end_ns;
}

/* If the profile of @process ended before the process itself, reports the reason. */
static void say_cut(const struct mf_pages_process *process)
{
	if (process->state == MF_PAGES_HIDDEN)
		mf_message_say(MF_MESSAGE_PROBLEM,
			       "process %d (%s) may no longer be profiled: it is not dumpable any more, "
			       "or its user, group or capabilities changed; its profile ends there (root "
			       "can profile it to its end)",
			       (int)process->pid, process->comm);
	if (process->state == MF_PAGES_TAKEN)
		mf_message_say(MF_MESSAGE_PROBLEM,
			       "process %d (%s) is now profiled by a privileged user; this profile ends there",
			       (int)process->pid, process->comm);
}

static void end_process(struct mf_pages_session *session, const struct mf_pages_process *process, int status)
{
	struct mf_output_name name;
	struct mf_output_of output =
		output_of(session, process, end_of(session, process), &name);
	char losses[REMARK_BYTES];
	bool killed = status != MF_EXIT_STATUS_UNKNOWN && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
	struct mf_error err;

	output.status = status;
	switch (process->state) {
	case MF_PAGES_REPLACED:
		end_replaced(process);
		return;
	case MF_PAGES_SECURE:
		mf_message_say(process->launched ? MF_MESSAGE_PROBLEM : MF_MESSAGE_DETAIL,
			       "process %d executed a program that gains privileges or may not be read "
			       "(%s); it is not profiled and no file is written",
			       (int)process->pid, process->comm);
		return;
	case MF_PAGES_SKIPPED:
		mf_message_say(MF_MESSAGE_DETAIL, "process %d (%s) is not profiled, because it matches "
						  "--trace-children-skip or --trace-children-skip-by-arg",
			       (int)process->pid, process->comm);
		return;
	default:
		output.end.rule = mf_output_end_rule(session->options,
						     process->state != MF_PAGES_EXITED || killed);
		say_cut(process);
		mf_statistics_end(session->options, process->store, output.end, process->pid);
		say_quality(process);
		output.remark = describe_losses(process, losses);
		if (mf_output_write(session->options, &output, &err))
			mf_message_say(MF_MESSAGE_ERROR, "%s", err.text);
	}
}

/* Writes the files of all processes whose profiles are complete. */
static void write_ended(struct mf_pages_session *session)
{
	struct mf_pages_process *process;

	while ((process = mf_pages_next_ended(session->pages))) {
		session->first_ended |= process->launched && !process->followed;
		if (process->launched && process->state == MF_PAGES_EXITED && session->keeps_first) {
			session->first = process;
			continue;
		}
		end_process(session, process, MF_EXIT_STATUS_UNKNOWN);
		mf_pages_release(session->pages, process);
	}
}

void mf_pages_session_end_first(struct mf_pages_session *session, int status)
{
	struct mf_pages_process *process = mf_take(session->first, NULL);

	session->keeps_first = false;
	if (!process)
		return;
	end_process(session, process, status);
	mf_pages_release(session->pages, process);
}

static bool skips(void *data, const char *path, const char *args, size_t n_bytes)
{
	return mf_children_skips(data, path, args, n_bytes);
}

static void say_unreadable(const char *path, const char *why)
{
	mf_message_say(MF_MESSAGE_PROBLEM, "call stacks may be cut off at the code of '%s': %s", path, why);
}

int mf_pages_session_open(struct mf_pages_session *session, const struct mf_options *options,
		      const char *path, const char *cmd, struct mf_error *err)
{
	struct mf_pages_options pages = {
		.model = options->model,
		.what = options->pages,
		.depth = options->report.depth,
		.traces_children = options->trace_children,
		.skips = skips,
		.held = options->held,
		.unreadable = say_unreadable,
		.skips_data = (void *)options,
	};

	if (mf_filter_server_is_needed(options)) {
		pages.filter = &options->report;
		pages.names = &options->symbolizer;
	}
	*session = (struct mf_pages_session){ .options = options, .cmd = cmd };
	mf_output_make_name(&session->name, path ?: cmd, path ? strlen(path) : strcspn(cmd, " "));
	pages.model.heap_admin = 0;
	pages.model.logs_steps = mf_statistics_log_level(options);
	return mf_pages_open(&pages, &session->pages, err);
}

int mf_pages_session_drain(struct mf_pages_session *session, struct mf_error *err)
{
	int ret;

	/* It stays raised between two drains, so that nothing delays the next one. */
	mf_priority_raise(&session->priority);
	ret = mf_pages_drain(session->pages, err);

	session->broken |= ret != 0;
	write_ended(session);
	return ret;
}

void mf_pages_session_end(struct mf_pages_session *session)
{
	struct mf_error err;

	mf_priority_restore(&session->priority);
	session->end_ns = now_ns();
	if (mf_pages_end(session->pages, &err))
		mf_message_say(MF_MESSAGE_ERROR, "%s", err.text);
	write_ended(session);
}

static int64_t age_ms(const struct mf_pages_process *process)
{
	return (int64_t)moment(process, now_ns());
}

bool mf_pages_session_figures(const struct mf_pages_session *session, struct mf_progress_figures *figures)
{
	for (size_t i = 0; i < mf_pages_count(session->pages); i++) {
		const struct mf_pages_process *process = mf_pages_process(session->pages, i);
		const struct mf_model *model = mf_model_of(process->store);

		if (!process->launched || process->state != MF_PAGES_RUNNING)
			continue;
		*figures = (struct mf_progress_figures){
			.age_ms = age_ms(process),
			.live = model->heap,
			.peak = model->peak_total > model->heap ? model->peak_total : model->heap,
		};
		return true;
	}
	return false;
}

static void print_one(const struct mf_pages_session *session, const struct mf_pages_process *process,
		      FILE *out)
{
	if (process->state == MF_PAGES_RUNNING)
		mf_control_print_profile(out, process->pid, "pages",
					 mf_model_of(process->store)->heap, age_ms(process),
					 cmd_of(session, process));
}

void mf_pages_session_list(const struct mf_pages_session *session, FILE *out)
{
	size_t n = mf_pages_count(session->pages);

	/* List the first process first, because commands without --pid refer to it. */
	for (int first = 1; first >= 0; first--) {
		for (size_t i = 0; i < n; i++) {
			const struct mf_pages_process *process =
				mf_pages_process(session->pages, i);

			if (process->launched == first)
				print_one(session, process, out);
		}
	}
}

int mf_pages_session_snapshot(const struct mf_pages_session *session, enum mf_control_verb verb,
			  pid_t pid, FILE *out, struct mf_error *err)
{
	static const enum mf_output_part parts[MF_CONTROL_VERBS] = {
		[MF_CONTROL_SNAPSHOT] = MF_OUTPUT_PRESENT,
		[MF_CONTROL_DETAILED_SNAPSHOT] = MF_OUTPUT_DETAILED,
		[MF_CONTROL_ALL_SNAPSHOTS] = MF_OUTPUT_KEPT,
	};

	if (verb == MF_CONTROL_XTMEMORY || verb == MF_CONTROL_XTMEMORY_MS)
		return mf_error_set(err, -EOPNOTSUPP, "an execution tree needs heap mode");
	for (size_t i = 0; i < mf_pages_count(session->pages); i++) {
		const struct mf_pages_process *process = mf_pages_process(session->pages, i);
		struct mf_output_name name;
		const struct mf_output_of output = output_of(session, process, now_ns(), &name);

		if (process->state != MF_PAGES_RUNNING ||
		    (pid ? process->pid != pid : !process->launched))
			continue;
		return mf_output_print(session->options, &output, parts[verb], out, err);
	}
	if (!pid)
		return mf_error_set(err, -ESRCH, "error: cannot take snapshot before execution has "
						 "started");
	return mf_error_set(err, -ESRCH, "process %d is no longer profiled", (int)pid);
}

int mf_pages_session_watch(const struct mf_pages_session *session, pid_t pid, struct mf_control_watched *watched,
			   struct mf_error *err)
{
	for (size_t i = 0; i < mf_pages_count(session->pages); i++) {
		const struct mf_pages_process *process = mf_pages_process(session->pages, i);

		if (process->state != MF_PAGES_RUNNING || (pid ? process->pid != pid : !process->launched))
			continue;
		*watched = (struct mf_control_watched){
			.pid = process->pid, .mode = "pages", .cmd = cmd_of(session, process),
			.start_ns = process->start_ns,
		};
		return mf_pages_share(process, &watched->memory, err);
	}
	return mf_error_set(err, -ESRCH, "process %d is no longer profiled", (int)pid);
}

void mf_pages_session_close(struct mf_pages_session *session)
{
	uint64_t most, bytes;

	if (session->pages) {
		mf_pages_ring_use(session->pages, &most, &bytes);
		mf_message_say(MF_MESSAGE_DETAIL,
			       "of the ring's %" PRIu64 " KiB, %" PRIu64 " were in use at most",
			       bytes / 1024, most / 1024);
	}
	mf_pages_close(session->pages);
	*session = (struct mf_pages_session){ 0 };
}
