// SPDX-License-Identifier: GPL-2.0
// One address space of the session: its events in order, held back until their stacks have come.

#include "pages/target.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "model/trie.h"
#include "pages/dump.h"
#include "report/judge.h"

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
	EVENT_RESIDENT,
	EVENT_MOVE,
	EVENT_FORK,
	EVENT_LOST,
	EVENT_EXIT,
};

struct mf_event {
	struct mf_event *next;
	enum event_type type;
	uint32_t flags;	  /* MASSIF_RF_* */
	uint32_t capture; /* of the system call; UNMAP: if another record of it has one */
	uint32_t known;	  /* number of the stack; 0: it is not a known one */
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
		struct massif_rec_resident *resident; /* a copy */
		uint64_t from;			      /* MOVE */
	};
};

static bool judge_counts(void *judge, uint32_t context)
{
	return mf_judge_counts(judge, context, NULL);
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
		code = mf_judge_create(&made->accounting->store, true, common->filter,
				       common->names, &made->judge, err);
		if (code) {
			mf_accounting_destroy(made->accounting);
			free(made);
			return code;
		}
		mf_accounting_ask(made->accounting, judge_counts, made->judge);
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
	if (event->type == EVENT_RESIDENT)
		free(event->resident);
	target->common->held_bytes -= sizeof(*event);
	free(event);
}

void mf_target_destroy(struct mf_target *target)
{
	while (target->first)
		pop(target);
	mf_unwinder_destroy(target->unwinder);
	mf_known_destroy(target->known);
	mf_judge_destroy(target->judge);
	mf_accounting_destroy(target->accounting);
	free(target->process.cmd);
	free(target->process.path);
	free(target);
}

/* What was derived from code that is not there any more is forgotten. */
static void forget_code(struct mf_target *target)
{
	if (!mf_code_take_left(&target->accounting->code))
		return;
	if (target->unwinder)
		mf_unwinder_flush(target->unwinder);
	if (target->known)
		mf_known_flush(target->known);
}

