// SPDX-License-Identifier: GPL-2.0
// The events of an address space, and how they are accounted for.

#include "pages/event.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "pages/target.h"
#include "pages/wait.h"

void mf_event_pop(struct mf_target *target)
{
	struct mf_event *event = target->first;

	target->first = event->next;
	if (!target->first)
		target->last = &target->first;
	if (event->wait)
		mf_wait_release(target, event->wait);
	if (event->type == MF_EVENT_RESYNC)
		free(event->resync.resync);
	if (event->type == MF_EVENT_RESIDENT)
		free(event->resident);
	target->common->held_bytes -= sizeof(*event);
	free(event);
}

static uint32_t context_of(struct mf_target *target, const struct mf_event *event)
{
	return mf_wait_context(target, event->wait, event->known, event->flags);
}

/* Compares our total with the kernel's. The two must be equal at every event while the target is in sync. */
static void compare(struct mf_target *target, const struct mf_event *event)
{
	struct mf_pages_process *process = &target->process;

	process->model_pages = target->accounting->space.total / MF_PAGE_BYTES;
	if (!target->in_sync || event->flags & MASSIF_RF_NO_TOTAL)
		return;
	target->kernel_pages = event->total_vm;
	if (process->model_pages != event->total_vm)
		process->mismatches++;
}

/*
 * @copy is the mapping at the destination of an mremap() call. Returns whether @unmap is the same call's removal of its
 * source.
 */
static bool is_source(const struct mf_event *copy, const struct mf_event *unmap)
{
	return unmap && unmap->type == MF_EVENT_UNMAP && unmap->capture == copy->capture &&
	       (unmap->end <= copy->start || unmap->start >= copy->end);
}

static int remove_mapped(struct mf_accounting *a, const struct mf_event *unmap)
{
	return mf_accounting_unmap(a, unmap->start, unmap->end, unmap->flags & MASSIF_RF_GONE,
				   unmap->time_ns);
}

/*
 * Accounts for a move by mremap(). The kernel creates the destination before it removes the source, but counts the
 * memory only once. So we remove the source first, then add a mapping of the same size at the destination. If the
 * mapping also grew, the growth is added as a separate mapping.
 */
static int account_move(struct mf_target *target, struct mf_event *copy, struct mf_event *unmap)
{
	struct mf_accounting *a = target->accounting;
	struct mf_interval interval = {
		.start = copy->start,
		.end = copy->end,
		.context = context_of(target, copy),
	};
	uint64_t moved = unmap->end - unmap->start;
	int code = remove_mapped(a, unmap);

	if (!code && moved < copy->end - copy->start) {
		interval.end = copy->start + moved;
		code = mf_accounting_map(a, &interval, copy->time_ns);
		interval.start = interval.end;
		interval.end = copy->end;
	}
	if (!code)
		code = mf_accounting_map(a, &interval, copy->time_ns);
	target->process.events += 2;
	compare(target, unmap);
	/*
	 * account_move() has accounted for both ends of the move, so remove the UNMAP event of the source from the
	 * queue. The NAME record that follows sets the file of the destination again.
	 */
	copy->next = unmap->next;
	if (!copy->next)
		target->last = &copy->next;
	target->common->held_bytes -= sizeof(*unmap);
	free(unmap);
	return code;
}

static int account_map(struct mf_target *target, struct mf_event *event, struct mf_error *err)
{
	struct mf_interval interval = {.start = event->start, .end = event->end};
	int code;

	if (event->kind == MASSIF_MAP_MREMAP_COPY && event->wait && is_source(event, event->next))
		return account_move(target, event, event->next);
	interval.context = context_of(target, event);
	code = mf_accounting_map(target->accounting, &interval, event->time_ns);
	target->process.events++;
	compare(target, event);
	return code;
}

static int account_unmap(struct mf_target *target, struct mf_event *event, struct mf_error *err)
{
	int code = remove_mapped(target->accounting, event);

	target->process.events++;
	compare(target, event);
	return code;
}

/* Removes the event that follows @event in the queue. */
static void pop_next(struct mf_target *target, struct mf_event *event)
{
	struct mf_event *next = event->next;

	event->next = next->next;
	if (!event->next)
		target->last = &event->next;
	target->common->held_bytes -= sizeof(*next);
	free(next);
}

/* Accounts for a new mapping. If it is the destination of a move, the resident pages move with it. */
static int account_copy(struct mf_target *target, struct mf_event *event, struct mf_error *err)
{
	struct mf_event *move = event->next;
	uint64_t from, length;
	int code;

	if (!move || move->type != MF_EVENT_MOVE)
		return account_map(target, event, err);
	from = move->from;
	length = move->end - move->start;
	pop_next(target, event);
	code = mf_resident_lift(&target->accounting->resident, from, length);
	if (!code)
		code = account_map(target, event, err);
	return code ? code : mf_accounting_land(target->accounting, from, event->start);
}

