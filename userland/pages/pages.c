// SPDX-License-Identifier: GPL-2.0
// Pages mode, aggregator side: assigns the ring's records to targets and processes.

#include "pages/pages.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "pages/dump.h"
#include "pages/members.h"
#include "pages/ring.h"
#include "pages/target.h"

/*
 * The ring has to hold everything that happens while the aggregator is not running. An event with its stack takes about
 * 8 KiB; on a busy machine with two processors, a thousand events arrived before the aggregator was scheduled.
 * Therefore the ring is as large as the protocol, the free memory and the user's locked-memory limit allow: 4 MiB with
 * the usual limit of 8 MiB.
 */
#define RING_BYTES_MOST	 ((uint64_t)MASSIF_RING_MAX)
#define RING_BYTES_LEAST (1ull << 20)
#define HELD_BYTES_MAX	   (64ull << 20)

/* Memory that the module uses for its stack cache: enough for about ten thousand stacks. */
#define KNOWN_BYTES (8u << 20)

/* Number of extra frames recorded, because a report removes alloc-fns. As in Massif. */
#define FRAMES_BEYOND_DEPTH 50

#define BUCKETS	   256
#define PAGE_BYTES 4096ull

/* Maximum number of VMAs in one part of a resync; the module writes far fewer. */
#define VMAS_MAX (1u << 20)

struct mf_pages {
	struct mf_ring ring;
	struct mf_model_options model;
	struct mf_target_common common;
	struct mf_target *buckets[BUCKETS]; /* the profiled address spaces, by number */
	pid_t launched;			    /* the process that enrolled, or 0 if none has yet */
	bool started;			    /* the launched process has executed the program, or a process was
					     * attached to */
	struct mf_members members; /* with traces_children: the processes that get a profile for every program they
				    * execute */
	bool traces_children;
	bool (*skips)(void *data, const char *path, const char *args, size_t n_bytes);
	void *skips_data;
	bool resync_wanted;
	bool done;
	uint64_t unexplained; /* number of records missing according to sequence numbers and not yet reported by a
			       * LOST record */
	uint64_t now_ns;      /* time of the last record */

	/* The part of a resync that is being read; NULL if there is none or the target has no profile. */
	struct mf_resync *resync;
	struct mf_target *resync_target;
	uint32_t resync_room;
};

#define for_each_target(pages, target)                                                             \
	for (size_t bucket_ = 0; bucket_ < BUCKETS; bucket_++)                                     \
		for (target = (pages)->buckets[bucket_]; target; target = target->next)

static struct mf_target *find_target(const struct mf_pages *pages, uint32_t number)
{
	struct mf_target *target = pages->buckets[number % BUCKETS];

	while (target && target->number != number)
		target = target->next;
	return target;
}

/* Returns the target in which process @pid runs, if the target was created for this process. */
static struct mf_target *find_process(const struct mf_pages *pages, pid_t pid)
{
	struct mf_target *target;

	for_each_target(pages, target) if (target->process.pid == pid &&
					   target->left == MF_PAGES_RUNNING) return target;
	return NULL;
}

static int add_target(struct mf_pages *pages, uint32_t number, pid_t pid, uint64_t time_ns,
		      struct mf_target **target, struct mf_error *err)
{
	struct mf_target **bucket = &pages->buckets[number % BUCKETS];
	int code;

	if (find_target(pages, number))
		return mf_error_set(err, -EPROTO, "massif.ko used target number %u twice", number);
	code = mf_target_create(&pages->common, &pages->model, number, pid, time_ns, target, err);
	if (code)
		return code;
	(*target)->next = *bucket;
	*bucket = *target;
	return 0;
}

static void remove_target(struct mf_pages *pages, struct mf_target *target)
{
	struct mf_target **link = &pages->buckets[target->number % BUCKETS];

	while (*link != target)
		link = &(*link)->next;
	*link = target->next;
	if (pages->resync_target == target) {
		free(pages->resync);
		pages->resync = NULL;
		pages->resync_target = NULL;
	}
	mf_target_destroy(target);
}

static enum mf_stack_cache_mode known_mode(void)
{
	const char *word = getenv("MASSIF_KNOWN_STACKS");

