// SPDX-License-Identifier: GPL-2.0
// A process profiled in heap mode: the memory that it shares with massif-ctl, and the file that is written when it
// ends.

#include "process.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cachedir.h"
#include "base/cleanup.h"
#include "ctl/check/checker.h"
#include "ctl/launch/exit_status.h"
#include "ctl/output/statistics.h"
#include "ctl/options/time_units.h"
#include "ctl/message/message.h"
#include "origin.h"
#include "ctl/output/output.h"
#include "rowcache.h"
#include "touch_session.h"
#include "ctl/output/xtree.h"
#include "model/model.h"
#include "model/object_path.h"
#include "model/objects.h"
#include "model/tally.h"
#include "symbols/demangle.h"

enum {
	/* number of extra frames recorded beyond --depth, because the report later removes allocation functions */
	FRAMES_BEYOND = 50,
	ADDRESS_SHARE = 4,  /* the store takes at most a quarter of RLIMIT_AS and leaves the rest to the program */
};

/* Preferred minimum address space of a store, in bytes. A much smaller store is enough only for small programs. */
#define SMALL_STORE (512ull << 20)

static const struct {
	enum mf_store_full what;
	const char *words;
} shortages[] = {
	{ MF_STORE_FULL_NODES, "stack frames; some call stacks are unknown" },
	{ MF_STORE_FULL_CONTEXTS, "call stacks; some are unknown" },
	{ MF_STORE_FULL_CAPTURES, "snapshot trees" },
	{ MF_STORE_FULL_BLOCKS, "live blocks" },
	{ MF_STORE_FULL_OBJECTS, "loaded libraries" },
	{ MF_STORE_FULL_LEDGER, "call stacks for --xtree-memory=full" },
};

static uint64_t share_of(pid_t pid)
{
	struct rlimit limit;

	if (prlimit(pid, RLIMIT_AS, NULL, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		return 0;
	if (limit.rlim_cur / ADDRESS_SHARE >= SMALL_STORE)
		return limit.rlim_cur / ADDRESS_SHARE;
	return limit.rlim_cur / 2 < SMALL_STORE ? limit.rlim_cur / 2 : SMALL_STORE;
}

/*
 * Returns how many bytes of address space a store may occupy, given the limits of massif-ctl and of process @pid (0 if
 * the process has not started yet). Returns 0 if there is no limit.
 */
static uint64_t budget_for(pid_t pid)
{
	uint64_t ours = share_of(0), theirs = pid ? share_of(pid) : 0;

	return !ours || (theirs && theirs < ours) ? theirs : ours;
}

/*
 * Returns whether the shim must compare its stacks with those of libunwind. The user requests this with an environment
 * variable rather than an option, because the comparison is only for testing the shim and does not affect the profile.
 */
static bool wants_verification(void)
{
	const char *value = getenv("MASSIF_VERIFY");

	return value && strcmp(value, "") && strcmp(value, "0");
}

/* Initialises the fields of the store that depend on the options. */
static void set_up(struct mf_store *store, const struct mf_options *options)
{
	struct mf_model_options model = options->model;
	struct mf_store_header *header = store->header;

	model.no_trees = !options->heap;
	model.logs_steps = mf_statistics_log_level(options);
	/*
	 * At native speed, many events fall within the first few milliseconds. Without a minimum interval, each would
	 * cause a snapshot.
	 */
	if (model.time_unit == MF_TIME_MS)
		model.least_interval = 1;
	mf_model_init(store, &model);
	if (options->heap_extra_real) {
		/* The sizes that the allocator reports include the block's header. */
		mf_model_of(store)->options.heap_admin = 0;
		header->real_capacities = 1;
	}
	if (wants_verification())
		header->verify = MF_VERIFY_STACKS;
	header->realloc_zero_keeps = !options->realloc_zero_frees;
	if (options->model.time_unit == MF_TIME_INSTRUCTIONS)
		mf_clock_set_instructions(header);
	header->depth = options->report.depth + FRAMES_BEYOND;
	header->merge_recursive = options->merge_recursive;
	header->takes_requests = options->client_requests;
	header->traces_children = options->trace_children;
	header->counts_stacks = options->stacks;
	header->leaves_heap = !options->heap;
	header->separates_threads = options->separate_threads;
	/* If stacks are kept apart, the sums of threads are those of their stacks. */
	header->counts_threads = options->record_file && !options->separate_threads;
	header->keeps_ledger = options->xtree == MF_XTREE_FULL;
	header->has_somalloc = options->somalloc != NULL;
	if (options->somalloc)
		memcpy(header->somalloc, options->somalloc, strcspn(options->somalloc, ","));
	if (options->unwind_cache)
		mf_cachedir_locate(header->rows_directory, sizeof(header->rows_directory));
}

static void destroy(struct mf_heap_process **process)
{
	mf_heap_process_destroy(*process);
}

/*
 * Stores the beginning of the command, for messages. A command can be a whole script; terminal control characters are
 * replaced.
 */
static void make_title(struct mf_heap_process *process)
{
	static const char more[] = "...";
	size_t room = sizeof(process->title) - 1, length = strlen(process->cmd);
	size_t n = length <= room ? length : room - strlen(more);

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)process->cmd[i];

		process->title[i] = (char)(c < ' ' || c == 0x7f ? '?' : c);
	}
	if (n < length)
		memcpy(process->title + n, more, strlen(more));
}

