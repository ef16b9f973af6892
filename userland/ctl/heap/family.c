// SPDX-License-Identifier: GPL-2.0
// The profiled processes of one heap mode run: how they join, share a profile after a fork, execute other programs,
// and end.

#include "family.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/reopen.h"
#include "protocol/join.h"
#include "ctl/output/statistics.h"
#include "ctl/options/skipped_children.h"
#include "ctl/launch/exit_status.h"
#include "ctl/launch/owner.h"
#include "ctl/launch/pidproc.h"
#include "ctl/launch/proc_cmdline.h"
#include "expected.h"
#include "join_conns.h"
#include "ctl/message/message.h"
#include "monitor_command.h"
#include "origin.h"
#include "program_watch.h"
#include "rowcache.h"
#include "shared_profile.h"
#include "timekeeper.h"
#include "model/tally.h"

enum {
	EVENTS = 16,
	FIRST_FILES_MS = 1, /* initial interval between checks for newly mapped files; doubles up to LAST_FILES_MS */
	LAST_FILES_MS = 500,
	POLL_MS = 10,
	BIRTH_PATIENCE_MS = 1000, /* how long to wait for a process that announced a fork to report its child */
	JOIN_PATIENCE_MS = 10000, /* how long to wait in all, however many programs are announced meanwhile */
	ROUNDS_MAX = 128, /* maximum number of times that serve() asks for EVENTS events; others are for the next call */
};

struct mf_heap_family {
	const struct mf_options *options;
	struct mf_heap_process *processes; /* the profiled processes of the run, newest first */
	int files_ms; /* time until the next check for newly mapped files */
	/*
	 * connections from processes that are joining; their epoll descriptor also watches the processes that have
	 * already joined
	 */
	struct mf_join_conns conns;
	int inotify; /* inotify descriptor that reports the end of address spaces; -1 until a process joins */
	struct mf_expected expected;
	struct mf_message_quota borrowers; /* messages about children that are not profiled, see lend() */
	struct mf_monitor_said said; /* messages about monitor commands */
};

static mf_join_conns_serve serve_request;

int mf_heap_family_create(const struct mf_options *options, struct mf_heap_process *launched,
			  const char *address, struct mf_heap_family **family, struct mf_error *err)
{
	struct mf_heap_family *made = calloc(1, sizeof(*made));
	int ret;

	if (!made)
		return mf_error_set(err, -ENOMEM, "out of memory");
	made->options = options;
	made->files_ms = FIRST_FILES_MS;
	made->inotify = -1;
	mf_rowcache_know_names(options);
	mf_join_conns_init(&made->conns, serve_request, made);
	ret = mf_options_look_inside(options) ? mf_join_conns_open(&made->conns, address) : 0;
	if (ret) {
		mf_join_conns_close(&made->conns);
		free(made);
		return mf_error_set(err, ret,
				    "cannot create a socket for the program's children: %s",
				    strerror(-ret));
	}
	made->processes = launched;
	launched->launched = true;
	*family = made;
	return 0;
}

void mf_heap_family_destroy(struct mf_heap_family *family)
{
	if (!family)
		return;
	mf_join_conns_close(&family->conns);
	while (family->processes)
		mf_heap_process_destroy(mf_take(family->processes, family->processes->next));
	if (family->inotify >= 0)
		close(family->inotify);
	mf_expected_deinit(&family->expected);
	free(family);
}

const char *mf_heap_family_address(const struct mf_heap_family *family)
{
	const struct mf_join_server *join_server = &family->conns.join_server;

	return join_server->listener >= 0 ? join_server->address : NULL;
}

int mf_heap_family_fd(const struct mf_heap_family *family)
{
	return family->conns.poller;
}

struct mf_heap_process *mf_heap_family_launched(const struct mf_heap_family *family)
{
	struct mf_heap_process *process = family->processes;

	while (process && !process->launched)
		process = process->next;
	return process;
}