	if (word && !strcmp(word, "off"))
		return MF_KNOWN_OFF;
	return word && !strcmp(word, "verify") ? MF_KNOWN_VERIFY : MF_KNOWN_ON;
}

static struct mf_pages *create(const struct mf_pages_options *options)
{
	struct mf_pages *pages = calloc(1, sizeof(*pages));
	uint32_t frames = options->depth + FRAMES_BEYOND_DEPTH;

	if (!pages)
		return NULL;
	pages->ring.fd = -1;
	pages->model = options->model;
	pages->traces_children = options->traces_children;
	pages->skips = options->skips;
	pages->skips_data = options->skips_data;
	pages->common.frames = frames < MF_UNWIND_FRAMES_MAX ? frames : MF_UNWIND_FRAMES_MAX;
	pages->common.what = options->what;
	pages->common.dump_path = getenv("MASSIF_DUMP_INTERVALS");
	pages->common.held_bytes_max = HELD_BYTES_MAX;
	pages->common.filter = options->filter;
	pages->common.names = options->names;
	pages->common.ring = &pages->ring;
	pages->common.known_mode = known_mode();
	mf_files_init(&pages->common.files);
	pages->common.files.held = options->held;
	pages->common.files.unreadable = options->unreadable;
	return pages;
}

static uint64_t ring_bytes_of_tests(void)
{
	const char *kib = getenv("MASSIF_RING_KIB");

	return kib ? strtoull(kib, NULL, 10) * 1024 : 0;
}

static int open_ring(struct mf_pages *pages, const struct mf_pages_options *options,
		     struct mf_error *err)
{
	const char *device = options->device ? options->device : MASSIF_DEVICE;
	uint64_t wanted = options->ring_bytes ? options->ring_bytes : ring_bytes_of_tests();
	struct mf_ring_setup setup = {
		.ring_bytes = wanted ? wanted : RING_BYTES_MOST,
		.stack_bytes = MASSIF_STACK_MAX,
		.known_bytes = pages->common.known_mode == MF_KNOWN_OFF ? 0 : KNOWN_BYTES,
	};
	int code;

	if (pages->common.known_mode == MF_KNOWN_VERIFY)
		setup.flags |= MASSIF_SETUP_VERIFY;
	if (options->what != MF_PAGES_VIRTUAL)
		setup.flags |= MASSIF_SETUP_RESIDENT;
	for (;;) {
		code = mf_ring_open(&pages->ring, device, &setup, err);
		if ((code != -ENOMEM && code != -EDQUOT) || wanted || setup.ring_bytes <= RING_BYTES_LEAST)
			return code;
		setup.ring_bytes /= 2;
		if (setup.known_bytes > setup.ring_bytes / 2)
			setup.known_bytes = (uint32_t)(setup.ring_bytes / 2);
	}
}

int mf_pages_open(const struct mf_pages_options *options, struct mf_pages **pages,
		  struct mf_error *err)
{
	struct mf_pages *made = create(options);
	int code;

	if (!made)
		return mf_error_set(err, -ENOMEM, "no memory for a session");
	code = open_ring(made, options, err);
	if (code) {
		mf_pages_close(made);
		return code;
	}
	*pages = made;
	return 0;
}

int mf_pages_attach(const struct mf_pages_options *options, const struct massif_control *control,
		    struct massif_consumer *consumer, const uint8_t *data, struct mf_pages **pages,
		    struct mf_error *err)
{
	struct mf_pages *made = create(options);
	int code;

	if (!made)
		return mf_error_set(err, -ENOMEM, "no memory for a session");
	code = mf_ring_attach(&made->ring, control, consumer, data, err);
	if (code) {
		mf_pages_close(made);
		return code;
	}
	*pages = made;
	return 0;
}

void mf_pages_close(struct mf_pages *pages)
{
	if (!pages)
		return;
	for (size_t i = 0; i < BUCKETS; i++)
		while (pages->buckets[i])
			remove_target(pages, pages->buckets[i]);
	free(pages->resync);
	mf_ring_close(&pages->ring);
	mf_files_deinit(&pages->common.files);
	mf_members_deinit(&pages->members);
	free(pages);
}

