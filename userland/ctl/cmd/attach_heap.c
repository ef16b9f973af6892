// SPDX-License-Identifier: GPL-2.0
// massif-ctl attach --heap: profiles the heap of a running process until it ends, --duration expires or massif-ctl is
// stopped by a signal.

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "attach.h"
#include "ctl/check/checker.h"
#include "ctl/control/server.h"
#include "ctl/files/recorder.h"
#include "ctl/heap/family.h"
#include "ctl/heap/touch_session.h"
#include "ctl/heap/origin.h"
#include "ctl/heap/process.h"
#include "ctl/heap/timekeeper.h"
#include "ctl/inject/injection.h"
#include "ctl/launch/owner.h"
#include "ctl/launch/pidproc.h"
#include "ctl/launch/proc_maps.h"
#include "ctl/launch/shim.h"
#include "ctl/launch/signals.h"
#include "ctl/message/message.h"
#include "ctl/options/time_units.h"
#include "ctl/output/logfile.h"
#include "ctl/output/output.h"
#include "symbols/truncation.h"

enum {
	STATUS_REFUSED = 1,
	STATUS_OVER = 1,   /* the process is over a budget */
	STATUS_LOST = 125, /* exit status if an output file could not be written anywhere */
	POLL_MS = 500,	   /* the longest time between two looks at the process */
};

/* The state of one attach. */
struct attachment {
	struct mf_options *options;
	struct mf_pidproc process;
	struct mf_signals signals;
	struct mf_heap_process *heap;
	struct mf_heap_family *family;
	struct mf_injection injection;
	struct mf_control *control; /* server of the control socket, or NULL if the socket could not be opened */
	int timer;
	bool executed; /* the process executes another program, in which there is no shim */
};

static int refuse(const struct mf_error *err)
{
	mf_message_say(MF_MESSAGE_ERROR, "%s", err->text);
	return STATUS_REFUSED;
}

/* Creates the profile in the memory that the process has made. */
static int create(void *data, int memory, struct mf_error *err)
{
	struct attachment *a = data;
	char link[32], path[PATH_MAX] = "";
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)a->process.pid);
	length = readlink(link, path, sizeof(path) - 1);
	path[length > 0 ? length : 0] = '\0';
	return mf_heap_process_create_in(a->options, path, a->process.cmd, a->process.pid, memory, &a->heap, err);
}

/* Opens a session with massif.ko, if --rss wants one. Returns 0, or -errno if the user wants the module and nothing else. */
static int begin_touches(struct attachment *a, struct mf_error *err)
{
	int ret = mf_touch_session_open(a->options, &a->options->touches, err);

	return ret ?: mf_touch_session_join(a->options->touches, a->process.pid, err);
}

/* Loads the shim into the process. Returns 0 or -errno. */
static int begin(struct attachment *a, struct mf_error *err)
{
	mf_auto_free char *shim = NULL;
	int ret = mf_shim_find(&shim, err);

	ret = ret ?: begin_touches(a, err);
	if (ret)
		return ret;
	ret = mf_injection_begin(&a->injection, a->process.pid, a->process.fd, shim, create, a, err);
	if (!ret && !mf_pidproc_is_alive(&a->process))
		ret = mf_error_set(err, -ESRCH, "process %d has just ended", (int)a->process.pid);
	if (ret)
		return ret;
	a->heap->pid = a->process.pid;
	ret = mf_heap_family_create(a->options, a->heap, NULL, &a->family, err);
	if (ret)
		return ret;
	mf_origin_note(&a->heap->store, a->options, a->process.cmd, NULL);
	if (mf_heap_family_adopt(a->family))
		return mf_error_set(err, -ESRCH, "process %d has just ended", (int)a->process.pid);
	mf_heap_process_start(a->heap);
	return 0;
}

static void list(void *data, FILE *out)
{
	const struct attachment *a = data;

	mf_heap_family_list(a->family, out);
}

static int snapshot(void *data, enum mf_control_verb verb, pid_t pid, FILE *out, struct mf_error *err)
{
	const struct attachment *a = data;
	struct mf_heap_process *process = mf_heap_family_find(a->family, pid ? pid : a->process.pid);

	if (!process)
		return mf_error_set(err, -ESRCH, "process %d is no longer profiled", (int)pid);
	mf_heap_process_request_sample(process);
	return mf_heap_process_snapshot(process, verb, out, err);
}

static int watch(void *data, pid_t pid, struct mf_control_watched *watched, struct mf_error *err)
{
	const struct attachment *a = data;

	return mf_heap_family_watch(a->family, pid ? pid : a->process.pid, a->process.pid, watched, err);
}

static const struct mf_control_ops control_ops = { .list = list, .snapshot = snapshot, .watch = watch };

/* Follows the process until it ends or executes another program, the duration expires, or a signal ends massif-ctl. */
static void follow(struct attachment *a)
{
	struct pollfd polled[] = {
		{ .fd = a->signals.fd, .events = POLLIN },
		{ .fd = a->timer, .events = POLLIN },
		{ .fd = mf_heap_family_fd(a->family), .events = POLLIN },
		{ .fd = mf_control_fd(a->control), .events = POLLIN },
		{ .fd = -1, .events = POLLIN },
	};
	const int n = sizeof(polled) / sizeof(polled[0]);
	int64_t look_at = 0, now;

	while (!mf_heap_family_is_empty(a->family)) {
		int period;

		mf_touch_session_look(a->options->touches);
		period = mf_heap_family_look(a->family);
		polled[4].fd = mf_touch_session_fd(a->options->touches);
		if (poll(polled, (nfds_t)n, period < 0 || period > POLL_MS ? POLL_MS : period) < 0 && errno != EINTR)
			return;
		if (polled[3].revents)
			mf_control_serve(a->control);
		if (polled[1].revents || (polled[0].revents && mf_attach_must_stop(&a->signals)))
			return;
		now = mf_timekeeper_now();
		if (now < look_at)
			continue;
		look_at = now + POLL_MS;
		a->executed = mf_pidproc_is_alive(&a->process) && mf_proc_maps_of(a->process.pid) == MF_MAPPED_OTHER;
		if (a->executed)
			return;
	}
}

