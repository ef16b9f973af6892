// SPDX-License-Identifier: GPL-2.0
// Pages mode, the aggregator's half: which records belong to which process, and what becomes of it.

#include "pages/pages.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "pages/ring.h"
#include "pages/target.h"

/*
 * The ring holds what happens while the aggregator does not run. An event with its stack is some
 * 8 KiB; on a busy machine with two processors a thousand of them passed before the aggregator's
 * turn came. So it is as large as it may be, or as there is memory for.
 */
#define RING_BYTES_MOST	 ((uint64_t)MASSIF_RING_MAX)
#define RING_BYTES_LEAST (1ull << 20)
#define HELD_BYTES_MAX	   (64ull << 20)

/* Frames captured beyond those that a report keeps: alloc-fns are cut off later. As in Massif. */
#define FRAMES_BEYOND_DEPTH 50

#define BUCKETS	   256
#define PAGE_BYTES 4096ull

/* VMAs in one part of a resync; the module writes far fewer. */
#define VMAS_MAX (1u << 20)

struct mf_pages {
	struct mf_ring ring;
	struct mf_model_options model;
	struct mf_target_common common;
	struct mf_target *buckets[BUCKETS]; /* the profiled address spaces, by number */
	pid_t launched;			    /* the process that enrolled; 0: none yet */
	bool started;			    /* it has executed the program */
	bool resync_wanted;
	bool done;
	uint64_t unexplained; /* records missing by seq that no LOST has told of yet */
	uint64_t now_ns;      /* time of the last record */

	/* The part of a resync that is being read; NULL: none, or of no interest. */
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

/* The target in which process @pid runs and was started, or forked, to run. */
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

static struct mf_pages *create(const struct mf_pages_options *options)
{
	struct mf_pages *pages = calloc(1, sizeof(*pages));
	uint32_t frames = options->depth + FRAMES_BEYOND_DEPTH;

	if (!pages)
		return NULL;
	pages->ring.fd = -1;
	pages->model = options->model;
	pages->common.frames = frames < MF_UNWIND_FRAMES_MAX ? frames : MF_UNWIND_FRAMES_MAX;
	pages->common.dump_path = getenv("MASSIF_DUMP_INTERVALS");
	pages->common.held_bytes_max = HELD_BYTES_MAX;
	mf_files_init(&pages->common.files);
	return pages;
}

static int open_ring(struct mf_ring *ring, const struct mf_pages_options *options,
		     struct mf_error *err)
{
	const char *device = options->device ? options->device : MASSIF_DEVICE;
	uint64_t bytes = options->ring_bytes ? options->ring_bytes : RING_BYTES_MOST;
	int code;

	for (;;) {
		code = mf_ring_open(ring, device, bytes, MASSIF_STACK_MAX, err);
		if (code != -ENOMEM || options->ring_bytes || bytes <= RING_BYTES_LEAST)
			return code;
		bytes /= 2;
	}
}

int mf_pages_open(const struct mf_pages_options *options, struct mf_pages **pages,
		  struct mf_error *err)
{
	struct mf_pages *made = create(options);
	int code;

	if (!made)
		return mf_error_set(err, -ENOMEM, "no memory for a session");
	code = open_ring(&made->ring, options, err);
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
	free(pages);
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
			"massif.ko does not let this process be profiled: it must run as "
			"the user who opened %s and be dumpable",
			MASSIF_DEVICE);
	case -EBUSY:
		return mf_error_set(err, code, "the process is in another massif session already");
	default:
		return mf_error_set(err, code, "massif.ko cannot enrol the process: %s",
				    strerror(-code));
	}
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

static int take_exec(struct mf_pages *pages, const struct massif_record *record,
		     struct mf_error *err)
{
	const struct massif_rec_exec *exec = (const void *)record;
	struct mf_target *target = find_process(pages, (pid_t)exec->tgid);
	int code;