int mf_pages_forked(struct mf_pages *pages, struct mf_error *err)
{
	return mf_ring_forked(&pages->ring, err);
}

int mf_pages_enrol(const struct mf_pages *pages)
{
	return mf_ring_enrol(&pages->ring);
}

int mf_pages_enrol_error(int code, struct mf_error *err)
{
	switch (code) {
	case -EPERM:
	case -EACCES:
		return mf_error_set(
			err, code,
			"massif.ko refuses to profile this process: it must run as the user who opened %s "
			"and be dumpable",
			MASSIF_DEVICE);
	case -EBUSY:
		return mf_error_set(err, code, "the process is already being profiled by another massif-ctl");
	default:
		return mf_error_set(err, code, "massif.ko cannot add the process to the session: %s",
				    strerror(-code));
	}
}

/* Messages for processes that cannot be attached to. */
static const struct {
	int code;
	const char *words;
} join_errors[] = {
	{-ESRCH, "does not exist, or has just ended"},
	{-EPERM, "may not be profiled by this user: it runs as another user or group, has more "
		 "privileges, is not dumpable (prctl(PR_SET_DUMPABLE)), or kernel.yama.ptrace_scope "
		 "forbids it; run massif-ctl as root or with CAP_SYS_PTRACE"},
	{-EOPNOTSUPP, "is a kernel thread: it has no memory of its own to profile"},
	{-EBUSY, "is already being profiled by massif"},
	{-EAGAIN, "keeps executing new programs; try again"},
	{-ENOTTY, "cannot be attached to by the loaded massif.ko: load the one that was built with "
		  "this massif-ctl"},
};

enum {
	EXEC_LOOKS = 200, /* attempts while a process is calling exec */
	EXEC_LOOK_MS = 10,
};

int mf_pages_join(struct mf_pages *pages, pid_t pid, struct mf_error *err)
{
	int code = mf_ring_join(&pages->ring, pid);

	for (int i = 0; code == -EAGAIN && i < EXEC_LOOKS; i++) {
		poll(NULL, 0, EXEC_LOOK_MS);
		code = mf_ring_join(&pages->ring, pid);
	}
	if (!code)
		return 0;
	for (size_t i = 0; i < sizeof(join_errors) / sizeof(join_errors[0]); i++)
		if (join_errors[i].code == code)
			return mf_error_set(err, code, "process %d %s", (int)pid,
					    join_errors[i].words);
	return mf_error_set(err, code, "massif.ko cannot attach to process %d: %s", (int)pid,
			    strerror(-code));
}

void mf_pages_ring_use(const struct mf_pages *pages, uint64_t *most_unread, uint64_t *bytes)
{
	*most_unread = pages->ring.most_unread;
	*bytes = pages->ring.data_bytes;
}

int mf_pages_fd(const struct mf_pages *pages)
{
	return pages->ring.fd;
}

static int take_enrol(struct mf_pages *pages, const struct massif_record *record,
		      struct mf_error *err)
{
	const struct massif_rec_enrol *enrol = (const void *)record;

	if (!pages->launched)
		pages->launched = (pid_t)enrol->tgid;
	return 0;
}

static int out_of_memory(struct mf_error *err)
{
	return mf_error_set(err, -ENOMEM, "no memory for a profile");
}

static int take_attach(struct mf_pages *pages, const struct massif_record *record,
		       struct mf_error *err)
{
	const struct massif_rec_enrol *attach = (const void *)record;
	pid_t pid = (pid_t)attach->tgid;
	struct mf_target *target;
	int code;

	/* @pid shares its address space with another process, which already has a target. */
	if (find_target(pages, record->target))
		return 0;
	code = add_target(pages, record->target, pid, record->time_ns, &target, err);
	if (code)
		return code;
	if (mf_members_add(&pages->members, pid))
		return out_of_memory(err);
	if (!pages->launched) {
		pages->launched = pid;
		pages->started = true;
	}
	target->process.launched = pid == pages->launched;
	memcpy(target->process.comm, attach->comm, sizeof(target->process.comm) - 1);
	return 0;
}