struct mf_heap_process *mf_heap_family_find(const struct mf_heap_family *family, pid_t pid)
{
	struct mf_heap_process *process = family->processes;

	if (!pid)
		return mf_heap_family_launched(family);
	while (process && (process->pid != pid || process->ended))
		process = process->next;
	return process;
}

bool mf_heap_family_has(const struct mf_heap_family *family, pid_t pid)
{
	const struct mf_heap_process *process = family->processes;

	while (process && process->pid != pid)
		process = process->next;
	return process;
}

/* Returns the descriptor that --trace-malloc writes to; -1 without that option. */
static int trace_target(const struct mf_options *options)
{
	return options->trace_malloc ? mf_message_target() : -1;
}

/* Drops @process, which continues without a profile. */
static void let_go(struct mf_heap_family *family, struct mf_heap_process *process)
{
	mf_message_say(MF_MESSAGE_PROBLEM,
		       "process %d (%s) is not profiled: its limits (ulimit -n, ulimit -v) are too low to take "
		       "over its parent's profile",
		       (int)process->pid, process->title);
	mf_shared_profile_drop(&family->processes, process);
}

/*
 * Drops the processes that continue without a profile. A process announces this in the page that it shares with
 * massif-ctl.
 */
static void let_go_of_any(struct mf_heap_family *family)
{
	struct mf_heap_process *process = family->processes;

	while (process) {
		if (mf_space_is_without(&process->space)) {
			let_go(family, process);
			process = family->processes;
		} else {
			process = process->next;
		}
	}
}

/*
 * Returns the running process with pid @pid, or NULL. A process that has ended is marked as such and not returned,
 * because its pid may have been reused.
 */
static struct mf_heap_process *find_alive(const struct mf_heap_family *family, pid_t pid)
{
	struct mf_heap_process *process = pid > 0 ? mf_heap_family_find(family, pid) : NULL;
	struct pollfd polled = { .fd = process ? process->pidfd : -1, .events = POLLIN };

	if (poll(&polled, 1, 0) <= 0)
		return process;
	mf_heap_process_note_end(process);
	process->ended = true;
	process->status = mf_exit_status_read(process->pid, process->pidfd);
	close(mf_take(process->pidfd, -1));
	return NULL;
}

static void add(struct mf_heap_family *family, struct mf_heap_process *process)
{
	/* Several processes will write files about mostly the same code, so keep function names from now on. */
	mf_names_begin(family->options->symbolizer.names);
	family->files_ms = FIRST_FILES_MS;
	process->next = family->processes;
	family->processes = process;
}

/* Watches process @pid in order to notice when it ends. Returns 0 or -errno. */
static int follow(struct mf_heap_family *family, struct mf_heap_process *process, pid_t pid)
{
	process->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (process->pidfd < 0)
		return -errno;
	process->pid = pid;
	process->parent = process->launched ? 0 : mf_pidproc_parent(pid);
	return mf_join_conns_watch(&family->conns, process->pidfd);
}

int mf_heap_family_adopt(struct mf_heap_family *family)
{
	struct mf_heap_process *process = mf_heap_family_launched(family);

	process->launched = false;
	return follow(family, process, process->pid);
}

/*
 * Creates the page that massif-ctl shares with @process (struct mf_join_page). Returns the descriptor through which the
 * process maps the page when it joins; a negative number if there is no page.
 */
static int make_page(struct mf_heap_family *family, struct mf_heap_process *process)
{
	if (family->inotify < 0) {
		family->inotify = mf_space_watch_open();
		if (family->inotify >= 0 && mf_join_conns_watch(&family->conns, family->inotify))
			close(mf_take(family->inotify, -1));
	}
	return family->inotify < 0 ? -1 : mf_space_watch_add(family->inotify, &process->space);
}

/*
 * Answers a process that joins the run. The answer includes the descriptor of the page that the process shares with
 * massif-ctl.
 */
