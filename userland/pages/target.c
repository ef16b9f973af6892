// SPDX-License-Identifier: GPL-2.0
// One target: turns its records into events, and computes the results when the target ends.

#include "pages/target.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "pages/dump.h"
#include "pages/event.h"
#include "pages/wait.h"
#include "report/context_filter.h"

static bool judge_counts(void *context_filter, uint32_t context)
{
	return mf_context_filter_counts(context_filter, context, NULL);
}

int mf_target_create(struct mf_target_common *common, const struct mf_model_options *options,
		     uint32_t number, pid_t pid, uint64_t time_ns, struct mf_target **target,
		     struct mf_error *err)
{
	struct mf_target *made = calloc(1, sizeof(*made));
	int code;

	if (!made)
		return mf_error_set(err, -ENOMEM, "no memory for a profile");
	code = mf_accounting_create(options, &common->files, time_ns, &made->accounting, err);
	if (code) {
		free(made);
		return code;
	}
	mf_accounting_show(made->accounting, common->what);
	if (common->filter && common->what == MF_PAGES_VIRTUAL) {
		code = mf_context_filter_create(&made->accounting->store, true, common->filter,
				       common->names, &made->context_filter, err);
		if (code) {
			mf_accounting_destroy(made->accounting);
			free(made);
			return code;
		}
		mf_accounting_ask(made->accounting, judge_counts, made->context_filter);
	}
	made->common = common;
	made->number = number;
	made->last = &made->first;
	made->process.pid = pid;
	made->process.start_ns = time_ns;
	made->seen_ns = time_ns;
	made->process.store = &made->accounting->store;
	*target = made;
	return 0;
}

void mf_target_destroy(struct mf_target *target)
{
	while (target->first)
		mf_event_pop(target);
	mf_unwinder_destroy(target->unwinder);
	mf_stack_cache_destroy(target->known);
	mf_context_filter_destroy(target->context_filter);
	mf_accounting_destroy(target->accounting);
	free(target->process.cmd);
	free(target->process.path);
	free(target);
}

static int no_memory(struct mf_error *err)
{
	return mf_error_set(err, -ENOMEM, "no memory for the events of a process");
}

/* Upper limit of user addresses: user space is at most half of a 57-bit address space. */
#define ADDRESSES (1ull << 56)

static bool bad_range(uint64_t start, uint64_t length)
{
	return !length || (start | length) % MF_PAGE_BYTES || length > ADDRESSES || start > ADDRESSES - length;
}

int mf_target_check_range(const struct massif_record *record, uint64_t start, uint64_t length,
			  struct mf_error *err)
{
	if (!bad_range(start, length))
		return 0;
	return mf_error_set(err, -EPROTO,
			    "record %" PRIu64 " of massif.ko (type %u) contains an impossible address "
			    "range: %#" PRIx64 ", %#" PRIx64 " bytes",
			    (uint64_t)record->seq, record->type, start, length);
}

int mf_target_map(struct mf_target *target, const struct massif_rec_map *map, struct mf_error *err)
{
	bool unmap = map->h.type == MASSIF_REC_UNMAP;
	struct mf_event *event;
	int code = mf_target_check_range(&map->h, map->addr, map->len, err);

	if (code)
		return code;
	event = mf_event_append(target, unmap ? MF_EVENT_UNMAP : MF_EVENT_MAP, &map->h);
	if (!event)
		return no_memory(err);
	event->start = map->addr;
	event->end = map->addr + map->len;
	event->kind = map->kind;
	/* An UNMAP needs no stack: its bytes are subtracted from the contexts that mapped them. */
	if (unmap) {
		event->capture = mf_wait_open_capture(target, map->h.tid);
	} else if (event->capture) {
		event->wait = mf_wait_for(target, event->capture, map->h.tid);
		if (!event->wait)
			return no_memory(err);
		event->wait->n_events++;
	}
	return mf_event_run(target, err);
}

int mf_target_name(struct mf_target *target, const struct massif_rec_vma *name,
		   struct mf_error *err)
{
	uint64_t device = (uint64_t)name->dev_major << 32 | name->dev_minor;
	struct mf_event *event;
	int code = mf_target_check_range(&name->h, name->addr, name->len, err);

	if (code)
		return code;
	event = mf_event_append(target, MF_EVENT_NAME, &name->h);
	if (!event)
		return no_memory(err);
	event->start = name->addr;
	event->end = name->addr + name->len;
	event->name.file = mf_files_intern(&target->common->files, name->name, device, name->ino);
	event->name.offset = name->pgoff * MF_PAGE_BYTES;
	if (name->prot & MASSIF_PROT_EXEC)
		mf_files_mapped(&target->common->files, event->name.file, target->process.pid,
				event->start, event->end);
	return mf_event_run(target, err);
}

int mf_target_stack(struct mf_target *target, const struct massif_rec_stack *stack,
		    struct mf_error *err)
{
	struct mf_stack_wait *wait = target->waits;

	while (wait && wait->capture != stack->h.capture)
		wait = wait->next;
	/*
	 * If no event is waiting for the stack, either it was copied for an unmapping, or we have stopped waiting for
	 * it.
	 */
	if (!wait || wait->state != MF_WAIT_OPEN)
		return 0;

	/*
	 * If the event that waits for the stack is the next one, unwind the stack now: the mappings are the same as
	 * when it was copied. Otherwise keep the copy.
	 */
	if (!target->blocked && target->first->wait == wait) {
		mf_wait_resolve(target, wait, stack);
		return mf_event_run(target, err);
	}
	wait->held = malloc(stack->h.size);
	if (!wait->held)
		return no_memory(err);
	memcpy(wait->held, stack, stack->h.size);
	wait->state = MF_WAIT_HELD;
	target->common->held_bytes += stack->h.size;
	return mf_event_run(target, err);
}

