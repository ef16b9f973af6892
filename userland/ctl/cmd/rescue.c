// SPDX-License-Identifier: GPL-2.0
// massif-ctl rescue: recovers a profile after the massif-ctl that was recording it was killed, if the profiled process
// is still running.
//
// The complete profile is in the process's memory. If this user may open the file that backs that memory, massif-ctl
// takes over as the aggregator. Otherwise, it can only write the current profile.

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "command.h"
#include "ctl/control/server.h"
#include "ctl/heap/family.h"
#include "ctl/heap/process.h"
#include "ctl/output/logfile.h"
#include "ctl/message/message.h"
#include "ctl/launch/mode.h"
#include "ctl/options/number.h"
#include "ctl/options/options.h"
#include "ctl/heap/origin.h"
#include "ctl/output/output.h"
#include "ctl/heap/replica.h"
#include "ctl/launch/owner.h"
#include "ctl/launch/pidproc.h"
#include "ctl/launch/survivor.h"
#include "model/model.h"
#include "model/tally.h"
#include "symbols/truncation.h"

enum {
	STATUS_REFUSED = 1,
	STATUS_LOST = 125, /* exit status if an output file could not be written anywhere */
	TRIES = 20,	   /* attempts to read a consistent profile while the process runs */
	/*
	 * number of attempts to read the session that fail if any event occurs during the attempt; later attempts
	 * tolerate most events
	 */
	LOOSE_TRIES = 10,
	RESCUED_FILES = 3, /* the profile, the execution tree, the recording */
	EXTRA_WORDS = 4096, /* maximum number of original options, which are stored in the session */
};

/* The state of one rescue command. */
struct rescue {
	pid_t pid;
	struct mf_options *options;
	char **words; /* words on the command line, except the pid */
	int n_words;
	struct mf_pidproc process;
	struct mf_mappings mappings;
	struct mf_origin origin;
	char *names[RESCUED_FILES]; /* output file names, made absolute; owned */
	bool own_user;	/* whether the process has this massif-ctl's rights (mf_owner_is_ours()) */
};

static int refuse(const struct mf_error *err)
{
	mf_message_say(MF_MESSAGE_ERROR, "%s", err->text);
	return STATUS_REFUSED;
}

static int sort_words(int argc, char **argv, struct rescue *rescue, struct mf_error *err)
{
	for (int i = 0; i < argc; i++) {
		int64_t number;

		if (argv[i][0] == '-') {
			rescue->words[rescue->n_words++] = argv[i];
			continue;
		}
		if (!mf_number_parse_integer(argv[i], &number) || number <= 0 || number > INT32_MAX)
			return mf_error_set(err, -EINVAL, "%.200s: not a process id", argv[i]);
		if (rescue->pid)
			return mf_error_set(err, -EINVAL, "one process at a time: %d or %.200s?",
					    (int)rescue->pid, argv[i]);
		rescue->pid = (pid_t)number;
	}
	return 0;
}

/*
 * Returns @directory joined with @name, or a copy of @name if @name is absolute or @directory is empty. Returns NULL if
 * out of memory. The caller frees the result.
 */
static char *anchor(const char *directory, const char *name)
{
	return *name == '/' || !*directory ? strdup(name) : mf_background_join(directory, name);
}

/*
 * Parses the profile's original options and then those of the command line. If the process belongs to another user or is
 * in a container, the original file names are ignored, so that the process cannot choose where this massif-ctl writes, and
 * nothing is kept for later programs.
 */
static int take_options(struct rescue *rescue, const struct mf_store *store, struct mf_error *err)
{
	struct mf_options *options = rescue->options;
	const char **files[RESCUED_FILES] = { &options->out_file, &options->xtree_file, &options->record_file };
	const char *names[RESCUED_FILES] = { options->out_file, options->xtree_file, NULL };
	const struct mf_model *model = mf_model_of(store);
	int used, ret = mf_origin_read(store, &rescue->origin);

	if (ret == -ENOMEM || rescue->origin.n_options > EXTRA_WORDS)
		return mf_error_set(err, -ENOMEM, "out of memory");
	if (ret)
		mf_message_say(MF_MESSAGE_PROBLEM,
			       "the original options of the profile are lost; only those of this command "
			       "are used");
	ret = mf_options_parse(options, (int)rescue->origin.n_options, rescue->origin.options, &used, err);
	if (ret)
		return ret;
	for (size_t i = 0; i < RESCUED_FILES; i++) {
		if (rescue->own_user && rescue->origin.directory && *files[i]) {
			rescue->names[i] = anchor(rescue->origin.directory, *files[i]);
			if (!rescue->names[i])
				return mf_error_set(err, -ENOMEM, "out of memory");
			names[i] = rescue->names[i];
		}
		*files[i] = names[i];
	}
	options->log_file = NULL;
	options->log_fd = STDERR_FILENO;
	options->wanted = MF_OPTIONS_RUN;
	options->wait = false;
	/*
	 * If there were no options, the profile's desc line is "(none)". Remove this text before appending the options
	 * from the command line.
	 */
	if (rescue->n_words && options->desc && *options->desc == '(')
		free(mf_take(options->desc, NULL));
	ret = mf_options_parse(options, rescue->n_words, rescue->words, &used, err);
	if (!rescue->own_user)
		options->unwind_cache = false;
	/* The unit of time cannot change for a profile that is already running. */
	if (model->options.time_unit <= MF_TIME_BYTES)
		options->model.time_unit = model->options.time_unit;
	return ret;
}

