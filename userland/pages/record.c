// SPDX-License-Identifier: GPL-2.0
// Applies the records of the ring to the targets and processes of a session.

#include "pages/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "pages/pages.h"
#include "pages/pages_state.h"

/* Maximum number of VMAs in one part of a resync; the module writes far fewer. */
#define VMAS_MAX (1u << 20)

#define PAGE_BYTES 4096ull

static int add_target(struct mf_pages *pages, uint32_t number, pid_t pid, uint64_t time_ns,
		      struct mf_target **target, struct mf_error *err)
{
	int code;

	if (mf_targets_find(&pages->targets, number))
		return mf_error_set(err, -EPROTO, "massif.ko used target number %u twice", number);
	code = mf_target_create(&pages->common, &pages->model, number, pid, time_ns, target, err);
	if (!code)
		mf_targets_add(&pages->targets, *target);
	return code;
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

	/* The address space already has a target: @pid shares it with another process. */
	if (mf_targets_find(&pages->targets, record->target))
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
	struct mf_target *former = mf_targets_find_process(&pages->targets, pid), *target;
	bool wanted = is_wanted(pages, pid), first = !pages->started;
	pid_t parent = former ? former->process.parent : 0;
	int code;

	/* The process is executing another program. Like Massif, drop the previous program's profile. */
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
	target->process.parent = parent;
	target->executed = !first;
	memcpy(target->process.comm, exec->comm, sizeof(target->process.comm) - 1);
	if (record->size > sizeof(*exec) && exec->path[0]) {
		target->process.path = strdup(exec->path);
		if (!target->process.path)
			return out_of_memory(err);
	}
	return mf_members_add(&pages->members, pid) ? out_of_memory(err) : 0;
}

/* Joins the NUL-terminated arguments in the @n_bytes of @args with spaces. Returns NULL if out of memory. */
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
	struct mf_target *target = mf_targets_find(&pages->targets, record->target);
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
	struct mf_target *parent = mf_targets_find(&pages->targets, record->target), *child;
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
	child->process.parent = (pid_t)fork->parent_tgid;
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
	struct mf_target *target = mf_targets_find(&pages->targets, record->target);

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
	struct mf_target *target = mf_targets_find_process(&pages->targets, (pid_t)end->tgid);
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
 * For each target that lost records, the module writes a LOST record before the target's next record. A gap in the
 * sequence numbers may be noticed earlier, but it does not show which target lost records.
 */
static int take_lost(struct mf_pages *pages, const struct massif_record *record,
		     struct mf_error *err)
{
	const struct massif_rec_lost *lost = (const void *)record;
	struct mf_target *target;
	int code = 0;

	pages->unexplained -= lost->count < pages->unexplained ? lost->count : pages->unexplained;
	pages->resync_wanted = true;
	mf_targets_each(&pages->targets, target)
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
	struct mf_target *target = mf_targets_find(&pages->targets, record->target);
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
	/*
	 * Applying an incomplete list of mappings would unmap existing mappings. The module will send a complete list.
	 */
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
	struct mf_target *target = mf_targets_find(&pages->targets, record->target);

	return target ? mf_target_map(target, (const void *)record, err) : 0;
}

static int take_resident(struct mf_pages *pages, const struct massif_record *record,
			 struct mf_error *err)
{
	struct mf_target *target = mf_targets_find(&pages->targets, record->target);

	return target ? mf_target_resident(target, (const void *)record, err) : 0;
}

static int take_move(struct mf_pages *pages, const struct massif_record *record,
		     struct mf_error *err)
{
	struct mf_target *target = mf_targets_find(&pages->targets, record->target);

	return target ? mf_target_move(target, (const void *)record, err) : 0;
}

static int take_name(struct mf_pages *pages, const struct massif_record *record,
		     struct mf_error *err)
{
	struct mf_target *target = mf_targets_find(&pages->targets, record->target);

	return target ? mf_target_name(target, (const void *)record, err) : 0;
}

static int take_stack(struct mf_pages *pages, const struct massif_record *record,
		      struct mf_error *err)
{
	struct mf_target *target = mf_targets_find(&pages->targets, record->target);

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

int mf_record_apply(struct mf_pages *pages, const struct massif_record *record, uint64_t gap,
		    struct mf_error *err)
{
	struct mf_target *target;
	int code;

	pages->now_ns = record->time_ns;
	pages->unexplained += gap;
	if (record->type >= sizeof(handlers) / sizeof(handlers[0]) || !handlers[record->type])
		return 0; /* a record type from a newer module, which accounting does not need */
	code = handlers[record->type](pages, record, err);
	target = mf_targets_find(&pages->targets, record->target);
	if (target)
		target->seen_ns = record->time_ns;
	return code;
}
