// SPDX-License-Identifier: GPL-2.0
// Who is changing what is resident of a target, and where: from begin to end.
#include <linux/massif.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/task_work.h>

#include "compat/task.h"
#include "fault_slots.h"
#include "resident.h"
#include "rss_span.h"
#include "target.h"
#include "rss_record.h"

static const struct massif_place nowhere = { .cause = MASSIF_RESIDENT_OTHER };

/* Spans that are queued, of all targets: they are in lists, where a fault does not look otherwise. */
static atomic_t nr_queued;

/* Has any thread ever been in run(), or will be? */
static bool used;

void massif_rss_spans_init(struct massif_rss_spans *spans)
{
	INIT_LIST_HEAD(&spans->list);
}

/*
 * No hook can find the target any more. A span is still in the list if the session was closed while its
 * task took a range away: that one's end found no target.
 */
void massif_rss_spans_deinit(struct massif_rss_spans *spans)
{
	struct massif_rss_span *span, *next;

	list_for_each_entry_safe(span, next, &spans->list, list)
		kfree(span);
	kfree(spans->spare);
}

/* Is nobody but current, which has told all, at work on target? But for faults: massif_fault_slot_served(). */
bool massif_rss_spans_idle(struct massif_target *target)
{
	struct massif_resident *resident = &target->resident;
	const struct task_struct *taker = READ_ONCE(resident->spans.taker.task);

	lockdep_assert_held(&resident->lock);
	return (!taker || taker == current) && list_empty(&resident->spans.list);
}

/* What the span has changed since it was cut, or began. last: it is not cut again. */
static __always_inline void cut(struct massif_rss_span *span, const struct massif_target *target, long *change,
				bool last)
{
	/* After exec or in exit the task's own counters are not the target's any more. */
	bool own = span->own && current->mm == target->mm;
	int i;

	/* Amid the fault its target began to be followed, and what it had collected was counted. */
	if (MASSIF_RSS_BY_THREAD && unlikely(span->desk && span->epoch < target->resident.epoch)) {
		span->epoch = target->resident.epoch;
		for (i = 0; i < NR_MM_COUNTERS; i++)
			span->collected[i] = own ? massif_rss_collected(i) : 0;
	}

	massif_each(i, NR_MM_COUNTERS) {
		change[i] = span->change[i];
		if (!last)
			span->change[i] = 0;
		if (MASSIF_RSS_BY_THREAD) {
			long collected = own ? massif_rss_collected(i) : 0;

			change[i] += collected - span->collected[i];
			if (!last)
				span->collected[i] = collected;
		}
	}
}

/* Has anything moved since the span, which is no fault's, was cut? Even if the sums have not. */
static __always_inline bool has_moved(const struct massif_rss_span *span, const struct massif_target *target)
{
	bool own = span->own && current->mm == target->mm;
	long any = span->robbed;
	int i;

	massif_each(i, NR_MM_COUNTERS) {
		any |= span->change[i];
		if (MASSIF_RSS_BY_THREAD)
			any |= (own ? massif_rss_collected(i) : 0) ^ span->collected[i];
	}
	return any;
}

/* As in massif_rss_span_leave(), where it is no call. */
static noinline void tell(struct massif_target *target, const struct massif_place *place,
			  const long *change, bool ends)
{
	massif_rss_record_change(target, place, change, ends, true);
}

static void cut_and_tell(struct massif_rss_span *span, struct massif_target *target,
			 const struct massif_place *place)
{
	long change[NR_MM_COUNTERS];

	cut(span, target, change, false);
	if (!massif_rss_record_nothing(change))
		tell(target, place, change, false);
}

/* Current's span in the list. */
static struct massif_rss_span *find_locked(struct massif_resident *resident)
{
	struct massif_rss_span *span;

	lockdep_assert_held(&resident->lock);
	list_for_each_entry(span, &resident->spans.list, list)
		if (span->task == current)
			return span;
	return NULL;
}

static bool is_taker(const struct massif_target *target)
{
	return READ_ONCE(target->resident.spans.taker.task) == current;
}

/* Current's span, if it is not the taker; nobody else can end it. */
static struct massif_rss_span *find_other(struct massif_target *target)
{
	struct massif_resident *resident = &target->resident;
	struct massif_rss_span *span = massif_fault_slot_serving(target->mm);
	unsigned long irq;

	/* If current has one in the list, it is there, for nobody else takes it out. */
	if (span || list_empty(&resident->spans.list))
		return span;
	raw_spin_lock_irqsave(&resident->lock, irq);
	span = find_locked(resident);
	raw_spin_unlock_irqrestore(&resident->lock, irq);
	return span;
}