/* Checks that the session in @store can be rescued: it must have no aggregator and belong to process @rescue->pid. */
static int check(const struct rescue *rescue, const struct mf_store *store, struct mf_error *err)
{
	pid_t owner = store->header->pid, aggregator = mf_origin_aggregator(store);

	if (aggregator)
		return mf_error_set(err, -EBUSY,
				    "process %d is being profiled by massif-ctl (pid %d): there is nothing to "
				    "rescue",
				    (int)rescue->pid, (int)aggregator);
	if (owner != rescue->pid)
		return mf_error_set(err, -ENOENT,
				    "process %d was forked by process %d and has no profile of its own",
				    (int)rescue->pid, (int)owner);
	return 0;
}

static int open_output(struct rescue *rescue, struct mf_logfile *log, bool *own, struct mf_error *err)
{
	int ret = mf_logfile_open(log, rescue->options, err);

	if (ret)
		return ret;
	mf_message_set_level(rescue->options->verbosity);
	mf_logfile_name(log, rescue->pid);
	ret = mf_output_check(rescue->options, own, err);
	if (!ret)
		mf_output_reserve(rescue->options, rescue->pid);
	return ret;
}

static const char *cmd_of(const struct rescue *rescue)
{
	return rescue->origin.cmd && *rescue->origin.cmd ? rescue->origin.cmd : rescue->process.cmd;
}

/* Stores the first word of the command in @path, for use in messages. */
static const char *path_of(const struct rescue *rescue, char path[static 4096])
{
	const char *cmd = cmd_of(rescue);

	snprintf(path, 4096, "%.*s", (int)strcspn(cmd, " "), cmd);
	return path;
}

/*
 * Writes the profile once and discards the output, so that every page that the output needs is copied from the process
 * into the replica of its session. Returns whether the copies are consistent.
 */
static bool look_through(const struct mf_heap_process *process, int try)
{
	static const enum mf_control_verb verbs[] = { MF_CONTROL_ALL_SNAPSHOTS,
						      MF_CONTROL_DETAILED_SNAPSHOT };
	struct mf_error err;

	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		mf_auto_fclose FILE *nowhere = fopen("/dev/null", "we");

		if (!nowhere || mf_heap_process_snapshot(process, verbs[i], nowhere, &err))
			return false;
	}
	return mf_replica_is_current(try < LOOSE_TRIES);
}

/* Writes the current profile, read from the process's memory. Returns 0 or -errno. */
static int write_now(struct rescue *rescue, struct mf_error *err)
{
	__attribute__((cleanup(mf_logfile_close))) struct mf_logfile log = { .fd = -1 };
	struct mf_heap_process *process = NULL;
	struct mf_store store;
	char path[4096];
	bool own, found = false;
	int ret;

	ret = mf_replica_open(&store, rescue->pid, &rescue->mappings, err);
	if (ret)
		return ret;
	ret = check(rescue, &store, err);
	if (!ret)
		ret = take_options(rescue, &store, err);
	if (!ret)
		ret = open_output(rescue, &log, &own, err);
	if (!ret)
		ret = mf_heap_process_adopt(rescue->options, path_of(rescue, path), cmd_of(rescue),
					    rescue->pid, rescue->process.fd, -1, &process, err);
	if (ret)
		goto out;
	if (rescue->options->xtree)
		mf_message_say(MF_MESSAGE_PROBLEM,
			       "no execution tree is written: it needs all blocks, which only root can "
			       "read while the process runs");
	rescue->options->xtree = MF_XTREE_NONE;
	process->store = store;
	process->cut_off = true;
	for (int i = 0; i < TRIES && !found; i++) {
		mf_replica_refresh();
		mf_tally_close(&process->store);
		mf_heap_process_look(process);
		found = look_through(process, i);
	}
	if (!mf_pidproc_is_alive(&rescue->process) || !mf_replica_is_whole())
		ret = mf_error_set(err, -ESRCH, "process %d has ended, so its profile is lost",
				   (int)rescue->pid);
	else if (!found)
		ret = mf_error_set(err, -EAGAIN,
				   "process %d takes snapshots too fast to read them; try again",
				   (int)rescue->pid);
	else
		mf_heap_process_write(process);
	/* The store is part of the replica of the session, so mf_heap_process_destroy() must not unmap it. */
	mf_mapped_deinit(&process->mapped, &process->store);
	memset(&process->store, 0, sizeof(process->store));
	mf_heap_process_destroy(process);
out:
	mf_replica_close(&store);
	return ret;
}