int mf_target_resident(struct mf_target *target, const struct massif_rec_resident *resident,
		       struct mf_error *err)
{
	struct mf_event *event;
	int code = resident->len ? mf_target_check_range(&resident->h, resident->addr, resident->len, err) : 0;

	if (code)
		return code;
	event = mf_event_append(target, MF_EVENT_RESIDENT, &resident->h);
	if (!event)
		return no_memory(err);
	event->start = resident->addr;
	event->end = resident->addr + resident->len;
	event->resident = malloc(sizeof(*resident));
	if (!event->resident)
		return no_memory(err);
	memcpy(event->resident, resident, sizeof(*resident));
	if (event->capture) {
		event->wait = mf_wait_for(target, event->capture, resident->h.tid);
		if (!event->wait)
			return no_memory(err);
		event->wait->n_events++;
	}
	return mf_event_run(target, err);
}

int mf_target_move(struct mf_target *target, const struct massif_rec_move *move,
		   struct mf_error *err)
{
	struct mf_event *event;
	int code = mf_target_check_range(&move->h, move->addr, move->len, err);

	if (code)
		return code;
	event = mf_event_append(target, MF_EVENT_MOVE, &move->h);
	if (!event)
		return no_memory(err);
	event->start = move->addr;
	event->end = move->addr + move->len;
	event->from = move->from;
	return mf_event_run(target, err);
}

int mf_target_exit(struct mf_target *target, const struct massif_rec_exit *end,
		   struct mf_error *err)
{
	if (!mf_event_append(target, MF_EVENT_EXIT, &end->h))
		return no_memory(err);
	mf_wait_give_up(target);
	return mf_event_run(target, err);
}

int mf_target_fork(struct mf_target *target, struct mf_target *child,
		   const struct massif_record *record, struct mf_error *err)
{
	struct mf_event *event = mf_event_append(target, MF_EVENT_FORK, record);

	if (!event)
		return no_memory(err);
	event->child = child;
	child->blocked = true;
	return mf_event_run(target, err);
}

int mf_target_resync(struct mf_target *target, struct mf_resync *resync, bool first_part,
		     const struct massif_record *record, struct mf_error *err)
{
	mf_auto_free struct mf_resync *owned = resync;
	struct mf_event *event = mf_event_append(target, MF_EVENT_RESYNC, record);

	if (!event)
		return no_memory(err);
	event->resync.resync = mf_take(owned, NULL);
	event->resync.first_part = first_part;
	event->start = resync->start;
	event->end = resync->end;
	return mf_event_run(target, err);
}

void mf_target_note_loss(struct mf_target *target, uint64_t count, uint64_t time_ns)
{
	struct mf_pages_process *process = &target->process;
	struct mf_pages_loss *last =
		process->n_losses ? &process->losses[process->n_losses - 1] : NULL;

	process->lost += count;
	if (last && (process->n_losses == MF_PAGES_LOSSES_MAX ||
		     target->seen_ns < last->to_ns + MF_PAGES_LOSS_GAP_NS)) {
		last->to_ns = time_ns;
		last->count += count;
		return;
	}
	process->losses[process->n_losses++] = (struct mf_pages_loss){
		.from_ns = target->seen_ns,
		.to_ns = time_ns,
		.count = count,
	};
}

int mf_target_lost(struct mf_target *target, const struct massif_rec_lost *lost,
		   struct mf_error *err)
{
	struct mf_event *event;

	/*
	 * The LOST record is not about one particular target: it reports lost records of targets that have ended, or a
	 * forked child that could not be followed because memory ran out. This target may have ended with its EXIT
	 * record lost. So the loss is recorded for this target too, unless its EXIT record has been processed.
	 */
	if (!lost->h.target && lost->reason != MASSIF_LOST_MISSED) {
		if (!target->exited)
			mf_target_note_loss(target, lost->count, lost->h.time_ns);
		return 0;
	}
	mf_target_note_loss(target, lost->count, lost->h.time_ns);
	event = mf_event_append(target, MF_EVENT_LOST, NULL);
	if (!event)
		return no_memory(err);
	event->time_ns = lost->h.time_ns;
	mf_wait_give_up(target);
	return mf_event_run(target, err);
}

int mf_target_flush(struct mf_target *target, struct mf_error *err)
{
	mf_wait_give_up(target);
	return mf_event_run(target, err);
}

int mf_target_finish(struct mf_target *target, enum mf_pages_state state, uint64_t time_ns,
		     struct mf_error *err)
{
	struct mf_pages_process *process = &target->process;

	if (process->state != MF_PAGES_RUNNING)
		return 0;
	process->state = state;
	if (!target->exited)
		process->end_ns = time_ns;
	process->exact = state == MF_PAGES_EXITED && target->exited && !process->lost &&
			 !process->mismatches && process->model_pages == process->kernel_pages;
	if (!target->common->dump_path || state == MF_PAGES_REPLACED || state == MF_PAGES_SECURE ||
	    state == MF_PAGES_SKIPPED)
		return 0;
	return mf_target_dump(target, "", err);
}

int mf_target_dump(const struct mf_target *target, const char *moment, struct mf_error *err)
{
	struct mf_pages_process now = target->process;

	if (moment[0])
		now.kernel_pages = target->kernel_pages;
	return mf_dump_intervals(target->common->dump_path, &now, moment,
				 &target->accounting->space, err);
}