static void answer_joining(struct mf_heap_family *family, struct mf_heap_process *process, int fd, int trace)
{
	mf_auto_close int page = make_page(family, process);

	mf_join_server_answer(fd, 0, (int[]){ process->memory, trace, page });
}

/*
 * Serves MF_JOIN_EXECUTED: a process of the family has executed a program. As in Massif, no file is written for the
 * program that the process was running before. Returns ENOTCONN if this function has sent the answer itself, or
 * -errno, which the caller sends as the answer.
 */
static int serve_executed(struct mf_heap_family *family, int fd, const struct mf_request *join_request)
{
	struct mf_heap_process *old = find_alive(family, join_request->pid), *made;
	bool launched = old && old->launched;
	mf_auto_free char *cmd = NULL;
	struct mf_error err = { "" };
	int ret;

	mf_expected_joined(&family->expected);
	if (!family->options->trace_children)
		return -EPERM;
	if (mf_children_skips(family->options, join_request->path, join_request->args, join_request->request.args_bytes)) {
		mf_message_say(MF_MESSAGE_DETAIL, "process %d (%s) is not profiled, because it matches "
						  "--trace-children-skip or --trace-children-skip-by-arg",
			       (int)join_request->pid, join_request->path);
		if (old && !launched)
			mf_shared_profile_drop(&family->processes, old);
		return -ECANCELED;
	}
	cmd = mf_proc_cmdline(join_request->pid, join_request);
	ret = cmd ? mf_heap_process_create(family->options, join_request->path, cmd, join_request->pid, &made,
					   &err) :
		    -ENOMEM;
	if (ret) {
		mf_message_say(MF_MESSAGE_PROBLEM, "process %d (%s) is not profiled: %s",
			       (int)join_request->pid, join_request->path, err.text);
		return ret;
	}
	ret = follow(family, made, join_request->pid);
	if (ret) {
		mf_heap_process_destroy(made);
		return ret; /* the process has already ended */
	}
	if (old)
		mf_shared_profile_drop(&family->processes, old);
	made->launched = launched;
	mf_origin_note(&made->store, family->options, cmd, family->conns.join_server.address);
	add(family, made);
	mf_statistics_begin(family->options, made->pid);
	mf_mapped_executed(&made->mapped, made->pid);
	mf_heap_process_start(made);
	/* If sending fails, the process has ended; its pidfd will report that. */
	answer_joining(family, made, fd, trace_target(family->options));
	if (!made->space.number)
		mf_program_watch_later(made);
	return ENOTCONN;
}

/* Serves MF_JOIN_FORK: a process is about to fork and is waiting for the answer. */
static int serve_fork(struct mf_heap_family *family, int fd, const struct mf_request *join_request)
{
	struct mf_heap_process *parent = find_alive(family, join_request->pid), *made;
	struct mf_error err;
	int ret;

	if (!parent)
		return -ESRCH;
	ret = mf_heap_process_expect(parent, &made, &err);
	if (ret) {
		mf_shared_profile_complain(parent, &err);
		return ret;
	}
	add(family, made);
	made->connection = fd;
	answer_joining(family, made, fd, -1);
	return 0;
}

/* Serves MF_JOIN_COPY: a forked child has reached its first event and is waiting for memory of its own. */
static int give_copy(struct mf_heap_family *family, struct mf_heap_process *process, int fd)
{
	if (!process || !process->forked)
		return -ESRCH;
	if (!mf_shared_profile_settle(&family->processes, process))
		return -ENOMEM;
	return mf_join_server_answer(fd, 0, (int[]){ process->memory, -1, -1 }) ?: ENOTCONN;
}

/*
 * Serves MF_JOIN_BORROW: passes the memory of another process's profile to a child that was forked in the middle of an
 * event. The child has that memory mapped, but is not profiled itself. Only a process with the same rights gets it, and for
 * reading: the child maps it privately. So a process that has given up rights cannot change what its parent's shim relies on.
 */