/*
 * Opens the session's file for reading and writing, through /proc/PID/map_files. Returns a descriptor, or a negative
 * value if this user may not open the file.
 */
static int open_session(const struct rescue *rescue)
{
	char path[96];

	for (size_t i = 0; i < rescue->mappings.count; i++) {
		const struct mf_mapping *mapping = &rescue->mappings.items[i];

		if (mapping->offset)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)rescue->pid,
			 (unsigned long long)mapping->start, (unsigned long long)mapping->end);
		return open(path, O_RDWR | O_CLOEXEC);
	}
	return -1;
}

static size_t survivors(struct mf_run *run, mf_survivor_say *say, void *data)
{
	return mf_heap_family_survivors(run->state, say, data);
}

static void pause_threads(struct mf_run *run)
{
	mf_heap_family_pause(run->state);
}

static int resume_threads(struct mf_run *run, struct mf_error *err)
{
	mf_heap_family_resume(run->state);
	return 0;
}

static void finish(struct mf_run *run)
{
	mf_heap_family_end(run->state);
}

static void list(void *data, FILE *out)
{
	const struct mf_run *run = data;

	mf_heap_family_list(run->state, out);
}

static int snapshot(void *data, enum mf_control_verb verb, pid_t pid, FILE *out, struct mf_error *err)
{
	const struct mf_run *run = data;
	const struct mf_heap_process *process = mf_heap_family_find(run->state, pid);

	if (!process)
		return mf_error_set(err, -ESRCH, "process %d is no longer profiled", (int)pid);
	return mf_heap_process_snapshot(process, verb, out, err);
}

static int watch(void *data, pid_t pid, struct mf_control_watched *watched, struct mf_error *err)
{
	const struct mf_run *run = data;

	return mf_heap_family_watch(run->state, pid, run->pid, watched, err);
}

/* A mode that launches no program, for a process that is already running. */
static const struct mf_mode mode = {
	.survivors = survivors,
	.pause = pause_threads,
	.resume = resume_threads,
	.finish = finish,
	.control = { .list = list, .snapshot = snapshot, .watch = watch },
};

static int look(void *data, struct mf_error *err)
{
	struct mf_run *run = data;

	run->supervision.period_ms = mf_heap_family_look(run->state);
	return 0;
}

static bool is_done(void *data)
{
	const struct mf_run *run = data;

	return mf_heap_family_is_empty(run->state);
}

static void serve(void *control)
{
	mf_control_serve(control);
}

/* Supervises the processes of @family until all have ended. */
static void accompany(struct mf_run *run, struct mf_heap_family *family)
{
	struct mf_control *control = NULL;
	struct mf_error err;

	run->state = family;
	mf_truncation_endure();
	if (mf_control_open(&mode.control, run, &control, &err))
		mf_message_say(MF_MESSAGE_DETAIL, "%s", err.text);
	mf_control_follow(control, run->options->outputs);
	run->supervision = (struct mf_supervision){
		.signals = &run->signals,
		.fd = mf_heap_family_fd(family),
		.period_ms = 1,
		.drain = look,
		.is_done = is_done,
		.data = run,
		.control_fd = mf_control_fd(control),
		.serve = serve,
		.control = control,
	};
	mf_survivor_follow(run, &mode);
	mf_control_follow(NULL, run->options->outputs);
	mf_control_close(control);
}

/*
 * Makes this massif-ctl the aggregator of the process whose session is in the file @memory. Takes ownership of the
 * descriptor @memory. Returns 0 when the profile is complete, or -errno.
 */