static struct massif_rss_span *find(struct massif_target *target)
{
	return is_taker(target) ? &target->resident.spans.taker : find_other(target);
}

/*
 * Who follows the records takes what was unmapped to be about to go, until its GONE; so that is written also
 * if another thread's record has what this one took away.
 */
static bool worth_telling(const struct massif_rss_span *span, const struct massif_place *place,
			  const long *change)
{
	return !massif_rss_record_nothing(change) ||
	       (span->robbed && place->cause == MASSIF_RESIDENT_GONE);
}

/*
 * Ends a span in the list that was at place with what it has changed (NULL: the target is not followed
 * any more). A span that nobody has a use for is kept for the next; otherwise it is returned, to be freed.
 */
static struct massif_rss_span *leave(struct massif_rss_span *span, struct massif_target *target,
				 const struct massif_place *place, const long *change)
{
	struct massif_resident *resident = &target->resident;
	bool tells = change && worth_telling(span, place, change);
	unsigned long irq;

	/* First, or somebody would find a change that nobody is at. */
	if (tells)
		tell(target, place, change, false);
	raw_spin_lock_irqsave(&resident->lock, irq);
	list_del(&span->list);
	if (tells)
		massif_rss_record_ended(target);
	if (!resident->spans.spare) {
		resident->spans.spare = span;
		span = NULL;
	}
	raw_spin_unlock_irqrestore(&resident->lock, irq);
	return span;
}

/* The thread is about to return to user mode, or ends. */
static void run(struct callback_head *work)
{
	struct massif_rss_span *span = container_of(work, struct massif_rss_span, work);
	struct massif_target *target = span->target;
	struct massif_place place = span->place;
	bool own = current->mm == target->mm;
	struct mm_struct *mm = NULL;
	long change[NR_MM_COUNTERS];
	bool alive;

	/* Who has another program by now does not keep the address space that it shared. */
	if (!own)
		mm = massif_target_mmgrab(target);
	rcu_read_lock();
	alive = own ? READ_ONCE(target->alive) : mm != NULL;
	if (alive)
		cut(span, target, change, true);
	span = leave(span, target, &place, alive ? change : NULL);
	rcu_read_unlock();
	if (mm)
		mmdrop(mm);
	atomic_dec(&nr_queued);
	kfree(span);
	/* A signal was pending when it was tried. */
	if (unlikely(!target->resident.zap) && own)
		massif_resident_attach(target, target->mm);
	massif_target_put(target);
	/* massif_rss_spans_exit() waits for the few instructions that are left. */
	module_put(THIS_MODULE);
}

static void start(struct massif_rss_span *span, struct massif_target *target,
		  const struct massif_place *place)
{
	int i;

	lockdep_assert_held(&target->resident.lock);
	span->task = current;
	span->own = current->mm == target->mm;
	span->lasts = false;
	span->robbed = false;
	span->depth = 0;
	span->place = *place;
	span->desk = NULL;
	for (i = 0; i < NR_MM_COUNTERS; i++) {
		span->change[i] = 0;
		span->collected[i] = span->own ? massif_rss_collected(i) : 0;
	}
	list_add(&span->list, &target->resident.spans.list);
}

/* A new span of current's in the list, which begins at place. NULL: no memory. */
static struct massif_rss_span *add(struct massif_target *target, const struct massif_place *place)
{
	struct massif_resident *resident = &target->resident;
	struct massif_rss_span *span;
	unsigned long irq;

	raw_spin_lock_irqsave(&resident->lock, irq);
	span = resident->spans.spare;
	resident->spans.spare = NULL;
	if (span)
		start(span, target, place);
	raw_spin_unlock_irqrestore(&resident->lock, irq);
	if (span)
		return span;

	span = kmalloc(sizeof(*span), GFP_ATOMIC | __GFP_NOWARN);
	if (!span)
		return NULL;
	raw_spin_lock_irqsave(&resident->lock, irq);
	start(span, target, place);
	raw_spin_unlock_irqrestore(&resident->lock, irq);
	return span;
}

/* Ends what has only just begun. */
static void abandon(struct massif_rss_span *span, struct massif_target *target)
{
	kfree(leave(span, target, &span->place, NULL));
}