/* Allocates a struct mf_heap_process that has no store yet. */
static struct mf_heap_process *make(const struct mf_options *options, const char *cmd)
{
	struct mf_heap_process *made = calloc(1, sizeof(*made));

	if (!made)
		return NULL;
	made->options = options;
	made->memory = made->pidfd = made->connection = made->go_on_fd = -1;
	made->watch_ms = -1;
	made->status = MF_EXIT_STATUS_UNKNOWN;
	mf_mapped_init(&made->mapped, options->held);
	made->cmd = strdup(cmd);
	if (!made->cmd) {
		free(made);
		return NULL;
	}
	make_title(made);
	return made;
}

static int make_filter_server(struct mf_heap_process *process, struct mf_error *err)
{
	if (!process->options->heap || !mf_filter_server_is_needed(process->options))
		return 0;
	return mf_filter_server_create(&process->store, process->options, &process->filter_server, err);
}

/* Creates the store of a process, with the regions that the options need, in the file @memory unless that is -1. */
static int create_store(struct mf_heap_process *process, int memory, struct mf_error *err)
{
	bool has_details = process->options->record_details && process->options->record_file;
	int ret;

	if (memory >= 0) {
		ret = mf_store_create_in(&process->store, process->budget, has_details, memory, err);
		process->memory = ret ? -1 : memory;
	} else if (has_details) {
		ret = mf_store_create_detailed(&process->store, process->budget, &process->memory, err);
	} else {
		ret = mf_store_create(&process->store, process->budget, &process->memory, err);
	}
	/*
	 * Anybody may open a new memfd. Without this, another user who receives a descriptor for reading could open it again,
	 * through /proc/self/fd, for writing. This fails only for the given memfd of another user's process.
	 */
	if (!ret)
		fchmod(process->memory, 0600);
	return ret;
}

int mf_heap_process_create_in(const struct mf_options *options, const char *path, const char *cmd, pid_t pid,
			      int memory, struct mf_heap_process **process, struct mf_error *err)
{
	__attribute__((cleanup(destroy))) struct mf_heap_process *made = make(options, cmd);
	int ret;

	if (!made)
		return mf_error_set(err, -ENOMEM, "out of memory");
	mf_output_make_name(&made->name, path, strlen(path));
	made->budget = budget_for(pid);
	ret = create_store(made, memory, err);
	if (ret)
		return ret;
	set_up(&made->store, options);
	mf_mapped_look(&made->mapped, &made->store, 0, -1);
	mf_origin_claim(&made->store);
	ret = make_filter_server(made, err);
	if (!ret)
		*process = mf_take(made, NULL);
	else if (memory >= 0)
		made->memory = -1;
	return ret;
}

int mf_heap_process_create(const struct mf_options *options, const char *path, const char *cmd,
			   pid_t pid, struct mf_heap_process **process, struct mf_error *err)
{
	return mf_heap_process_create_in(options, path, cmd, pid, -1, process, err);
}

int mf_heap_process_adopt(const struct mf_options *options, const char *path, const char *cmd, pid_t pid,
			  int pidfd, int memory, struct mf_heap_process **process, struct mf_error *err)
{
	__attribute__((cleanup(destroy))) struct mf_heap_process *made = make(options, cmd);
	int ret = 0;

	if (!made)
		return mf_error_set(err, -ENOMEM, "out of memory");
	mf_output_make_name(&made->name, path, strlen(path));
	made->pid = pid;
	if (memory >= 0) {
		made->memory = memory;
		made->budget = budget_for(pid);
		ret = mf_store_attach(&made->store, memory, err);
		if (!ret)
			mf_mapped_look(&made->mapped, &made->store, pid, pidfd);
	}
	if (!ret)
		*process = mf_take(made, NULL);
	return ret;
}