static bool make_unwinder(struct mf_target *target)
{
	struct mf_accounting *a = target->accounting;

	if (target->unwinder)
		return true;
	if (mf_unwinder_create(&a->space, a->files, &a->code, &target->unwinder, NULL))
		return false;
	if (target->common->known_mode != MF_KNOWN_OFF)
		target->known = mf_known_create();
	return true;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* @stack, whose number is @number, was captured: tells the module, unless it knows. */
static void tell(struct mf_target *target, const struct massif_rec_stack *stack, uint32_t number)
{
	mf_auto_free struct massif_known_stack *told = NULL;

	if (stack->known || !mf_known_untold(target->known, number, stack->code_gen,
					     stack->h.time_ns, now_ns()))
		return;
	told = mf_known_describe(target->known, number, target->number, stack->code_gen);
	if (told)
		mf_ring_tell(target->common->ring, told);
}

/* Where captures are made only to be compared: is @context what the module said it would be? */
static void verify(struct mf_target *target, const struct massif_rec_stack *stack, uint32_t context)
{
	uint32_t known;

	if (!stack->known)
		return;
	target->process.verified++;
	if (!mf_known_context(target->known, stack->known, &known) || known != context)
		target->process.wrong_stacks++;
}

/* The context of @stack, which has registers. */
static uint32_t context_of_stack(struct mf_target *target, const struct massif_rec_stack *stack)
{
	bool verifies = target->common->known_mode == MF_KNOWN_VERIFY;
	struct mf_user_stack user = {
		.regs = (const uint64_t *)stack->regs,
		.n_regs = stack->nr_regs,
		.sp = stack->sp,
		.bytes = (const uint8_t *)stack + stack->data_off,
		.n_bytes = stack->bytes,
		.at_limit = stack->stack_flags & MASSIF_STACK_TRUNCATED,
	};
	const struct mf_trace *trace;
	uint32_t context = MF_CONTEXT_NONE, number = MF_KNOWN_NONE;
	struct mf_walk walk;

	if (!make_unwinder(target))
		return mf_accounting_note(target->accounting, MF_WORDS_NO_STACK);
	forget_code(target);
	target->process.captured++;
	if (target->known && user.n_bytes)
		number = mf_known_find(target->known, &user);
	if (!number || !mf_known_context(target->known, number, &context) || verifies) {
		mf_unwinder_walk(target->unwinder, &user, target->common->frames, &walk);
		context = mf_accounting_stack(target->accounting, &walk);
		target->process.walked++;
	}
	trace = mf_unwinder_trace(target->unwinder);
	/* Not where the address space as we know it may not be the one that was. */
	if (!number && target->known && user.n_bytes && trace && target->in_sync)
		number = mf_known_add(target->known, &user, trace, context);
	if (number)
		tell(target, stack, number);
	if (verifies && target->known)
		verify(target, stack, context);
	return context;
}

/* The context of known stack @number; the module says that there was one. */
static uint32_t context_of_known(struct mf_target *target, uint32_t number)
{
	uint32_t context;

	forget_code(target);
	if (target->known && mf_known_context(target->known, number, &context)) {
		target->process.recognised++;
		return context;
	}
	target->process.no_stack++;
	return mf_accounting_note(target->accounting, MF_WORDS_NO_STACK);
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
	if (stack && stack->stack_flags & MASSIF_STACK_LIMITED)
		target->process.limited++;
	if (stack && stack->known && !stack->nr_regs)
		wait->context = context_of_known(target, stack->known);
	else if (stack && stack->nr_regs && stack->arch == MF_UNWIND_ARCH)
		wait->context = context_of_stack(target, stack);
	else
		wait->context = context_of_flags(target, 0);
	wait->state = WAIT_RESOLVED;
}

static uint32_t context_of_event(struct mf_target *target, const struct mf_event *event)
{
	struct mf_stack_wait *wait = event->wait;

	if (event->known)
		return context_of_known(target, event->known);
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
	if (!target->in_sync || event->flags & MASSIF_RF_NO_TOTAL)
		return;
	target->kernel_pages = event->total_vm;
	if (process->model_pages != event->total_vm)
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

/* Takes out the event behind @event. */
static void pop_next(struct mf_target *target, struct mf_event *event)
{
	struct mf_event *next = event->next;

	event->next = next->next;
	if (!event->next)
		target->last = &event->next;
	target->common->held_bytes -= sizeof(*next);
	free(next);
}

/* The destination of a move comes into being; what is resident goes with it. */
static int account_copy(struct mf_target *target, struct mf_event *event, struct mf_error *err)
{
	struct mf_event *move = event->next;
	uint64_t from, length;
	int code;

	if (!move || move->type != EVENT_MOVE)
		return account_map(target, event, err);
	from = move->from;
	length = move->end - move->start;
	pop_next(target, event);
	code = mf_resident_lift(&target->accounting->resident, from, length);
	if (!code)
		code = account_map(target, event, err);
	if (!code)
		code = mf_resident_land(&target->accounting->resident, from, event->start);
	return code;
}

static int account_resident(struct mf_target *target, struct mf_event *event, struct mf_error *err)
{
	bool explained = event->capture || event->known;
	uint32_t site = explained ? context_of_event(target, event) : 0;

	return mf_accounting_resident(target->accounting, event->resident, site);
}

/* Of a destination that was not told of: it was lost. */
static int account_move_only(struct mf_target *target, struct mf_event *event,
			     struct mf_error *err)
{
	struct mf_resident *resident = &target->accounting->resident;
	int code = mf_resident_lift(resident, event->from, event->end - event->start);

	return code ? code : mf_resident_land(resident, event->from, event->start);
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
	[EVENT_MAP] = account_copy,	 [EVENT_UNMAP] = account_unmap, [EVENT_NAME] = account_name,
	[EVENT_RESYNC] = account_resync, [EVENT_FORK] = account_fork,	[EVENT_LOST] = account_lost,
	[EVENT_EXIT] = account_exit,
	[EVENT_RESIDENT] = account_resident, [EVENT_MOVE] = account_move_only,
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
	} else if (event->capture) {
		event->wait = wait_for(target, event->capture, map->h.tid);
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
	if (name->prot & MASSIF_PROT_EXEC)
		mf_files_mapped(&target->common->files, event->name.file, target->process.pid,
				event->start, event->end);
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

int mf_target_resident(struct mf_target *target, const struct massif_rec_resident *resident,
		       struct mf_error *err)
{
	struct mf_event *event;
	int code = resident->len ? check_range(&resident->h, resident->addr, resident->len, err) : 0;

	if (code)
		return code;
	event = append(target, EVENT_RESIDENT, &resident->h);
	if (!event)
		return no_memory(err);
	event->start = resident->addr;
	event->end = resident->addr + resident->len;
	event->resident = malloc(sizeof(*resident));
	if (!event->resident)
		return no_memory(err);
	memcpy(event->resident, resident, sizeof(*resident));
	if (event->capture) {
		event->wait = wait_for(target, event->capture, resident->h.tid);
		if (!event->wait)
			return no_memory(err);
		event->wait->n_events++;
	}
	return run(target, err);
}

int mf_target_move(struct mf_target *target, const struct massif_rec_move *move,
		   struct mf_error *err)
{
	struct mf_event *event;
	int code = check_range(&move->h, move->addr, move->len, err);

	if (code)
		return code;
	event = append(target, EVENT_MOVE, &move->h);
	if (!event)
		return no_memory(err);
	event->start = move->addr;
	event->end = move->addr + move->len;
	event->from = move->from;
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

	/* Of targets that are gone: perhaps of this one, whose EXIT would be missing then. */
	if (!lost->h.target && lost->reason != MASSIF_LOST_MISSED) {
		if (!target->exited)
			mf_target_note_loss(target, lost->count, lost->h.time_ns);
		return 0;
	}
	mf_target_note_loss(target, lost->count, lost->h.time_ns);
	event = append(target, EVENT_LOST, NULL);
	if (!event)
		return no_memory(err);
	event->time_ns = lost->h.time_ns;
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