static int lend(struct mf_heap_family *family, int fd, const struct mf_request *join_request)
{
	const struct mf_heap_process *process = find_alive(family, atoi(join_request->path));
	mf_auto_close int memory = -1;
	bool is_same;

	if (!process || process->memory < 0)
		return -ESRCH;
	is_same = mf_owner_is_same(join_request->pid, join_request->uid, join_request->gid, process->pid);
	/* If the process has ended meanwhile, its pid may have been reused. */
	if (find_alive(family, process->pid) != process)
		return -ESRCH;
	if (!is_same)
		return -EPERM;
	memory = mf_reopen_to_read(process->memory);
	if (memory < 0)
		return memory;
	if (!family->options->child_silent &&
	    mf_message_quota_take(&family->borrowers, MF_MESSAGE_PROBLEM,
				  "processes that were forked in a signal handler"))
		mf_message_say(MF_MESSAGE_PROBLEM,
			       "process %d is not profiled: process %d forked it in a signal handler that "
			       "had interrupted an allocation",
			       (int)join_request->pid, (int)process->pid);
	return mf_join_server_answer(fd, 0, (int[]){ memory, -1, -1 }) ?: ENOTCONN;
}

/*
 * Serves MF_JOIN_EXECUTES, by which a process announces that it is about to execute another program, and MF_JOIN_STAYS,
 * by which it reports that the execution failed.
 */
static int serve_executing(struct mf_heap_family *family, int fd, const struct mf_request *join_request)
{
	struct mf_heap_process *process = find_alive(family, join_request->pid);

	if (process)
		process->executes = join_request->request.verb == MF_JOIN_EXECUTES;
	if (join_request->request.verb == MF_JOIN_STAYS)
		mf_expected_joined(&family->expected);
	mf_join_server_answer(fd, 0, NULL);
	return ENOTCONN;
}

/*
 * Serves MF_JOIN_GO_ON: the process is about to change its profile, so children that share the profile need copies.
 * Most children soon execute another program or exit, so mf_shared_profile_answer() first gives them time to do either.
 * Returns 0 if it took over the connection.
 */
static int serve_go_on(struct mf_heap_family *family, int fd, const struct mf_request *join_request)
{
	struct mf_heap_process *process = find_alive(family, join_request->pid);

	if (!process)
		return -ESRCH;
	mf_shared_profile_ask(process, fd);
	return 0;
}

static int serve_request(void *data, struct mf_join_conn *guest, const struct mf_request *join_request)
{
	struct mf_heap_family *family = data;
	struct mf_heap_process *process;

	switch (join_request->request.verb) {
	case MF_JOIN_EXECUTED:
		return serve_executed(family, guest->fd, join_request);
	case MF_JOIN_FORK:
		return serve_fork(family, guest->fd, join_request);
	case MF_JOIN_GO_ON:
		return serve_go_on(family, guest->fd, join_request);
	case MF_JOIN_COPY:
		return give_copy(family, find_alive(family, join_request->pid), guest->fd);
	case MF_JOIN_WITHOUT:
		process = find_alive(family, join_request->pid);
		if (process)
			let_go(family, process);
		return ENOTCONN;
	case MF_JOIN_STARTS:
		mf_expected_start(&family->expected, family->options, join_request);
		return ENOTCONN;
	case MF_JOIN_LEAVES:
		mf_expected_leaves(&family->expected, family->options, join_request);
		mf_join_server_answer(guest->fd, 0, NULL);
		return ENOTCONN;
	case MF_JOIN_BORROW:
		return lend(family, guest->fd, join_request);
	case MF_JOIN_COMMAND:
		return mf_monitor_serve(find_alive(family, join_request->pid), guest, join_request,
					&family->said);
	case MF_JOIN_WRITTEN:
		mf_monitor_serve_written(guest, join_request, &family->said, family->options->outputs);
		return ENOTCONN;
	case MF_JOIN_EXECUTES:
	case MF_JOIN_STAYS:
		return serve_executing(family, guest->fd, join_request);
	}
	return -EPROTO;
}

