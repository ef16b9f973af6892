// SPDX-License-Identifier: GPL-2.0
// Heap mode: the shim in the program does the accounting, in memory that is shared with us.

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ctl/account.h"
#include "ctl/clock.h"
#include "ctl/consultant.h"
#include "ctl/image_watch.h"
#include "ctl/message.h"
#include "ctl/mode.h"
#include "ctl/output.h"
#include "ctl/shim.h"
#include "ctl/timekeeper.h"
#include "ctl/xtree.h"
#include "model/model.h"
#include "model/store.h"
#include "model/tally.h"

enum {
	FRAMES_BEYOND = 50, /* captured beyond --depth: allocation functions are dropped later */
	ADDRESS_SHARE = 2,  /* of RLIMIT_AS at most half is for the store: it cannot be small */
};

struct heap_state {
	struct mf_store store;
	bool shim;    /* the program is of a kind that loads it */
	int session;  /* the store's descriptor, until the program has it */
	int trace;    /* the same for that of --trace-malloc */
	char **environment;
	struct mf_consultant *consultant; /* NULL: every context counts */
	struct mf_image_watch watch; /* the shim is gone when another program is executed */
	int64_t watch_at;	     /* when to look for that next, as mf_timekeeper_now() */
};

/* Why the shim cannot get into a program, and what to do; NULL: it can. */
static const char *const obstacles[] = {
	[MF_PROGRAM_STATIC] = "is statically linked, so heap mode sees nothing of it; use "
			      "--pages-as-heap=yes",
	[MF_PROGRAM_PRIVILEGED] = "gains rights when it is executed (set-uid, set-gid or "
				  "capabilities), so heap mode leaves it alone; run it as a user "
				  "who has them",
	[MF_PROGRAM_MACHINE] = "is made for another architecture, so heap mode sees nothing of "
			       "it; use --pages-as-heap=yes",
	[MF_PROGRAM_LOADER] = "uses another C library, so heap mode sees nothing of it; use "
			      "--pages-as-heap=yes",
	[MF_PROGRAM_UNKNOWN] = NULL,
};

static const struct {
	enum mf_store_full what;
	const char *words;
} shortages[] = {
	{ MF_STORE_FULL_NODES, "stack frames" },
	{ MF_STORE_FULL_CONTEXTS, "call stacks" },
	{ MF_STORE_FULL_CAPTURES, "trees of snapshots" },
	{ MF_STORE_FULL_BLOCKS, "live blocks" },
	{ MF_STORE_FULL_OBJECTS, "loaded libraries" },
};

static uint64_t address_budget(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_AS, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		return 0;
	return limit.rlim_cur / ADDRESS_SHARE;
}

/* Hands over a copy of where messages go: the program's own standard error may be closed. */
static int prepare_trace(struct mf_run *run, struct heap_state *state, struct mf_error *err)
{
	if (!run->options->trace_malloc)
		return 0;
	state->trace = mf_launch_move_high(mf_message_target());
	if (state->trace < 0)
		return mf_error_set(err, state->trace,
				    "no file descriptor is left for --trace-malloc: %s",
				    strerror(-state->trace));
	state->store.header->trace_fd = state->trace;
	run->launch.inherited[1] = state->trace;
	return 0;
}

/* Hands the session to the program: its descriptor and the environment that loads the shim. */
static int prepare_shim(struct mf_run *run, struct heap_state *state, int fd,
			struct mf_error *err)
{
	mf_auto_free char *shim = NULL;
	int ret = mf_shim_find(&shim, err);

	if (ret)
		return ret;
	state->session = mf_launch_move_high(fd);
	if (state->session < 0)
		return mf_error_set(err, state->session,
				    "no file descriptor is left for the session: %s",
				    strerror(-state->session));
	ret = mf_shim_make_environment(run->launch.environment, shim, state->session,
				       &state->environment, err);
	if (ret)
		return ret;
	run->launch.environment = state->environment;
	run->launch.inherited[0] = state->session;
	mf_message_say(MF_MESSAGE_DETAIL, "preloading %s", shim);
	return prepare_trace(run, state, err);
}

/* Not an option, since it is no part of a profile: tests of the shim set it. */
static bool wants_verification(void)
{
	const char *value = getenv("MASSIF_VERIFY");

	return value && strcmp(value, "") && strcmp(value, "0");
}

static void say_verified(const struct mf_store_header *header)
{
	if (header->verify == MF_VERIFY_IMPOSSIBLE)
		mf_message_say(MF_MESSAGE_PROBLEM,
			       "stacks could not be verified: there is no libunwind.so.8");
	else if (header->verify)
		mf_message_say(MF_MESSAGE_PROBLEM,
			       "verified %" PRIu64 " stacks with libunwind, %" PRIu64 " differ",
			       header->verified, header->verify_differs);
	if (header->verify_differs)
		mf_message_say(MF_MESSAGE_PROBLEM,
			       "the first that differs: context %" PRIu32 ", frame %" PRIu32
			       ", for libunwind 0x%" PRIx64,
			       header->differs_context, header->differs_frame, header->differs_pc);
}

