// SPDX-License-Identifier: GPL-2.0
// One address space of the session: its events in order, held back until their stacks have come.

#include "pages/target.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "model/trie.h"
#include "pages/dump.h"

#define PAGE_BYTES 4096ull

enum wait_state {
	WAIT_OPEN,     /* the STACK has not come */
	WAIT_HELD,     /* it has come and is kept until the first event's turn */
	WAIT_RESOLVED, /* its context is known */
};

/* A capture that events of the queue refer to. */
struct mf_stack_wait {
	struct mf_stack_wait *next;
	uint32_t capture, tid;
	uint32_t n_events; /* that refer to it */
	enum wait_state state;
	uint32_t context;
	struct massif_rec_stack *held; /* the whole record */
};

enum event_type {
	EVENT_MAP,
	EVENT_UNMAP,
	EVENT_NAME,
	EVENT_RESYNC,
	EVENT_FORK,
	EVENT_LOST,
	EVENT_EXIT,
};

struct mf_event {
	struct mf_event *next;
	enum event_type type;
	uint32_t flags;	  /* MASSIF_RF_* */
	uint32_t capture; /* of the system call; UNMAP: if another record of it has one */
	uint64_t time_ns;
	uint64_t total_vm; /* pages */
	uint64_t start, end;
	struct mf_stack_wait *wait; /* MAP: for the stack; NULL: there is none to wait for */
	union {
		uint32_t kind; /* MAP: MASSIF_MAP_* */
		struct {
			uint32_t file;
			uint64_t offset;
		} name;
		struct {
			struct mf_resync *resync;
			bool first_part;
		} resync;
		struct mf_target *child; /* FORK */
	};
};

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
	made->common = common;
	made->number = number;
	made->last = &made->first;
	made->process.pid = pid;
	made->process.start_ns = time_ns;
	made->process.store = &made->accounting->store;
	*target = made;
	return 0;
}

static void wait_free(struct mf_target *target, struct mf_stack_wait *wait)
{
	struct mf_stack_wait **link = &target->waits;

	while (*link != wait)
		link = &(*link)->next;
	*link = wait->next;
	if (wait->held)
		target->common->held_bytes -= wait->held->h.size;
	free(wait->held);
	free(wait);
}

static void pop(struct mf_target *target)
{
	struct mf_event *event = target->first;

	target->first = event->next;
	if (!target->first)
		target->last = &target->first;
	if (event->wait && !--event->wait->n_events)
		wait_free(target, event->wait);
	if (event->type == EVENT_RESYNC)
		free(event->resync.resync);
	target->common->held_bytes -= sizeof(*event);
	free(event);
}

void mf_target_destroy(struct mf_target *target)
{
	while (target->first)
		pop(target);
	mf_unwinder_destroy(target->unwinder);
	mf_accounting_destroy(target->accounting);
	free(target);
}

/* The context of @stack, which has registers. */
static uint32_t context_of_stack(struct mf_target *target, const struct massif_rec_stack *stack)
{
	struct mf_accounting *a = target->accounting;
	uint64_t addresses[MF_UNWIND_FRAMES_MAX];
	enum mf_unwind_end end;
	uint32_t n;

	if (!target->unwinder && mf_unwinder_create(&a->space, a->files, &target->unwinder, NULL))
		return mf_accounting_note(a, MF_WORDS_NO_STACK);
	if (a->code_left) {
		mf_unwinder_flush(target->unwinder);
		a->code_left = false;
	}
	n = mf_unwinder_walk(target->unwinder,
			     &(struct mf_user_stack){
				     .regs = (const uint64_t *)stack->regs,
				     .n_regs = stack->nr_regs,
				     .sp = stack->sp,
				     .bytes = (const uint8_t *)stack + stack->data_off,
				     .n_bytes = stack->bytes,
			     },
			     addresses, target->common->frames, &end);
	return mf_accounting_stack(a, addresses, n, end);
}