/*
 * Starts the profile of a forked child when its first message (MF_JOIN_BORN) arrives. Returns false if the child cannot
 * be followed.
 */
static bool begin_child(struct mf_heap_family *family, struct mf_heap_process *process,
			const struct mf_request *join_request)
{
	if (join_request->request.verb != MF_JOIN_BORN || find_alive(family, join_request->pid) ||
	    follow(family, process, join_request->pid))
		return false;
	mf_heap_process_start(process);
	mf_join_server_answer(process->connection, 0, NULL);
	close(mf_take(process->connection, -1));
	if (!process->space.number)
		mf_program_watch_later(process);
	return true;
}

/*
 * Receives the first message of @process, a child that is about to be forked or has just been forked, and starts the
 * child's profile. If the connection was lost or the child cannot be followed, drops the child.
 */
static void serve_unborn(struct mf_heap_family *family, struct mf_heap_process *process)
{
	struct mf_request *join_request = malloc(sizeof(*join_request));
	int ret = join_request ? mf_join_server_receive(&family->conns.join_server, process->connection, join_request) :
				 -ENOMEM;

	if (ret < 0 || (ret > 0 && !begin_child(family, process, join_request)))
		mf_shared_profile_drop(&family->processes, process);
	free(join_request);
}

/*
 * Returns the process whose address space is watched with the inotify watch descriptor @number; NULL if there is none.
 * If @number is negative, returns any process whose address space is still watched.
 */
static struct mf_heap_process *find_watched(const struct mf_heap_family *family, int number)
{
	struct mf_heap_process *process = family->processes;

	while (process && (number < 0 ? !process->space.number : process->space.number != number))
		process = process->next;
	return process;
}

/*
 * Handles inotify events, which report that the address space of a process is gone. Finds out whether the process has
 * ended or has executed another program.
 */
static void serve_inotify(struct mf_heap_family *family)
{
	struct mf_heap_process *process;
	int number;

	while ((number = mf_space_watch_next(family->inotify))) {
		while ((process = find_watched(family, number))) {
			process->space.number = 0;
			/*
			 * Ignore a child that has not sent its first message yet: when that message arrives,
			 * begin_child() will notice that the child's address space is no longer being watched.
			 */
			if (process->pid && !process->ended)
				mf_program_watch_look(&family->processes, process);
		}
	}
}

static void answer_waiting(struct mf_heap_family *family, int64_t now)
{
	for (struct mf_heap_process *process = family->processes; process; process = process->next)
		mf_shared_profile_answer(&family->processes, process, now);
}

static void serve_one(struct mf_heap_family *family, int fd)
{
	if (mf_join_conns_look(&family->conns, fd))
		return;
	if (fd == family->inotify) {
		serve_inotify(family);
		return;
	}
	for (struct mf_heap_process *process = family->processes; process; process = process->next) {
		if (process->connection == fd) {
			serve_unborn(family, process);
			return;
		}
		if (process->go_on_fd == fd) {
			/* the process no longer waits for the answer to MF_JOIN_GO_ON */
			close(mf_take(process->go_on_fd, -1));
			return;
		}
		if (process->pidfd == fd) {
			/*
			 * Poll the pidfd rather than trust the event, which may refer to an earlier process whose
			 * descriptor had the same number.
			 */
			find_alive(family, process->pid);
			return;
		}
	}
}

/*
 * Handles the pending events of the epoll set: new connections, requests, and processes that ended or executed another
 * program. Also drops processes that continue without a profile, and sends the answers that are due. Returns after
 * ROUNDS_MAX rounds at the latest, because a program can send requests faster than they are handled; the events that
 * are left keep the epoll descriptor readable.
 */