static int prepare(struct mf_run *run, struct mf_error *err)
{
	const struct mf_program *program = run->program;
	const char *obstacle = obstacles[program->kind];
	struct mf_model_options model = run->options->model;
	mf_auto_close int fd = -1;
	struct heap_state *state;
	int ret;

	state = calloc(1, sizeof(*state));
	if (!state)
		return mf_error_set(err, -ENOMEM, "out of memory");
	state->session = -1;
	state->trace = -1;
	run->state = state;

	ret = mf_store_create(&state->store, address_budget(), &fd, err);
	if (ret)
		return ret;
	/* Nothing is counted, and not even the first snapshot has a tree. */
	if (!run->options->heap)
		model.detailed_freq = UINT32_MAX;
	model.logs_steps = mf_account_log_level(run->options);
	/* At native speed, each event of the first milliseconds would be a snapshot. */
	if (model.time_unit == MF_TIME_MS)
		model.least_interval = 1;
	mf_model_init(&state->store, &model);
	if (run->options->heap_extra_real) {
		/* The header is part of what the allocator says. */
		mf_model_of(&state->store)->options.heap_admin = 0;
		state->store.header->real_capacities = 1;
	}
	if (wants_verification())
		state->store.header->verify = MF_VERIFY_STACKS;
	state->store.header->realloc_zero_keeps = !run->options->realloc_zero_frees;
	if (run->options->model.time_unit == MF_TIME_INSTRUCTIONS)
		mf_clock_set_instructions(state->store.header);
	state->store.header->depth = run->options->report.depth + FRAMES_BEYOND;
	state->store.header->merge_recursive = run->options->merge_recursive;
	if (!run->options->heap)
		return 0;
	if (!obstacle) {
		state->shim = true;
		if (mf_consultant_is_needed(run->options))
			ret = mf_consultant_create(&state->store, run->options,
						   &state->consultant, err);
		return ret ? ret : prepare_shim(run, state, fd, err);
	}
	mf_message_say(MF_MESSAGE_PROBLEM, "%s %s",
		       program->image ? program->image : program->path, obstacle);
	return 0;
}

/* The file that the kernel executes for @program, if that can be told. */
static const char *first_image(const struct mf_program *program)
{
	if (program->kind == MF_PROGRAM_UNKNOWN)
		return NULL;
	return program->image ? program->image : program->path;
}

static int look(void *data, struct mf_error *err)
{
	struct mf_run *run = data;
	struct heap_state *state = run->state;
	int period = mf_timekeeper_look(&state->store);
	int64_t now = mf_timekeeper_now();

	if (state->watch.period_ms >= 0 && now >= state->watch_at) {
		mf_image_watch_look(&state->watch);
		state->watch_at = now + state->watch.period_ms;
	}
	if (period < 0 || (state->watch.period_ms >= 0 && state->watch.period_ms < period))
		period = state->watch.period_ms;
	run->supervision.period_ms = period;
	return 0;
}

static void started(struct mf_run *run)
{
	struct heap_state *state = run->state;
	struct mf_error err;

	if (state->session >= 0)
		close(mf_take(state->session, -1));
	if (state->trace >= 0)
		close(mf_take(state->trace, -1));
	if (state->shim) {
		mf_image_watch_init(&state->watch, run->pid, first_image(run->program));
		run->supervision.period_ms = 1;
		run->supervision.drain = look;
		run->supervision.data = run;
	}
	if (state->consultant && mf_consultant_start(state->consultant, &err))
		mf_message_say(MF_MESSAGE_PROBLEM, "%s", err.text);
}

/* Says what the profile does not have. */
static void say_losses(const struct mf_run *run, const struct mf_store_header *header)
{
	for (size_t i = 0; i < sizeof(shortages) / sizeof(shortages[0]); i++) {
		if (header->full & shortages[i].what)
			mf_message_say(MF_MESSAGE_PROBLEM,
				       "the profile is incomplete: there was no more room for %s%s",
				       shortages[i].words,
				       address_budget() ? "; raise the limit of address space "
							  "(ulimit -v)" : "");
	}
	if (header->counters_missing)
		mf_message_say(MF_MESSAGE_PROBLEM,
			       "times are too low: %" PRIu32 " threads could have no counter of "
			       "instructions",
			       header->counters_missing);
	if (header->events_lost)
		mf_message_say(MF_MESSAGE_PROBLEM,
			       "the profile is incomplete: %" PRIu64 " of %" PRIu64
			       " allocations and frees were not accounted",
			       header->events_lost, header->events + header->events_lost);
}