/* Returns whether the program that process @pid is now executing gets a profile. */
static bool is_wanted(const struct mf_pages *pages, pid_t pid)
{
	if (!pages->started)
		return pid == pages->launched;
	return pages->traces_children && mf_members_has(&pages->members, pid);
}

static int take_exec(struct mf_pages *pages, const struct massif_record *record,
		     struct mf_error *err)
{
	const struct massif_rec_exec *exec = (const void *)record;
	pid_t pid = (pid_t)exec->tgid;
	struct mf_target *former = find_process(pages, pid), *target;
	bool wanted = is_wanted(pages, pid), first = !pages->started;
	int code;

	/* The process is executing another program: the previous program's profile is dropped, as in Massif. */
	if (former) {
		former->left = MF_PAGES_REPLACED;
		former->process.followed = wanted;
		memcpy(former->process.comm, exec->comm, sizeof(former->process.comm) - 1);
	}
	if (!wanted)
		return 0;
	code = add_target(pages, record->target, pid, record->time_ns, &target, err);
	if (code)
		return code;
	pages->started = true;
	target->process.launched = pid == pages->launched;
	target->executed = !first;
	memcpy(target->process.comm, exec->comm, sizeof(target->process.comm) - 1);
	if (record->size > sizeof(*exec) && exec->path[0]) {
		target->process.path = strdup(exec->path);
		if (!target->process.path)
			return out_of_memory(err);
	}
	return mf_members_add(&pages->members, pid) ? out_of_memory(err) : 0;
}

/* Joins the NUL-terminated arguments in the @n_bytes of @args with blanks. Returns NULL if memory ran out. */
static char *join_args(const char *args, size_t n_bytes)
{
	char *text = malloc(n_bytes + 1);

	if (!text)
		return NULL;
	memcpy(text, args, n_bytes);
	text[n_bytes] = '\0';
	if (n_bytes && !text[n_bytes - 1])
		n_bytes--;
	for (size_t i = 0; i < n_bytes; i++)
		if (!text[i])
			text[i] = ' ';
	return text;
}

static int take_args(struct mf_pages *pages, const struct massif_record *record,
		     struct mf_error *err)
{
	const struct massif_rec_args *args = (const void *)record;
	struct mf_target *target = find_target(pages, record->target);
	struct mf_pages_process *process;

	if (!target || !target->executed)
		return 0;
	process = &target->process;
	if (pages->skips && pages->skips(pages->skips_data, process->path ? process->path : "",
					 args->args, args->bytes)) {
		target->left = MF_PAGES_SKIPPED;
		mf_members_remove(&pages->members, process->pid);
		return 0;
	}
	if (!process->cmd)
		process->cmd = join_args(args->args, args->bytes);
	return process->cmd ? 0 : out_of_memory(err);
}

static int take_fork(struct mf_pages *pages, const struct massif_record *record,
		     struct mf_error *err)
{
	const struct massif_rec_fork *fork = (const void *)record;
	struct mf_target *parent = find_target(pages, record->target), *child;
	int code;

	if (mf_members_has(&pages->members, (pid_t)fork->parent_tgid) &&
	    mf_members_add(&pages->members, (pid_t)fork->child_tgid))
		return out_of_memory(err);
	if (!parent || parent->left == MF_PAGES_SKIPPED || fork->child == record->target)
		return 0;
	code = add_target(pages, fork->child, (pid_t)fork->child_tgid, record->time_ns, &child,
			  err);
	if (code)
		return code;
	memcpy(child->process.comm, parent->process.comm, sizeof(child->process.comm));
	if (parent->process.cmd) {
		child->process.cmd = strdup(parent->process.cmd);
		if (!child->process.cmd)
			return out_of_memory(err);
	}
	return mf_target_fork(parent, child, record, err);
}

static int take_exit(struct mf_pages *pages, const struct massif_record *record,
		     struct mf_error *err)
{
	struct mf_target *target = find_target(pages, record->target);

	return target ? mf_target_exit(target, (const void *)record, err) : 0;
}