/* The new span is to end when current returns to user mode. False: one of thread and session ends. */
static bool queue(struct massif_rss_span *span, struct massif_target *target)
{
	/* The session may be closing: the table's reference, by which it was found, can be gone. */
	span->target = massif_target_tryget(target);
	if (!span->target)
		return false;
	/* The session's file is open, so the module has a user already. */
	__module_get(THIS_MODULE);
	WRITE_ONCE(used, true);
	span->lasts = true;
	atomic_inc(&nr_queued);
	init_task_work(&span->work, run);
	if (!task_work_add(current, &span->work, TWA_RESUME))
		return true;
	span->lasts = false;
	atomic_dec(&nr_queued);
	/* Never the last reference: RCU protects the target that the hook found. */
	massif_target_put(target);
	module_put(THIS_MODULE);
	return false;
}

/*
 * Current is about to handle a fault of its own at addr of mm, which may be a target's. False: span is
 * not entered; say it in another way (massif_rss_span_touch()).
 */
bool massif_rss_span_enter(struct massif_rss_span *span, struct mm_struct *mm, unsigned long addr)
{
	struct massif_fault_slot *desk;
	int i;

	/* It may have a span in the list. And a fault within a fault there is not. */
	if (unlikely(atomic_read(&nr_queued)))
		return false;
	desk = massif_fault_slot_take();
	if (!desk)
		return false;
	span->own = true;
	span->lasts = true;
	span->robbed = false;
	span->depth = 0;
	span->place = (struct massif_place){
		.addr = addr,
		.len = PAGE_SIZE,
		.cause = MASSIF_RESIDENT_FAULT,
	};
	span->desk = desk;
	span->mm = mm;
	/* With massif_resident_attach(). */
	if (MASSIF_RSS_BY_THREAD)
		span->epoch = smp_load_acquire(&massif_resident_epoch);
	massif_each(i, NR_MM_COUNTERS) {
		span->change[i] = 0;
		if (MASSIF_RSS_BY_THREAD)
			span->collected[i] = massif_rss_collected(i);
	}
	massif_fault_slot_serve(desk, mm, span);
	return true;
}

/* The fault has been handled. True: it had a reference to the module, which is to be put last. */
bool massif_rss_span_leave(struct massif_rss_span *span)
{
	struct massif_target *target;
	long change[NR_MM_COUNTERS] MASSIF_RAW;
	bool adopted;

	rcu_read_lock();
	target = massif_target_find_resident(span->mm);
	if (target) {
		cut(span, target, change, true);
		massif_rss_record_change(target, &span->place, change, true, false);
	}
	adopted = massif_fault_slot_give_back(span->desk);
	/* For run(), which can sleep. */
	if (target && unlikely(!READ_ONCE(target->resident.zap)) && massif_task_has_user(current))
		massif_rss_span_touch(target, &nowhere);
	rcu_read_unlock();
	return adopted;
}

/* Current is about to bring pages at place in, until it returns to user mode or the next place. */
void massif_rss_span_touch(struct massif_target *target, const struct massif_place *place)
{
	struct massif_rss_span *span = find(target);

	if (!span) {
		span = add(target, place);
		if (span && !queue(span, target))
			abandon(span, target);
	} else if (!span->depth) {
		cut_and_tell(span, target, &span->place);
		span->place = *place;
	}
}

/* A fault that replaces its own page (copy on write) takes nothing away. */
static bool in_own_fault(const struct massif_rss_span *span, const struct massif_place *range)
{
	return !span->depth && span->place.cause == MASSIF_RESIDENT_FAULT &&
	       span->place.addr - range->addr < range->len;
}

static struct massif_place place_of(unsigned long start, unsigned long end)
{
	return (struct massif_place){
		.addr = start & PAGE_MASK,
		.len = PAGE_ALIGN(end) - (start & PAGE_MASK),
		.cause = MASSIF_RESIDENT_GONE,
	};
}

/* Current, which has no span, is to be the one who takes ranges away. False: somebody else is. */
static __always_inline bool become_taker(struct massif_target *target)
{
	struct massif_rss_span *span = &target->resident.spans.taker;
	int i;

	/* With massif_rss_spans_idle(): counters can change from here on. */
	if (READ_ONCE(span->task) || cmpxchg(&span->task, NULL, current))
		return false;
	span->depth = 1;
	if (MASSIF_RSS_BY_THREAD) {
		span->own = current->mm == target->mm;
		massif_each(i, NR_MM_COUNTERS)
			span->collected[i] = span->own ? massif_rss_collected(i) : 0;
	}
	return true;
}