/* Since the first event, as the shim tells time. */
static int64_t age_ms(const struct mf_store_header *header)
{
	struct timespec time;
	uint64_t now;

	clock_gettime(CLOCK_MONOTONIC, &time);
	now = (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
	if (!header->first_time_ns || now < header->first_time_ns)
		return 0;
	return (int64_t)((now - header->first_time_ns) / 1000000);
}

static struct mf_xtree_of xtree_of(const struct mf_run *run)
{
	const struct heap_state *state = run->state;

	return (struct mf_xtree_of){
		.store = &state->store,
		.cmd = run->cmd,
		.pid = run->pid,
		.time_ms = age_ms(state->store.header),
	};
}

static int write_xtree(const struct mf_run *run, struct mf_error *err)
{
	const struct mf_xtree_of of = xtree_of(run);

	return mf_xtree_output(run->options, &of, err);
}

static void finish(struct mf_run *run)
{
	struct heap_state *state = run->state;
	struct mf_store *store = &state->store;
	struct mf_error err;

	mf_consultant_destroy(mf_take(state->consultant, NULL));
	mf_tally_fold(store);
	if (!store->header->pid) {
		if (state->shim)
			mf_message_say(MF_MESSAGE_PROBLEM,
				       "%s never loaded the preload shim, so heap mode saw nothing "
				       "of it; use --pages-as-heap=yes",
				       run->program->path);
		/* The snapshot of the start is all that a program leaves that cannot be seen. */
		mf_model_attempt(store, 0);
	}
	if (state->watch.replaced_by)
		mf_message_say(MF_MESSAGE_PROBLEM,
			       "%s executed another program, %s, which heap mode does not follow; "
			       "profile that one itself",
			       run->program->path, state->watch.replaced_by);
	mf_account_end(run->options, store, run->pid);
	say_losses(run, store->header);
	say_verified(store->header);
	/* As Massif, before the other file. */
	if (run->options->xtree_allocs && write_xtree(run, &err))
		mf_message_say(MF_MESSAGE_ERROR, "%s", err.text);
	if (mf_output_write(run->options, run->cmd, store, run->pid, false, NULL, &err))
		mf_message_say(MF_MESSAGE_ERROR, "%s", err.text);
}

static void cleanup(struct mf_run *run)
{
	struct heap_state *state = run->state;

	if (!state)
		return;
	mf_consultant_destroy(state->consultant);
	if (state->store.header)
		mf_store_detach(&state->store);
	if (state->session >= 0)
		close(state->session);
	if (state->trace >= 0)
		close(state->trace);
	mf_shim_free_environment(state->environment);
	mf_image_watch_deinit(&state->watch);
	free(state);
}

static void list(void *data, FILE *out)
{
	struct mf_run *run = data;
	struct heap_state *state = run->state;

	mf_control_print_profile(out, run->pid, "heap", mf_tally_look(&state->store, 0).heap,
				 age_ms(state->store.header), run->cmd);
}

static int snapshot(void *data, enum mf_control_verb verb, pid_t pid, FILE *out,
		    struct mf_error *err)
{
	static const enum mf_output_part parts[MF_CONTROL_VERBS] = {
		[MF_CONTROL_SNAPSHOT] = MF_OUTPUT_PRESENT,
		[MF_CONTROL_DETAILED_SNAPSHOT] = MF_OUTPUT_DETAILED,
		[MF_CONTROL_ALL_SNAPSHOTS] = MF_OUTPUT_KEPT,
	};
	struct mf_run *run = data;
	struct heap_state *state = run->state;
	const struct mf_store_header *header = state->store.header;
	int64_t now = run->options->model.time_unit == MF_TIME_INSTRUCTIONS ?
			      (int64_t)header->instructions :
			      age_ms(header);

	if (pid && pid != run->pid)
		return mf_error_set(err, -ESRCH, "process %d is not profiled any more", (int)pid);
	if (!header->pid)
		return mf_error_set(err, -EAGAIN, "error: cannot take snapshot before execution has "
						  "started");
	if (verb == MF_CONTROL_XTMEMORY || verb == MF_CONTROL_XTMEMORY_MS) {
		const struct mf_xtree_of of = xtree_of(run);

		return mf_xtree_print(run->options, &of, verb == MF_CONTROL_XTMEMORY_MS, out, err);
	}
	return mf_output_print(run->options, run->cmd, &state->store, false, parts[verb], now, out,
			       err);
}

const struct mf_mode mf_mode_heap = {
	.prepare = prepare,
	.started = started,
	.finish = finish,
	.cleanup = cleanup,
	.control = { .list = list, .snapshot = snapshot },
};