static int take_end(struct mf_pages *pages, const struct massif_record *record,
		    struct mf_error *err)
{
	static const enum mf_pages_state states[] = {
		[MASSIF_END_EXIT] = MF_PAGES_EXITED,
		[MASSIF_END_SECURE] = MF_PAGES_SECURE,
		[MASSIF_END_UNREADABLE] = MF_PAGES_SECURE,
		[MASSIF_END_MEMORY] = MF_PAGES_REPLACED,
		[MASSIF_END_HIDDEN] = MF_PAGES_HIDDEN,
		[MASSIF_END_TAKEN] = MF_PAGES_TAKEN,
	};
	const struct massif_rec_end *end = (const void *)record;
	struct mf_target *target = find_process(pages, (pid_t)end->tgid);
	enum mf_pages_state state = MF_PAGES_EXITED;

	mf_members_remove(&pages->members, (pid_t)end->tgid);
	if (!target)
		return 0;
	if (end->reason < sizeof(states) / sizeof(states[0]) && states[end->reason])
		state = states[end->reason];
	target->left = state;
	return 0;
}

/*
 * For each target that lost records, the module writes a LOST record before the target's next record. The gap in the
 * sequence numbers may be seen earlier, but does not say which target it concerns.
 */
static int take_lost(struct mf_pages *pages, const struct massif_record *record,
		     struct mf_error *err)
{
	const struct massif_rec_lost *lost = (const void *)record;
	struct mf_target *target;
	int code = 0;

	pages->unexplained -= lost->count < pages->unexplained ? lost->count : pages->unexplained;
	pages->resync_wanted = true;
	for_each_target(pages, target)
	{
		if (!code && (!record->target || target->number == record->target))
			code = mf_target_lost(target, lost, err);
	}
	return code;
}

static int take_resync_begin(struct mf_pages *pages, const struct massif_record *record,
			     struct mf_error *err)
{
	const struct massif_rec_resync *begin = (const void *)record;
	struct mf_target *target = find_target(pages, record->target);
	uint32_t room = begin->count < VMAS_MAX ? begin->count : VMAS_MAX;

	free(pages->resync);
	pages->resync = NULL;
	pages->resync_target = target;
	if (!target)
		return 0;
	pages->resync = calloc(1, sizeof(*pages->resync) + room * sizeof(pages->resync->vmas[0]));
	if (!pages->resync)
		return mf_error_set(err, -ENOMEM, "no memory for a list of mappings");
	pages->resync_room = room;
	return 0;
}

static int take_vma(struct mf_pages *pages, const struct massif_record *record,
		    struct mf_error *err)
{
	const struct massif_rec_vma *vma = (const void *)record;
	struct mf_resync *resync = pages->resync;
	uint64_t device = (uint64_t)vma->dev_major << 32 | vma->dev_minor;
	uint32_t name;
	int code = mf_target_check_range(record, vma->addr, vma->len, err);

	if (code)
		return code;
	if (!resync || pages->resync_target->number != record->target ||
	    resync->n_vmas >= pages->resync_room)
		return 0;
	name = mf_files_intern(&pages->common.files, vma->name, device, vma->ino);
	if (vma->prot & MASSIF_PROT_FILE && vma->prot & MASSIF_PROT_EXEC)
		mf_files_mapped(&pages->common.files, name, pages->resync_target->process.pid,
				vma->addr, vma->addr + vma->len);
	resync->vmas[resync->n_vmas++] = (struct mf_resync_vma){
		.start = vma->addr,
		.end = vma->addr + vma->len,
		.offset = vma->prot & MASSIF_PROT_FILE ? vma->pgoff * PAGE_BYTES : 0,
		.file = vma->prot & MASSIF_PROT_FILE || !strcmp(vma->name, "[vdso]") ? name : 0,
		.name = name,
	};
	return 0;
}

static int take_resync_end(struct mf_pages *pages, const struct massif_record *record,
			   struct mf_error *err)
{
	static const enum mf_resync_reason reasons[] = {
		[MASSIF_RESYNC_ENROL] = MF_RESYNC_EXEC, [MASSIF_RESYNC_FORK] = MF_RESYNC_FORK,
		[MASSIF_RESYNC_EXEC] = MF_RESYNC_EXEC,	[MASSIF_RESYNC_LOST] = MF_RESYNC_LOST,
		[MASSIF_RESYNC_ASKED] = MF_RESYNC_LOST, [MASSIF_RESYNC_ATTACH] = MF_RESYNC_ATTACH,
	};
	const struct massif_rec_resync *end = (const void *)record;
	struct mf_resync *resync = mf_take(pages->resync, NULL);