	/* Another program: as in Massif the profile of the former one is dropped. */
	if (target) {
		target->left = MF_PAGES_REPLACED;
		memcpy(target->process.comm, exec->comm, sizeof(target->process.comm) - 1);
	}
	if (pages->started || (pid_t)exec->tgid != pages->launched)
		return 0;
	code = add_target(pages, record->target, pages->launched, record->time_ns, &target, err);
	if (code)
		return code;
	pages->started = true;
	target->process.launched = true;
	memcpy(target->process.comm, exec->comm, sizeof(target->process.comm) - 1);
	return 0;
}

static int take_fork(struct mf_pages *pages, const struct massif_record *record,
		     struct mf_error *err)
{
	const struct massif_rec_fork *fork = (const void *)record;
	struct mf_target *parent = find_target(pages, record->target), *child;
	int code;

	if (!parent || fork->child == record->target)
		return 0;
	code = add_target(pages, fork->child, (pid_t)fork->child_tgid, record->time_ns, &child,
			  err);
	if (code)
		return code;
	memcpy(child->process.comm, parent->process.comm, sizeof(child->process.comm));
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
	};
	const struct massif_rec_end *end = (const void *)record;
	struct mf_target *target = find_process(pages, (pid_t)end->tgid);
	enum mf_pages_state state = MF_PAGES_EXITED;

	if (!target)
		return 0;
	if (end->reason < sizeof(states) / sizeof(states[0]) && states[end->reason])
		state = states[end->reason];
	target->left = state;
	return 0;
}

/* Tells the targets concerned that records are missing. */
static int lose(struct mf_pages *pages, uint32_t number, uint64_t count, uint64_t time_ns,
		struct mf_error *err)
{
	struct mf_target *target;
	int code = 0;

	pages->resync_wanted = true;
	for_each_target(pages, target) if (!code && (!number || target->number == number)) code =
		mf_target_lost(target, count, time_ns, err);
	return code;
}

static int take_lost(struct mf_pages *pages, const struct massif_record *record,
		     struct mf_error *err)
{
	const struct massif_rec_lost *lost = (const void *)record;
	uint64_t known = lost->count < pages->unexplained ? lost->count : pages->unexplained;

	/* What the gap in seq has told already is not counted again. */
	if (lost->reason != MASSIF_LOST_ROOM)
		known = 0;
	pages->unexplained -= known;
	return lose(pages, record->target, lost->count - known, record->time_ns, err);
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

	if (!resync || pages->resync_target->number != record->target ||
	    resync->n_vmas >= pages->resync_room)
		return 0;
	name = mf_files_intern(&pages->common.files, vma->name, device, vma->ino);
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
		[MASSIF_RESYNC_ASKED] = MF_RESYNC_LOST,
	};
	const struct massif_rec_resync *end = (const void *)record;
	struct mf_resync *resync = mf_take(pages->resync, NULL);

	if (!resync)
		return 0;
	/* A list with holes would unmap what is there: the module will send a whole one. */
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
};

static int take_in(struct mf_pages *pages, const struct massif_record *record, uint64_t gap,
		   struct mf_error *err)
{
	int code;

	pages->now_ns = record->time_ns;
	if (gap && record->type != MASSIF_REC_LOST) {
		pages->unexplained += gap;
		code = lose(pages, 0, gap, record->time_ns, err);
		if (code)
			return code;
	}
	if (record->type >= sizeof(handlers) / sizeof(handlers[0]) || !handlers[record->type])
		return 0; /* of a newer module; nothing that accounting needs */
	return handlers[record->type](pages, record, err);
}

/* Notes which profiles have ended. */
static int settle(struct mf_pages *pages, struct mf_error *err)
{
	struct mf_target *target;
	int code = 0;

	for_each_target(pages, target)
	{
		/* The session is over: whatever is left has exited, even if a record is lost. */
		if (pages->done && target->left == MF_PAGES_RUNNING)
			target->left = MF_PAGES_EXITED;
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
	return code;
}

int mf_pages_drain(struct mf_pages *pages, struct mf_error *err)
{
	/* Before reading: nothing can come after it. */
	bool hung_up = mf_ring_hung_up(&pages->ring);
	int code = drain(pages, err);

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

	/* Also after an error, so that what was seen until then is not lost. */
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