/* Where there never was a stack: who did it, in words. */
static uint32_t context_of_flags(struct mf_target *target, uint32_t flags)
{
	static const struct {
		uint32_t flag;
		const char *words;
	} words[] = {
		{MASSIF_RF_EXTERNAL, MF_WORDS_EXTERNAL},
		{MASSIF_RF_IN_EXEC, MF_WORDS_EXEC},
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (flags & words[i].flag)
			return mf_accounting_note(target->accounting, words[i].words);
	target->process.no_stack++;
	return mf_accounting_note(target->accounting, MF_WORDS_NO_STACK);
}

static void resolve(struct mf_target *target, struct mf_stack_wait *wait,
		    const struct massif_rec_stack *stack)
{
	if (stack && stack->nr_regs && stack->arch == MF_UNWIND_ARCH)
		wait->context = context_of_stack(target, stack);
	else
		wait->context = context_of_flags(target, 0);
	wait->state = WAIT_RESOLVED;
}

static uint32_t context_of_event(struct mf_target *target, const struct mf_event *event)
{
	struct mf_stack_wait *wait = event->wait;

	if (!wait)
		return context_of_flags(target, event->flags);
	if (wait->state == WAIT_HELD)
		resolve(target, wait, wait->held);
	return wait->context;
}

/* The figure that must hold: our total is the kernel's, at every event. */
static void compare(struct mf_target *target, const struct mf_event *event)
{
	struct mf_pages_process *process = &target->process;

	process->model_pages = target->accounting->space.total / PAGE_BYTES;
	if (target->in_sync && !(event->flags & MASSIF_RF_NO_TOTAL) &&
	    process->model_pages != event->total_vm)
		process->mismatches++;
}

/* Whether @unmap takes away what @copy was made of. */
static bool is_source(const struct mf_event *copy, const struct mf_event *unmap)
{
	return unmap && unmap->type == EVENT_UNMAP && unmap->capture == copy->capture &&
	       (unmap->end <= copy->start || unmap->start >= copy->end);
}

/*
 * A move by mremap: the kernel makes the copy first but counts it only once. So the source goes
 * first, as much is added at the new place, then, as a region of its own, what it grew by.
 */
static int account_move(struct mf_target *target, struct mf_event *copy, struct mf_event *unmap)
{
	struct mf_accounting *a = target->accounting;
	struct mf_interval interval = {
		.start = copy->start,
		.end = copy->end,
		.context = context_of_event(target, copy),
	};
	uint64_t moved = unmap->end - unmap->start;
	int code = mf_accounting_unmap(a, unmap->start, unmap->end, unmap->time_ns);

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
	/* The file that is mapped stays the same, but its NAME comes again. */
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
	interval.context = context_of_event(target, event);
	code = mf_accounting_map(target->accounting, &interval, event->time_ns);
	target->process.events++;
	compare(target, event);
	return code;
}

static int account_unmap(struct mf_target *target, struct mf_event *event, struct mf_error *err)
{
	int code =
		mf_accounting_unmap(target->accounting, event->start, event->end, event->time_ns);

	target->process.events++;
	compare(target, event);
	return code;
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
	[EVENT_MAP] = account_map,	 [EVENT_UNMAP] = account_unmap, [EVENT_NAME] = account_name,
	[EVENT_RESYNC] = account_resync, [EVENT_FORK] = account_fork,	[EVENT_LOST] = account_lost,
	[EVENT_EXIT] = account_exit,
};

/* Accounts the events whose turn it is. */
static int run(struct mf_target *target, struct mf_error *err)
{
	while (target->first && !target->blocked) {
		struct mf_event *event = target->first;
		struct mf_target *child = event->type == EVENT_FORK ? event->child : NULL;
		int code;

		if (event->wait && event->wait->state == WAIT_OPEN) {
			if (target->common->held_bytes <= target->common->held_bytes_max)
				return 0;
			resolve(target, event->wait, NULL);
		}
		if (err)
			err->text[0] = '\0';
		code = account[event->type](target, event, err);
		if (code && err && !err->text[0])
			mf_error_set(err, code,
				     "cannot account what process %d mapped at %#" PRIx64
				     "-%#" PRIx64 ": %s",
				     target->process.pid, event->start, event->end,
				     strerror(-code));
		pop(target);
		if (!code && child)
			code = run(child, err);
		if (code)
			return code;
	}
	return 0;
}

/* A new event at the end of the queue. */
static struct mf_event *append(struct mf_target *target, enum event_type type,
			       const struct massif_record *record)
{
	struct mf_event *event = calloc(1, sizeof(*event));

	if (!event)
		return NULL;
	event->type = type;
	if (record) {
		event->flags = record->flags;
		event->capture = record->capture;
		event->time_ns = record->time_ns;
		event->total_vm = record->total_vm;
	}
	*target->last = event;
	target->last = &event->next;
	target->common->held_bytes += sizeof(*event);
	return event;
}

static int no_memory(struct mf_error *err)
{
	return mf_error_set(err, -ENOMEM, "no memory for the events of a process");
}

/* The wait for @capture. A thread has one at a time: an older one of it will not come any more. */
static struct mf_stack_wait *wait_for(struct mf_target *target, uint32_t capture, uint32_t tid)
{
	struct mf_stack_wait *wait, *found = NULL;

	for (wait = target->waits; wait; wait = wait->next) {
		if (wait->capture == capture)
			found = wait;
		else if (wait->tid == tid && wait->state == WAIT_OPEN)
			resolve(target, wait, NULL);
	}
	if (found)
		return found;
	wait = calloc(1, sizeof(*wait));
	if (!wait)
		return NULL;
	*wait = (struct mf_stack_wait){.capture = capture, .tid = tid, .next = target->waits};
	target->waits = wait;
	return wait;
}

/* The capture of the system call that thread @tid is in, as far as is known; 0: none. */
static uint32_t open_capture(const struct mf_target *target, uint32_t tid)
{
	for (const struct mf_stack_wait *wait = target->waits; wait; wait = wait->next)
		if (wait->tid == tid && wait->state == WAIT_OPEN)
			return wait->capture;
	return 0;
}

static bool bad_range(uint64_t start, uint64_t length)
{
	return !length || (start | length) % PAGE_BYTES || start + length < start;
}

static int check_range(const struct massif_record *record, uint64_t start, uint64_t length,
		       struct mf_error *err)
{
	if (!bad_range(start, length))
		return 0;
	return mf_error_set(err, -EPROTO,
			    "record %" PRIu64 " of massif.ko (type %u) names an address range that "
			    "cannot be: %#" PRIx64 ", %#" PRIx64 " bytes",
			    (uint64_t)record->seq, record->type, start, length);
}

int mf_target_map(struct mf_target *target, const struct massif_rec_map *map, struct mf_error *err)
{
	bool unmap = map->h.type == MASSIF_REC_UNMAP;
	struct mf_event *event;
	int code = check_range(&map->h, map->addr, map->len, err);

	if (code)
		return code;
	event = append(target, unmap ? EVENT_UNMAP : EVENT_MAP, &map->h);
	if (!event)
		return no_memory(err);
	event->start = map->addr;
	event->end = map->addr + map->len;
	event->kind = map->kind;
	/* What goes needs no stack: it is taken from those who mapped it. */
	if (unmap) {
		event->capture = open_capture(target, map->h.tid);
	} else if (map->h.capture) {
		event->wait = wait_for(target, map->h.capture, map->h.tid);
		if (!event->wait)
			return no_memory(err);
		event->wait->n_events++;
	}
	return run(target, err);
}

int mf_target_name(struct mf_target *target, const struct massif_rec_vma *name,
		   struct mf_error *err)
{
	uint64_t device = (uint64_t)name->dev_major << 32 | name->dev_minor;
	struct mf_event *event;
	int code = check_range(&name->h, name->addr, name->len, err);

	if (code)
		return code;
	event = append(target, EVENT_NAME, &name->h);
	if (!event)
		return no_memory(err);
	event->start = name->addr;
	event->end = name->addr + name->len;
	event->name.file = mf_files_intern(&target->common->files, name->name, device, name->ino);
	event->name.offset = name->pgoff * PAGE_BYTES;
	return run(target, err);
}

int mf_target_stack(struct mf_target *target, const struct massif_rec_stack *stack,
		    struct mf_error *err)
{
	struct mf_stack_wait *wait = target->waits;

	while (wait && wait->capture != stack->h.capture)
		wait = wait->next;
	if (!wait || wait->state != WAIT_OPEN)
		return 0; /* of an unmapping, or given up */

	/* Unwound now if its turn has come: before that the mappings may not be those it saw. */
	if (!target->blocked && target->first->wait == wait) {
		resolve(target, wait, stack);
		return run(target, err);
	}
	wait->held = malloc(stack->h.size);
	if (!wait->held)
		return no_memory(err);
	memcpy(wait->held, stack, stack->h.size);
	wait->state = WAIT_HELD;
	target->common->held_bytes += stack->h.size;
	return run(target, err);
}

static void give_up_waiting(struct mf_target *target)
{
	for (struct mf_stack_wait *wait = target->waits; wait; wait = wait->next)
		if (wait->state == WAIT_OPEN)
			resolve(target, wait, NULL);
}

int mf_target_exit(struct mf_target *target, const struct massif_rec_exit *end,
		   struct mf_error *err)
{
	if (!append(target, EVENT_EXIT, &end->h))
		return no_memory(err);
	give_up_waiting(target);
	return run(target, err);
}

int mf_target_fork(struct mf_target *target, struct mf_target *child,
		   const struct massif_record *record, struct mf_error *err)
{
	struct mf_event *event = append(target, EVENT_FORK, record);

	if (!event)
		return no_memory(err);
	event->child = child;
	child->blocked = true;
	return run(target, err);
}

int mf_target_resync(struct mf_target *target, struct mf_resync *resync, bool first_part,
		     const struct massif_record *record, struct mf_error *err)
{
	mf_auto_free struct mf_resync *owned = resync;
	struct mf_event *event = append(target, EVENT_RESYNC, record);

	if (!event)
		return no_memory(err);
	event->resync.resync = mf_take(owned, NULL);
	event->resync.first_part = first_part;
	event->start = resync->start;
	event->end = resync->end;
	return run(target, err);
}

int mf_target_lost(struct mf_target *target, uint64_t count, uint64_t time_ns, struct mf_error *err)
{
	struct mf_event *event = append(target, EVENT_LOST, NULL);

	if (!event)
		return no_memory(err);
	event->time_ns = time_ns;
	target->process.lost += count;
	give_up_waiting(target);
	return run(target, err);
}

int mf_target_flush(struct mf_target *target, struct mf_error *err)
{
	give_up_waiting(target);
	return run(target, err);
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
	if (!target->common->dump_path || state == MF_PAGES_REPLACED || state == MF_PAGES_SECURE)
		return 0;
	return mf_dump_intervals(target->common->dump_path, process, &target->accounting->space,
				 err);
}