	if (!resync)
		return 0;
	/* Applying an incomplete list would unmap existing mappings. The module will send a complete one. */
	if (pages->resync_target->number != record->target || resync->n_vmas != end->count) {
		free(resync);
		return 0;
	}
	resync->start = end->start;
	resync->end = end->end;
	resync->last = end->part & MASSIF_RESYNC_LAST;
	resync->reason = end->reason < sizeof(reasons) / sizeof(reasons[0]) ? reasons[end->reason]
									    : MF_RESYNC_LOST;
	return mf_target_resync(pages->resync_target, resync, end->part & MASSIF_RESYNC_FIRST,
				record, err);
}

static int take_map(struct mf_pages *pages, const struct massif_record *record,
		    struct mf_error *err)
{
	struct mf_target *target = find_target(pages, record->target);

	return target ? mf_target_map(target, (const void *)record, err) : 0;
}

static int take_resident(struct mf_pages *pages, const struct massif_record *record,
			 struct mf_error *err)
{
	struct mf_target *target = find_target(pages, record->target);

	return target ? mf_target_resident(target, (const void *)record, err) : 0;
}

static int take_move(struct mf_pages *pages, const struct massif_record *record,
		     struct mf_error *err)
{
	struct mf_target *target = find_target(pages, record->target);

	return target ? mf_target_move(target, (const void *)record, err) : 0;
}

static int take_name(struct mf_pages *pages, const struct massif_record *record,
		     struct mf_error *err)
{
	struct mf_target *target = find_target(pages, record->target);

	return target ? mf_target_name(target, (const void *)record, err) : 0;
}

static int take_stack(struct mf_pages *pages, const struct massif_record *record,
		      struct mf_error *err)
{
	struct mf_target *target = find_target(pages, record->target);

	return target ? mf_target_stack(target, (const void *)record, err) : 0;
}

static int (*const handlers[])(struct mf_pages *pages, const struct massif_record *record,
			       struct mf_error *err) = {
	[MASSIF_REC_LOST] = take_lost,
	[MASSIF_REC_ENROL] = take_enrol,
	[MASSIF_REC_FORK] = take_fork,
	[MASSIF_REC_EXEC] = take_exec,
	[MASSIF_REC_EXIT] = take_exit,
	[MASSIF_REC_END] = take_end,
	[MASSIF_REC_RESYNC_BEGIN] = take_resync_begin,
	[MASSIF_REC_VMA] = take_vma,
	[MASSIF_REC_RESYNC_END] = take_resync_end,
	[MASSIF_REC_MAP] = take_map,
	[MASSIF_REC_UNMAP] = take_map,
	[MASSIF_REC_NAME] = take_name,
	[MASSIF_REC_STACK] = take_stack,
	[MASSIF_REC_RESIDENT] = take_resident,
	[MASSIF_REC_MOVE] = take_move,
	[MASSIF_REC_ATTACH] = take_attach,
	[MASSIF_REC_ARGS] = take_args,
};

static int take_in(struct mf_pages *pages, const struct massif_record *record, uint64_t gap,
		   struct mf_error *err)
{
	struct mf_target *target;
	int code;

	pages->now_ns = record->time_ns;
	pages->unexplained += gap;
	if (record->type >= sizeof(handlers) / sizeof(handlers[0]) || !handlers[record->type])
		return 0; /* a record type from a newer module, which accounting does not need */
	code = handlers[record->type](pages, record, err);
	target = find_target(pages, record->target);
	if (target)
		target->seen_ns = record->time_ns;
	return code;
}