int mf_heap_process_go_on(struct mf_heap_process *process, struct mf_error *err)
{
	mf_origin_claim(&process->store);
	process->store.header->question = 0;
	process->store.header->ending = MF_ENDING_IGNORED;
	return make_filter_server(process, err);
}

/*
 * Copies the allocated pages of file @from between offsets @start and @end to the same offsets of @to. @source
 * is where @start is mapped. Returns 0 or -errno.
 */
static int copy_range(int to, int from, const char *source, off_t start, off_t end)
{
	for (off_t at = start, hole; at < end; at = hole) {
		off_t data = lseek(from, at, SEEK_DATA);

		if (data < 0)
			return errno == ENXIO ? 0 : -errno;
		if (data >= end)
			return 0;
		hole = lseek(from, data, SEEK_HOLE);
		if (hole < 0)
			return -errno;
		if (hole > end)
			hole = end;
		while (data < hole) {
			ssize_t n = pwrite(to, source + (data - start), (size_t)(hole - data), data);

			if (n <= 0)
				return n < 0 ? -errno : -EIO;
			data += n;
		}
	}
	return 0;
}

/* Returns whether an output of a process that has ended needs its live blocks. A massif.out file does not. */
static bool needs_blocks(const struct mf_options *options)
{
	return options->xtree || options->record_file || mf_checker_has_budgets(options->checker);
}

/* Returns whether @region holds individual live blocks. Their sums are in other regions. */
static bool is_of_blocks(int region)
{
	return region == MF_REGION_BLOCK_DIRECTORY || region == MF_REGION_BLOCK_LEAVES ||
	       region == MF_REGION_WIDE_BLOCKS;
}

static int copy_store(struct mf_heap_process *to, const struct mf_heap_process *from, bool lives)
{
	for (int i = 0; i < MF_REGION_COUNT; i++) {
		off_t start = (off_t)to->store.offsets[i];
		int ret;

		if (i == MF_REGION_THREADS || (!lives && !needs_blocks(to->options) && is_of_blocks(i)))
			continue;
		if (from->store.offsets[i] != to->store.offsets[i] || from->store.sizes[i] != to->store.sizes[i])
			return -EINVAL;
		ret = copy_range(to->memory, from->memory, from->store.regions[i], start,
				 start + (off_t)from->store.sizes[i]);
		if (ret)
			return ret;
	}
	return 0;
}

static const struct mf_store *store_of(const struct mf_heap_process *process)
{
	return process->source ? &process->source->store : &process->store;
}

/* Returns whether the shared profile is still in the state that it had at the fork. */
static bool is_true(const struct mf_heap_process *process)
{
	return __atomic_load_n(&store_of(process)->header->went_on, __ATOMIC_SEQ_CST) ==
	       process->went_on;
}

int mf_heap_process_expect(const struct mf_heap_process *from, struct mf_heap_process **process,
			   struct mf_error *err)
{
	struct mf_heap_process *made = make(from->options, from->cmd);

	if (!made)
		return mf_error_set(err, -ENOMEM, "out of memory");
	made->name = from->name;
	made->source = from->source ? from->source : from;
	made->budget = made->source->budget;
	made->went_on = store_of(made)->header->went_on;
	made->forked = true;
	*process = made;
	return 0;
}

/* Resets the header fields that do not apply to this process, but were copied from another process's profile. */
static int make_own(struct mf_heap_process *process, struct mf_error *err)
{
	struct mf_store_header *header = process->store.header;

	/* A forked child has inherited its parent's counters, which only the parent reports. */
	header->n_steps = header->steps_lost = 0;
	header->n_new_rules = 0;
	header->verified = header->verify_differs = 0;
	header->requests_missed = 0;
	header->question = header->unanswered = 0;
	header->ending = MF_ENDING_IGNORED;
	mf_origin_claim(&process->store);
	if (process->options->child_silent)
		header->trace_fd = 0;
	return make_filter_server(process, err);
}

int mf_heap_process_copy(struct mf_heap_process *process, bool lives, struct mf_error *err)
{
	const struct mf_heap_process *from = process->source;
	int ret = create_store(process, -1, err);

	if (ret)
		return ret;
	ret = copy_store(process, from, lives);
	if (ret)
		return mf_error_set(err, ret, "cannot copy the memory of the profile: %s",
				    strerror(-ret));
	if (!is_true(process))
		return mf_error_set(err, -ESTALE, "its parent continued before its profile had been copied");
	mf_mapped_copy(&process->mapped, &process->store, &from->mapped, &from->store);
	process->source = NULL;
	return make_own(process, err);
}