static int account_resident(struct mf_target *target, struct mf_event *event, struct mf_error *err)
{
	bool explained = event->capture || event->known;
	uint32_t site = explained ? context_of(target, event) : 0;

	return mf_accounting_resident(target->accounting, event->resident, site);
}

/* Accounts for a MOVE event (mremap has moved resident pages) if the MAP record of the destination was lost. */
static int account_move_only(struct mf_target *target, struct mf_event *event,
			     struct mf_error *err)
{
	struct mf_accounting *a = target->accounting;
	int code = mf_resident_lift(&a->resident, event->from, event->end - event->start);

	return code ? code : mf_accounting_land(a, event->from, event->start);
}

static int account_name(struct mf_target *target, struct mf_event *event, struct mf_error *err)
{
	return mf_space_set_file(&target->accounting->space, event->start, event->end,
				 event->name.file, event->name.offset);
}

static int account_resync(struct mf_target *target, struct mf_event *event, struct mf_error *err)
{
	const struct mf_resync *resync = event->resync.resync;
	int code = mf_resync_apply(target->accounting, resync, event->time_ns);

	if (event->resync.first_part)
		target->resyncing = true;
	if (resync->last) {
		target->in_sync |= target->resyncing;
		target->resyncing = false;
		compare(target, event);
	}
	return code;
}

static int account_fork(struct mf_target *target, struct mf_event *event, struct mf_error *err)
{
	struct mf_target *child = event->child;
	int code = mf_accounting_inherit(child->accounting, target->accounting, err);

	child->blocked = false;
	return code;
}

static int account_lost(struct mf_target *target, struct mf_event *event, struct mf_error *err)
{
	target->in_sync = false;
	target->resyncing = false;
	return 0;
}

static int account_exit(struct mf_target *target, struct mf_event *event, struct mf_error *err)
{
	compare(target, event);
	target->process.kernel_pages = event->total_vm;
	target->process.end_ns = event->time_ns;
	target->exited = true;
	return 0;
}

static int (*const account[])(struct mf_target *target, struct mf_event *event,
			      struct mf_error *err) = {
	[MF_EVENT_MAP] = account_copy,	 [MF_EVENT_UNMAP] = account_unmap, [MF_EVENT_NAME] = account_name,
	[MF_EVENT_RESYNC] = account_resync, [MF_EVENT_FORK] = account_fork,	[MF_EVENT_LOST] = account_lost,
	[MF_EVENT_EXIT] = account_exit,
	[MF_EVENT_RESIDENT] = account_resident, [MF_EVENT_MOVE] = account_move_only,
};

int mf_event_run(struct mf_target *target, struct mf_error *err)
{
	while (target->first && !target->blocked) {
		struct mf_event *event = target->first;
		struct mf_target *child = event->type == MF_EVENT_FORK ? event->child : NULL;
		int code;

		if (event->wait && event->wait->state == MF_WAIT_OPEN) {
			if (target->common->held_bytes <= target->common->held_bytes_max)
				return 0;
			mf_wait_resolve(target, event->wait, NULL);
		}
		if (err)
			err->text[0] = '\0';
		code = event->type == MF_EVENT_RESIDENT ?
			       0 :
			       mf_accounting_turn(target->accounting, event->thread);
		if (!code)
			code = account[event->type](target, event, err);
		if (code && err && !err->text[0])
			mf_error_set(err, code,
				     "cannot count what process %d mapped at %#" PRIx64
				     "-%#" PRIx64 ": %s",
				     target->process.pid, event->start, event->end,
				     strerror(-code));
		mf_event_pop(target);
		if (!code && child)
			code = mf_event_run(child, err);
		if (code)
			return code;
	}
	return 0;
}

struct mf_event *mf_event_append(struct mf_target *target, enum mf_event_type type,
				 const struct massif_record *record)
{
	struct mf_event *event = calloc(1, sizeof(*event));

	if (!event)
		return NULL;
	event->type = type;
	if (record) {
		event->flags = record->flags;
		event->thread = record->tid;
		if (record->flags & MASSIF_RF_KNOWN)
			event->known = record->capture;
		else
			event->capture = record->capture;
		event->time_ns = record->time_ns;
		event->total_vm = record->total_vm;
	}
	*target->last = event;
	target->last = &event->next;
	target->common->held_bytes += sizeof(*event);
	return event;
}