static noinline void begin_other(struct massif_target *target, unsigned long start, unsigned long end)
{
	const struct massif_place range = place_of(start, end);
	struct massif_rss_span *span = find_other(target);

	if (!span) {
		span = add(target, &range);
		if (span)
			span->depth = 1;
	} else if (!in_own_fault(span, &range) && !span->depth++) {
		cut_and_tell(span, target, &span->place);
	}
}

/* Something is about to be taken from [start, end), by current. Others may do so at the same time. */
void massif_rss_span_begin(struct massif_target *target, unsigned long start, unsigned long end)
{
	struct massif_rss_spans *spans = &target->resident.spans;

	if (is_taker(target))
		spans->taker.depth++;
	else if (massif_fault_slot_serving(target->mm) || !list_empty(&spans->list) || !become_taker(target))
		begin_other(target, start, end);
}

static noinline void end_other(struct massif_target *target, unsigned long start, unsigned long end)
{
	const struct massif_place range = place_of(start, end);
	struct massif_rss_span *span = find_other(target);
	long change[NR_MM_COUNTERS];

	if (!span || !span->depth || --span->depth)
		return;
	cut(span, target, change, false);
	if (!span->lasts) {
		kfree(leave(span, target, &range, change));
		return;
	}
	if (worth_telling(span, &range, change))
		tell(target, &range, change, false);
	span->robbed = false;
}

static noinline void tell_taken(struct massif_target *target, unsigned long start, unsigned long end)
{
	struct massif_rss_span *taker = &target->resident.spans.taker;
	const struct massif_place range = place_of(start, end);
	long change[NR_MM_COUNTERS];

	cut(taker, target, change, false);
	if (worth_telling(taker, &range, change))
		tell(target, &range, change, true);
	taker->robbed = false;
}

/* It has been. */
void massif_rss_span_end(struct massif_target *target, unsigned long start, unsigned long end)
{
	struct massif_rss_span *taker = &target->resident.spans.taker;

	if (!is_taker(target)) {
		end_other(target, start, end);
	} else if (!--taker->depth) {
		if (has_moved(taker, target))
			tell_taken(target, start, end);
		/* With become_taker() of the next, and massif_rss_spans_idle(). */
		smp_store_release(&taker->task, NULL);
	}
}

/* What nobody has a span for: by current, if it will return to user mode, or by someone else, or a worker. */
static void changed_alone(struct massif_target *target, struct mm_struct *mm, int member, long by)
{
	long change[NR_MM_COUNTERS] = { 0 };
	struct massif_rss_span *span;

	change[member] = by;
	if (current->mm != mm || current->flags & MASSIF_PF_WORKER) {
		tell(target, &nowhere, change, false);
	} else if (massif_task_has_user(current)) {
		span = add(target, &nowhere);
		if (span && queue(span, target))
			span->change[member] = by;
		else if (span)
			abandon(span, target);
	}
	/* What is left is a thread that ends, and adds what it has collected and was told. */
}

/* span is current's, if it is not in the list. noted: what it has changed is by; else that is to be found. */
static noinline void changed(struct massif_target *target, struct mm_struct *mm, int member,
			     struct massif_rss_span *span, bool noted, long by)
{
	struct massif_resident *resident = &target->resident;
	unsigned long irq;

	raw_spin_lock_irqsave(&resident->lock, irq);
	if (!noted)
		by = massif_rss_note(&resident->base, mm, member);
	if (!span)
		span = find_locked(resident);
	raw_spin_unlock_irqrestore(&resident->lock, irq);
	if (!span) {
		if (by)
			changed_alone(target, mm, member, by);
		return;
	}
	span->change[member] += by;
	if (!by)
		span->robbed = true;
}

/*
 * The counter member of mm has changed, by current. Most changes are made in a fault, and since 6.2 each
 * is seen: that takes no lock.
 */
void massif_rss_span_changed(struct mm_struct *mm, int member)
{
	struct massif_rss_span *span = massif_fault_slot_serving(mm);
	struct massif_target *target;
	long by;

	/* For RCU, and for what is noted by processor. */
	preempt_disable();
	target = massif_target_find_resident(mm);
	if (target) {
		bool noted = massif_rss_note_quickly(&target->resident.base, mm, member, &by);

		if (!span && is_taker(target))
			span = &target->resident.spans.taker;
		if (likely(noted && span))
			span->change[member] += by;
		else
			changed(target, mm, member, span, noted, by);
	}
	preempt_enable();
}

/* Nobody is left, but a thread may still be about to return from run(). */
void massif_rss_spans_exit(void)
{
	if (used)
		synchronize_rcu_tasks();
}