int mf_heap_process_inherit(struct mf_heap_process *process, struct mf_heap_process *source,
			    struct mf_error *err)
{
	if (!is_true(process))
		return mf_error_set(err, -ESTALE, "its parent continued before its profile had been copied");
	mf_sample_watch_stop(&source->sample_watch);
	mf_filter_server_destroy(mf_take(source->filter_server, NULL));
	process->store = source->store;
	process->mapped = source->mapped;
	mf_mapped_init(&source->mapped, source->options->held);
	process->memory = mf_take(source->memory, -1);
	memset(&source->store, 0, sizeof(source->store));
	process->source = NULL;
	return make_own(process, err);
}

void mf_heap_process_destroy(struct mf_heap_process *process)
{
	if (!process)
		return;
	mf_sample_watch_stop(&process->sample_watch);
	mf_filter_server_destroy(process->filter_server);
	mf_mapped_deinit(&process->mapped, &process->store);
	if (process->store.header)
		mf_store_detach(&process->store);
	if (process->memory >= 0)
		close(process->memory);
	if (process->pidfd >= 0)
		close(process->pidfd);
	if (process->connection >= 0)
		close(process->connection);
	if (process->go_on_fd >= 0)
		close(process->go_on_fd);
	mf_space_forget(&process->space);
	mf_sampler_deinit(&process->sampler);
	free(process->cmd);
	free(process);
}

void mf_heap_process_start(struct mf_heap_process *process)
{
	struct mf_error err;

	if (process->filter_server && mf_filter_server_start(process->filter_server, &err))
		mf_message_say(MF_MESSAGE_PROBLEM, "%s", err.text);
	if (process->options->rss && process->store.header)
		mf_sample_watch_start(&process->sample_watch, &process->store);
}

void mf_heap_process_complain(const struct mf_heap_process *process, const char *format, ...)
{
	char text[1024], prefix[32] = "";
	va_list args;

	if (!process->launched)
		snprintf(prefix, sizeof(prefix), "process %d: ", (int)process->pid);
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	mf_message_say(MF_MESSAGE_PROBLEM, "%s%s", prefix, text);
}

/* Explains why a function could not be intercepted. */
static const char *reason_of(int code)
{
	switch (code) {
	case -ENOEXEC:
		return "its first instructions cannot be patched";
	case -EOPNOTSUPP:
		return "its implementation is chosen when the program is loaded (IFUNC)";
	}
	return strerror(-code);
}

/* The program can write anywhere in the store, so the strings may lack a NUL. */
static void say_missed(const struct mf_heap_process *process)
{
	const struct mf_store_header *header = process->store.header;
	mf_auto_free char *symbol = strndup(header->missed_name, sizeof(header->missed_name));
	mf_auto_free char *name = symbol ? mf_demangle(symbol) : NULL;
	struct mf_object object = { 0 };
	mf_auto_free char *path = NULL;

	if (!header->n_missed || !symbol)
		return;
	mf_objects_read(&process->store, mf_objects_find(&process->store, header->missed_address), &object);
	path = mf_object_path_copy(&process->store, &object);
	mf_heap_process_complain(process,
		 "%s is defined by %s itself and could not be intercepted (%s), so its calls are not "
		 "profiled%s",
		 name ? name : symbol, path ? path : "the program",
		 reason_of(header->missed_error),
		 header->n_missed > 1 ? "; the same applies to other functions" : "");
}