static void serve(struct mf_heap_family *family)
{
	struct epoll_event events[EVENTS];
	int n = 0, rounds = 0;

	do {
		if (family->conns.poller >= 0)
			n = epoll_wait(family->conns.poller, events, EVENTS, 0);
		for (int i = 0; i < n; i++)
			serve_one(family, events[i].data.fd);
		let_go_of_any(family);
		answer_waiting(family, mf_timekeeper_now());
	} while (n == EVENTS && ++rounds < ROUNDS_MAX);
}

static void write_one(struct mf_heap_family *family, struct mf_heap_process *process)
{
	/* The process ended while running another program, which is not profiled. */
	if (process->departs || (mf_heap_process_executes(process) && !process->launched)) {
		if (process->departs)
			mf_program_watch_say(process);
		mf_shared_profile_drop(&family->processes, process);
		return;
	}
	if (!mf_shared_profile_settle(&family->processes, process))
		return;
	mf_filter_server_destroy(mf_take(process->filter_server, NULL));
	mf_tally_close(&process->store);
	mf_heap_process_write(process);
	mf_shared_profile_drop(&family->processes, process);
}

/*
 * Of the processes that have ended, other than the launched one, returns the one that joined first; NULL if there is
 * none.
 */
static struct mf_heap_process *next_ended(const struct mf_heap_family *family)
{
	struct mf_heap_process *found = NULL;

	for (struct mf_heap_process *process = family->processes; process; process = process->next) {
		if (process->ended && !process->launched)
			found = process;
	}
	return found;
}

int mf_heap_family_look(struct mf_heap_family *family)
{
	struct mf_heap_process *process, *next;
	int64_t now = mf_timekeeper_now();
	bool any = false, mapped = false;
	int period = -1;

	serve(family);
	for (process = family->processes; process; process = next) {
		next = process->next;
		if (process->ended || !process->pid)
			continue;
		if (mf_program_watch_is_due(process, now)) {
			/*
			 * mf_program_watch_look() may have dropped @process or @next, so start over with the first
			 * process. @process is not looked at again in this round, because the next look is scheduled.
			 */
			mf_program_watch_look(&family->processes, process);
			next = family->processes;
			continue;
		}
		period = mf_timekeeper_sooner(period, process->watch_ms);
		if (process->go_on_fd >= 0)
			period = mf_timekeeper_sooner(period,
						      process->go_on_until > now ? (int)(process->go_on_until - now) : 0);
		mapped |= mf_heap_process_look(process);
		any = true;
		period = mf_timekeeper_sooner(period, mf_heap_process_sample(process));
		if (!process->source)
			period = mf_timekeeper_sooner(period, mf_timekeeper_look(&process->store));
	}
	/*
	 * If files have been mapped, check again soon for newly mapped files: libraries are usually mapped several at a
	 * time. (A new process also shortens the interval, because it will soon map files; see add().)
	 */
	family->files_ms = mapped ? FIRST_FILES_MS : family->files_ms * 2;
	if (family->files_ms > LAST_FILES_MS)
		family->files_ms = LAST_FILES_MS;
	if (any)
		period = mf_timekeeper_sooner(period, family->files_ms);
	/* Write only one file per call, because other processes may be waiting to join. */
	process = next_ended(family);
	if (process)
		write_one(family, process);
	return next_ended(family) ? 0 : period;
}

void mf_heap_family_list(const struct mf_heap_family *family, FILE *out)
{
	const struct mf_heap_process *launched = mf_heap_family_launched(family);

	/* The launched process comes first: commands without --pid refer to it. */
	if (launched)
		mf_heap_process_list(launched, out);
	for (const struct mf_heap_process *process = family->processes; process;
	     process = process->next) {
		if (!process->launched && !process->ended && process->pid)
			mf_heap_process_list(process, out);
	}
}

int mf_heap_family_watch(const struct mf_heap_family *family, pid_t pid, pid_t launched,
			 struct mf_control_watched *watched, struct mf_error *err)
{
	const struct mf_heap_process *process = mf_heap_family_find(family, pid);