static int go_on(struct rescue *rescue, int memory, struct mf_error *err)
{
	__attribute__((cleanup(mf_logfile_close))) struct mf_logfile log = { .fd = -1 };
	struct mf_run run = { .options = rescue->options, .log = &log, .pid = rescue->pid };
	struct mf_heap_family *family = NULL;
	struct mf_heap_process *process;
	mf_auto_close int session = memory;
	struct mf_store store;
	char path[4096];
	int ret;

	ret = mf_store_attach(&store, session, err);
	if (ret)
		return ret;
	ret = check(rescue, &store, err);
	if (!ret)
		ret = take_options(rescue, &store, err);
	mf_store_detach(&store);
	if (!ret)
		ret = open_output(rescue, &log, &run.keep_descriptors, err);
	if (!ret)
		ret = mf_signals_take(&run.signals, err);
	if (!ret)
		ret = mf_heap_process_adopt(rescue->options, path_of(rescue, path), cmd_of(rescue),
					    rescue->pid, rescue->process.fd, session, &process, err);
	if (ret)
		return ret;
	session = -1;
	ret = mf_heap_process_go_on(process, err);
	if (!ret)
		ret = mf_heap_family_create(rescue->options, process,
					    rescue->own_user ? rescue->origin.address : NULL, &family,
					    err);
	if (ret) {
		mf_heap_process_destroy(process);
		return ret;
	}
	if (mf_heap_family_adopt(family)) {
		mf_heap_family_destroy(family);
		return mf_error_set(err, -ESRCH, "process %d has ended, so its profile is lost",
				    (int)rescue->pid);
	}
	mf_heap_process_start(process);
	accompany(&run, family);
	mf_heap_family_destroy(family);
	mf_background_deinit(&run.background);
	return 0;
}

static int rescue_process(struct rescue *rescue)
{
	struct mf_error err;
	int memory;

	if (mf_pidproc_open(&rescue->process, rescue->pid, &err))
		return refuse(&err);
	if (!mf_pidproc_is_alive(&rescue->process)) {
		mf_error_set(&err, -ESRCH, "process %d has ended, so its profile is lost", (int)rescue->pid);
		return refuse(&err);
	}
	if (mf_mappings_find(rescue->pid, &rescue->mappings, &err))
		return refuse(&err);
	memory = open_session(rescue);
	/* Ask this last: before, the process could have executed a set-uid program, whose session would not have been this. */
	rescue->own_user = mf_owner_is_ours(&rescue->process);
	if (memory >= 0)
		return go_on(rescue, memory, &err) ? refuse(&err) : 0;
	if (write_now(rescue, &err))
		return refuse(&err);
	mf_message_say(MF_MESSAGE_NOTE,
		       "this is the profile so far; the process keeps it, and only root can resume it");
	return 0;
}

static void release(struct rescue *rescue)
{
	mf_pidproc_close(&rescue->process);
	mf_mappings_free(&rescue->mappings);
	mf_origin_free(&rescue->origin);
	for (size_t i = 0; i < RESCUED_FILES; i++)
		free(rescue->names[i]);
	free(rescue->words);
}

int mf_command_rescue(int argc, char **argv)
{
	__attribute__((cleanup(mf_options_deinit))) struct mf_options options = { 0 };
	__attribute__((cleanup(release))) struct rescue rescue = {
		.options = &options,
		.words = calloc((size_t)argc + 1, sizeof(char *)),
		.process = { .fd = -1 },
	};
	struct mf_error err;
	int status;

	if (!rescue.words) {
		mf_error_set(&err, -ENOMEM, "out of memory");
		return refuse(&err);
	}
	if (sort_words(argc, argv, &rescue, &err) ||
	    mf_options_init(&options, argc + EXTRA_WORDS, &err))
		return refuse(&err);
	for (int i = 0; i < rescue.n_words; i++) {
		if (strcmp(rescue.words[i], "--help") == 0 || strcmp(rescue.words[i], "-h") == 0)
			return mf_command_explain("rescue");
	}
	if (!rescue.pid) {
		mf_error_set(&err, 0, "no process specified: massif-ctl rescue PID\n"
				      "Use --help for more information.");
		return refuse(&err);
	}
	/* Files with budgets could be anywhere, and another user could have chosen them. */
	options.without_budgets = true;
	status = rescue_process(&rescue);
	if (!status && mf_outputs_are_lost(options.outputs))
		return STATUS_LOST;
	return status;
}