static void say_losses(const struct mf_heap_process *process)
{
	const struct mf_store_header *header = process->store.header;

	for (size_t i = 0; i < sizeof(shortages) / sizeof(shortages[0]); i++) {
		if (header->full & shortages[i].what)
			mf_heap_process_complain(process, "the profile is incomplete: too many %s%s",
				 shortages[i].words,
				 process->budget ? "; raise the limit on address space (ulimit -v)" :
						    "");
	}
	say_missed(process);
	if (header->capacities_unknown)
		mf_heap_process_complain(process, "extra bytes are estimated, despite --heap-extra=real: the program's "
				  "own allocator does not report the real sizes of its blocks");
	if (header->late_objects_error)
		mf_heap_process_complain(process,
			 "libraries that were loaded later could not be patched, so allocation functions "
			 "that they define are not profiled: %s",
			 header->late_objects_error == -EBUSY ?
				 "a debugger has a breakpoint in the dynamic linker" :
				 strerror(-header->late_objects_error));
	if (header->is_elsewhere)
		mf_heap_process_complain(process, "libraries were loaded into a separate namespace (dlmopen) with its own "
				  "C library; their allocations are not profiled");
	if (header->counters_missing)
		mf_heap_process_complain(process,
			 "times are too low: %" PRIu32 " threads have no instruction counter",
			 header->counters_missing);
	if (header->children_restricted)
		mf_heap_process_complain(process,
			 "%" PRIu32 " children are not profiled: they were forked after the program had "
			 "restricted its system calls (seccomp)",
			 header->children_restricted);
	if (header->requests_missed)
		mf_heap_process_complain(process,
			 "%" PRIu32 " client requests are ignored, because the code could not be patched: %s",
			 header->requests_missed, strerror(header->requests_error));
	if (header->unanswered)
		mf_heap_process_complain(process, "--ignore-fn and --alloc-fn were not applied to the whole profile: "
				  "massif-ctl was not running or did not answer");
	if (header->events_lost)
		mf_heap_process_complain(process,
			 "the profile is incomplete: %" PRIu64 " of %" PRIu64
			 " allocations and frees were not counted",
			 header->events_lost, header->events + header->events_lost);
}

static void say_verified(const struct mf_heap_process *process)
{
	const struct mf_store_header *header = process->store.header;

	if (header->verify == MF_VERIFY_IMPOSSIBLE)
		mf_heap_process_complain(process, "stacks could not be verified: libunwind.so.8 was not found");
	else if (header->verify == MF_VERIFY_FORKED)
		mf_heap_process_complain(process, "stacks could not be verified: this child was forked while a stack of "
				  "another thread was being verified");
	else if (header->verify)
		mf_heap_process_complain(process, "verified %" PRIu64 " stacks with libunwind, %" PRIu64 " differ",
			 header->verified, header->verify_differs);
	if (header->verify == MF_VERIFY_RESTRICTED)
		mf_heap_process_complain(process, "later stacks could not be verified: the program restricted its system calls "
				  "(seccomp)");
	if (header->verify_differs)
		mf_heap_process_complain(process,
			 "first difference: context %" PRIu32 ", frame %" PRIu32
			 ", libunwind has 0x%" PRIx64,
			 header->differs_context, header->differs_frame, header->differs_pc);
}

static uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

bool mf_heap_process_executes(const struct mf_heap_process *process)
{
	return process->executes || mf_space_executes(&process->space);
}

void mf_heap_process_note_end(struct mf_heap_process *process)
{
	if (process->end_ns)
		return;
	process->end_ns = now_ns();
}

int64_t mf_heap_process_age_ms(const struct mf_heap_process *process)
{
	uint64_t first = store_of(process)->header->first_time_ns;
	uint64_t end = process->end_ns ? process->end_ns : now_ns();

	return first && end > first ? (int64_t)((end - first) / 1000000) : 0;
}

int64_t mf_heap_process_time(const struct mf_heap_process *process)
{
	return process->options->model.time_unit == MF_TIME_INSTRUCTIONS ?
		       (int64_t)store_of(process)->header->instructions :
		       mf_heap_process_age_ms(process);
}

/* If the shim never attached, there is only the snapshot of the beginning. */
static struct mf_end end_of(const struct mf_heap_process *process)
{
	return (struct mf_end){
		.rule = store_of(process)->header->pid ?
				mf_output_end_rule(process->options, process->cut_off) :
				MF_END_NOTHING,
		.now = mf_heap_process_time(process),
	};
}

/* Returns what massif.ko has recorded of the program that the samples are of, or NULL. */
static const struct mf_pages_process *touched_of(const struct mf_heap_process *process)
{
	const struct mf_pages_process *found = mf_touch_session_find(process->options->touches, process->pid);

	/* If the process has executed a program that is not profiled, that program is in the module's session. */
	return found && found->start_ns == process->touched_since_ns ? found : NULL;
}

static struct mf_output_of output_of(const struct mf_heap_process *process)
{
	return (struct mf_output_of){
		.store = store_of(process),
		.cmd = process->cmd,
		.name = process->name.text,
		.pid = process->pid,
		.parent = process->parent,
		.status = process->status,
		.took_ms = (uint64_t)mf_heap_process_age_ms(process),
		.lost = store_of(process)->header->events_lost,
		.residency = process->sampler.residency.n_samples ? &process->sampler.residency : NULL,
		.touched = process->sampler.residency.n_samples ? touched_of(process) : NULL,
		.first_ns = store_of(process)->header->first_time_ns,
		.end = end_of(process),
	};
}