	if (!process)
		return mf_error_set(err, -ESRCH, "process %d is no longer profiled", (int)(pid ? pid : launched));
	if (process->source)
		return mf_error_set(err, -EAGAIN, "process %d has not allocated anything since it was forked",
				    (int)process->pid);
	*watched = (struct mf_control_watched){
		.pid = process->pid, .mode = "heap", .cmd = process->cmd, .memory = process->memory,
	};
	return 0;
}

static bool is_unborn(const struct mf_heap_family *family)
{
	const struct mf_heap_process *process = family->processes;

	while (process && process->pid)
		process = process->next;
	return process;
}

/*
 * Waits, up to a time limit, until newly forked children, and processes that are executing a new program, have joined
 * the run. They may outlive the launched program; if so, they count as survivors. Each program that is announced is
 * given its own time, but the whole wait is limited, because a program can announce others without end.
 */
static void await_joining(struct mf_heap_family *family)
{
	int64_t start = mf_timekeeper_now(), now;

	serve(family);
	while (now = mf_timekeeper_now(),
	       (is_unborn(family) && now < start + BIRTH_PATIENCE_MS) ||
	       (mf_expected_is_any(&family->expected, now) && now < start + JOIN_PATIENCE_MS)) {
		struct pollfd polled = { .fd = family->conns.poller, .events = POLLIN };

		if (poll(&polled, 1, POLL_MS) > 0)
			serve(family);
	}
}

void mf_heap_family_end_launched(struct mf_heap_family *family)
{
	struct mf_heap_process *process;

	await_joining(family);
	while ((process = next_ended(family)))
		write_one(family, process);
	process = mf_heap_family_launched(family);
	if (process)
		write_one(family, process);
}

size_t mf_heap_family_survivors(struct mf_heap_family *family, mf_survivor_say *say, void *data)
{
	struct mf_heap_process *process;
	size_t n = 0;

	await_joining(family);
	while ((process = next_ended(family)))
		write_one(family, process);
	for (process = family->processes; process; process = process->next) {
		if (!process->pid)
			continue;
		n++;
		if (say)
			say(data, process->pid, process->title);
	}
	return n + is_unborn(family);
}

bool mf_heap_family_is_empty(struct mf_heap_family *family)
{
	if (family->processes)
		return false;
	await_joining(family);
	return !family->processes;
}

void mf_heap_family_pause(struct mf_heap_family *family)
{
	for (struct mf_heap_process *process = family->processes; process; process = process->next)
		if (process->filter_server)
			mf_filter_server_stop(process->filter_server);
	for (struct mf_heap_process *process = family->processes; process; process = process->next)
		mf_sample_watch_stop(&process->sample_watch);
}

void mf_heap_family_resume(struct mf_heap_family *family)
{
	for (struct mf_heap_process *process = family->processes; process; process = process->next) {
		if (process->store.header)
			mf_origin_claim(&process->store);
		if (process->pid && !process->ended)
			mf_heap_process_start(process);
	}
}

void mf_heap_family_end(struct mf_heap_family *family)
{
	struct mf_heap_process *process, *next;
	size_t left = 0;

	serve(family);
	answer_waiting(family, INT64_MAX);
	mf_join_conns_close(&family->conns);
	while ((process = next_ended(family)))
		write_one(family, process);
	for (process = family->processes; process; process = next) {
		next = process->next;
		if (process->pid)
			left++;
		else /* this child has been announced, but not forked yet */
			mf_shared_profile_drop(&family->processes, process);
	}
	mf_survivor_say_cut_off(left);
	while ((process = family->processes)) {
		if (!mf_shared_profile_settle(&family->processes, process))
			continue;
		process->cut_off = true;
		mf_heap_process_write(process);
		mf_shared_profile_drop(&family->processes, process);
	}
	mf_names_save(family->options->symbolizer.names);
}