/* Gives the memory of the table of blocks back, which the process would keep as long as it runs. */
static void release_memory(const struct mf_heap_process *heap)
{
	const struct mf_store *store = &heap->store;

	fallocate(heap->memory, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)store->offsets[MF_REGION_BLOCK_LEAVES],
		  (off_t)store->sizes[MF_REGION_BLOCK_LEAVES]);
	__atomic_store_n(&heap->store.header->pid, 0, __ATOMIC_RELEASE);
}

/* Detaches from the process if it still runs, and writes its files. */
static void end(struct attachment *a)
{
	pid_t pid = a->process.pid;
	struct mf_heap_process *heap = mf_heap_family_find(a->family, pid);
	struct mf_error err;
	int memory;

	if (!heap)
		return;
	memory = fcntl(heap->memory, F_DUPFD_CLOEXEC, 0);
	if (a->executed)
		mf_message_say(MF_MESSAGE_PROBLEM, "process %d executed another program, which is not profiled", (int)pid);
	else if (mf_injection_end(&a->injection, &err))
		mf_message_say(MF_MESSAGE_PROBLEM,
			       "the shim in process %d cannot be stopped, and counts until the process ends: %s", (int)pid,
			       err.text);
	else if (mf_pidproc_is_alive(&a->process))
		mf_message_say(MF_MESSAGE_DETAIL, "detaching from process %d", (int)pid);
	mf_heap_process_note_end(heap);
	heap->ended = true;
	heap->cut_off = true;
	mf_heap_family_look(a->family);
	if (memory >= 0) {
		struct mf_heap_process left = { .memory = memory };

		if (!mf_store_attach(&left.store, memory, &err)) {
			release_memory(&left);
			mf_store_detach(&left.store);
		}
		close(memory);
	}
}

/* Attaches, follows and writes the files. Returns the exit status. */
static int profile(struct attachment *a)
{
	pid_t pid = a->process.pid;
	struct mf_error err;

	if (begin(a, &err)) {
		struct mf_error other;

		mf_injection_end(&a->injection, &other);
		return refuse(&err);
	}
	mf_output_reserve(a->options, pid);
	mf_message_say(MF_MESSAGE_NOTE, "attached to the heap of process %d (%.*s)%s", (int)pid,
		       (int)strcspn(a->process.cmd, "\n"), a->process.cmd, a->timer < 0 ? "; Ctrl-C detaches" : "");
	if (mf_control_open(&control_ops, a, &a->control, &err))
		mf_message_say(MF_MESSAGE_DETAIL, "%s", err.text);
	mf_control_follow(a->control, a->options->outputs);
	follow(a);
	end(a);
	mf_control_follow(NULL, a->options->outputs);
	mf_control_close(mf_take(a->control, NULL));
	mf_recorder_say(a->options->recorder);
	return mf_checker_say(a->options->checker) ? 0 : STATUS_OVER;
}

/* Refuses what cannot be had after the start. */
static int check_options(const struct mf_options *options, struct mf_error *err)
{
	if (options->trace_children)
		return mf_error_set(err, -EINVAL, "--trace-children=yes is not possible with attach --heap: programs that the "
						  "process starts do not load the shim");
	if (options->trace_malloc)
		return mf_error_set(err, -EINVAL, "--trace-malloc=yes is not possible with attach --heap");
	return 0;
}

int mf_attach_heap(struct mf_options *options, pid_t pid, double duration)
{
	__attribute__((cleanup(mf_logfile_close))) struct mf_logfile log = { .fd = -1 };
	struct attachment a = { .options = options, .process = { .fd = -1 }, .timer = -1 };
	struct mf_error err, note = { "" };
	int status;
	bool own;

	if (check_options(options, &err) || mf_logfile_open(&log, options, &err) ||
	    mf_output_check(options, &own, &err) || mf_clock_choose_unit(options, &note, &err) ||
	    mf_pidproc_open(&a.process, pid, &err)) {
		mf_pidproc_close(&a.process);
		return refuse(&err);
	}
	/* Keep nothing for later programs that another user's process, or one in a container, supplies. */
	if (!mf_owner_is_ours(&a.process))
		options->unwind_cache = false;
	mf_logfile_name(&log, pid);
	if (mf_attach_make_timer(duration, &a.timer, &err) || mf_signals_take(&a.signals, &err)) {
		status = refuse(&err);
	} else {
		mf_truncation_endure();
		status = profile(&a);
		mf_signals_release(&a.signals);
	}
	if (mf_outputs_are_lost(options->outputs))
		status = STATUS_LOST;
	if (a.family)
		mf_heap_family_destroy(a.family);
	else
		mf_heap_process_destroy(a.heap);
	mf_touch_session_close(mf_take(options->touches, NULL));
	if (a.timer >= 0)
		close(a.timer);
	mf_pidproc_close(&a.process);
	return status;
}