static struct mf_xtree_of xtree_of(const struct mf_heap_process *process)
{
	return (struct mf_xtree_of){
		.store = store_of(process),
		.cmd = process->cmd,
		.pid = process->pid,
		.time_ms = mf_heap_process_age_ms(process),
	};
}

bool mf_heap_process_look(struct mf_heap_process *process)
{
	if (process->source)
		return false;
	return mf_mapped_look(&process->mapped, &process->store, process->ended ? 0 : process->pid,
			      process->pidfd);
}

void mf_heap_process_write(struct mf_heap_process *process)
{
	struct mf_output_of output;
	const struct mf_xtree_of xtree = xtree_of(process);
	struct mf_error err;

	mf_heap_process_look(process);
	mf_touch_session_look(process->options->touches);
	output = output_of(process);
	/* If the session has failed, that has been said. */
	if (mf_touch_session_fd(process->options->touches) >= 0 && output.residency && !output.touched)
		mf_heap_process_complain(process, "its resident set was sampled from /proc: %s",
					 process->touched_since_ns ?
						 "what massif.ko had recorded was dropped when it executed another program" :
						 "massif.ko recorded nothing of it");
	if (process->forked && process->options->child_silent)
		mf_message_set_level(MF_MESSAGE_ERROR);
	else
		mf_statistics_end(process->options, &process->store, output.end, process->pid);
	say_losses(process);
	say_verified(process);
	/* As in Massif, write the xtree file before the massif.out file. */
	if (process->options->xtree && mf_xtree_output(process->options, &xtree, &err))
		mf_message_say(MF_MESSAGE_ERROR, "%s", err.text);
	if (mf_output_write(process->options, &output, &err))
		mf_message_say(MF_MESSAGE_ERROR, "%s", err.text);
	mf_message_set_level(process->options->verbosity);
	/*
	 * Determine the directory of the row files again. The header of the session memory contains its path, but the
	 * program may have overwritten that.
	 */
	if (process->options->unwind_cache) {
		char path[MF_STORE_PATH_MAX];

		mf_cachedir_locate(path, sizeof(path));
		mf_rowcache_learn(&process->store, path);
	}
	mf_touch_session_forget(process->options->touches, process->pid);
}

struct mf_progress_figures mf_heap_process_figures(const struct mf_heap_process *process)
{
	struct mf_tally_totals totals = mf_tally_look(store_of(process), 0);
	uint64_t live = totals.heap + totals.extra + totals.stacks, peak = mf_model_of(store_of(process))->peak_total;

	return (struct mf_progress_figures){ mf_heap_process_age_ms(process), live, peak > live ? peak : live };
}

void mf_heap_process_list(const struct mf_heap_process *process, FILE *out)
{
	const struct mf_store *store = store_of(process);

	mf_control_print_profile(out, process->pid, "heap", mf_tally_look(store, 0).heap,
				 mf_heap_process_age_ms(process), process->cmd);
}

int mf_heap_process_snapshot(const struct mf_heap_process *process, enum mf_control_verb verb,
			     FILE *out, struct mf_error *err)
{
	static const enum mf_output_part parts[MF_CONTROL_VERBS] = {
		[MF_CONTROL_SNAPSHOT] = MF_OUTPUT_PRESENT,
		[MF_CONTROL_DETAILED_SNAPSHOT] = MF_OUTPUT_DETAILED,
		[MF_CONTROL_ALL_SNAPSHOTS] = MF_OUTPUT_KEPT,
	};
	const struct mf_output_of output = output_of(process);

	if (!output.store->header->pid)
		return mf_error_set(err, -EAGAIN, "error: cannot take snapshot before execution has "
						  "started");
	if (verb == MF_CONTROL_XTMEMORY || verb == MF_CONTROL_XTMEMORY_MS) {
		const struct mf_xtree_of xtree = xtree_of(process);
		enum mf_format format = verb == MF_CONTROL_XTMEMORY_MS ? MF_FORMAT_MASSIF : MF_FORMAT_CALLGRIND;

		return mf_xtree_print(process->options, &xtree, format, out, err);
	}
	return mf_output_print(process->options, &output, parts[verb], out, err);
}