/* Ends the profiles of processes that have left their targets. */
static int settle(struct mf_pages *pages, struct mf_error *err)
{
	struct mf_target *target;
	int code = 0;

	for_each_target(pages, target)
	{
		/* The session is over, so every process has exited, even if its EXIT record was lost. */
		if (pages->done && target->left == MF_PAGES_RUNNING)
			target->left = MF_PAGES_EXITED;
		if (pages->done && pages->unexplained && !target->exited)
			mf_target_note_loss(target, pages->unexplained, pages->now_ns);
		if (!code && target->left != MF_PAGES_RUNNING && (target->exited || pages->done))
			code = mf_target_finish(target, target->left, pages->now_ns, err);
	}
	return code;
}

static int flush(struct mf_pages *pages, struct mf_error *err)
{
	struct mf_target *target;
	int code = 0;

	for_each_target(pages, target) if (!code) code = mf_target_flush(target, err);
	return code;
}

static int drain(struct mf_pages *pages, struct mf_error *err)
{
	const struct massif_record *record;
	uint64_t gap;
	int code;

	for (;;) {
		code = mf_ring_next(&pages->ring, &record, &gap, err);
		if (code || !record)
			break;
		code = take_in(pages, record, gap, err);
		if (code)
			break;
		mf_ring_advance(&pages->ring, record);
	}
	mf_ring_publish(&pages->ring);
	mf_ring_tell_now(&pages->ring);
	return code;
}

static int dump(struct mf_pages *pages, const char *moment, struct mf_error *err)
{
	struct mf_target *target;
	int code = 0;

	for_each_target(pages, target) if (!code && target->left == MF_PAGES_RUNNING) code =
		mf_target_dump(target, moment, err);
	mf_dump_done(pages->common.dump_path);
	return code;
}

int mf_pages_drain(struct mf_pages *pages, struct mf_error *err)
{
	/* Test for a hang-up before reading the ring: no record can follow a hang-up. */
	bool hung_up = mf_ring_hung_up(&pages->ring);
	/*
	 * Also check for a dump request before reading: the test has stopped the program, so the ring contains
	 * everything up to the dump.
	 */
	char moment[MF_DUMP_MOMENT_MAX];
	bool dumps = pages->common.dump_path && mf_dump_is_wanted(pages->common.dump_path, moment);
	int code = drain(pages, err);

	if (!code && dumps)
		code = dump(pages, moment, err);
	if (code)
		return code;
	if (pages->resync_wanted)
		pages->resync_wanted = mf_ring_resync(&pages->ring) > 0;
	if (hung_up) {
		pages->done = true;
		code = flush(pages, err);
		if (code)
			return code;
	}
	return settle(pages, err);
}

bool mf_pages_done(const struct mf_pages *pages)
{
	return pages->done;
}

int mf_pages_end(struct mf_pages *pages, struct mf_error *err)
{
	struct mf_target *target;
	int code = mf_pages_drain(pages, err), more;

	/* Account the waiting events even after an error, to keep what was recorded before the error. */
	more = flush(pages, code ? NULL : err);
	code = code ? code : more;
	for_each_target(pages, target)
	{
		enum mf_pages_state state = target->exited ? MF_PAGES_EXITED : MF_PAGES_STOPPED;

		more = mf_target_finish(target, state, pages->now_ns, code ? NULL : err);
		code = code ? code : more;
	}
	return code;
}

struct mf_pages_process *mf_pages_next_ended(struct mf_pages *pages)
{
	struct mf_target *target;

	for_each_target(pages, target)
	{
		if (target->reported || target->process.state == MF_PAGES_RUNNING)
			continue;
		target->reported = true;
		return &target->process;
	}
	return NULL;
}

static struct mf_target *target_of(struct mf_pages_process *process)
{
	return (struct mf_target *)((char *)process - offsetof(struct mf_target, process));
}

void mf_pages_release(struct mf_pages *pages, struct mf_pages_process *process)
{
	remove_target(pages, target_of(process));
}

size_t mf_pages_count(const struct mf_pages *pages)
{
	struct mf_target *target;
	size_t n = 0;

	for_each_target(pages, target) n++;
	return n;
}

const struct mf_pages_process *mf_pages_process(const struct mf_pages *pages, size_t index)
{
	struct mf_target *target;

	for_each_target(pages, target) if (!index--) return &target->process;
	return NULL;
}
