// SPDX-License-Identifier: GPL-2.0
// Spans: intervals in which one task changes the resident set of a target.
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

bool massif_rss_faults_have_spans;

/*
 * Maximum number of spans in a target's list. Hooks search the list with interrupts off, and a program can have any
 * number of threads that wait inside a span (mlock of a range that userfaultfd fills, for example). Changes of further
 * tasks are reported without an address (changed_alone()).
 */
#define SPANS_MAX	256

static const struct massif_place nowhere = { .cause = MASSIF_RESIDENT_OTHER };

/*
 * Set the first time that task_work which ends a span (an interval in which a task may change the resident set) is
 * queued. From then on, a thread may be executing the callback run(), so massif_rss_spans_exit() must wait for it
 * before the module is unloaded.
 */
static bool used;

/* All spans that end when a thread returns to user mode. */
static struct massif_thread_table queued;

/**
 * massif_rss_spans_start() - initialise the table of spans that end when a thread returns to user mode. Called when the
 * module is loaded.
 */
void massif_rss_spans_start(void)
{
	massif_thread_table_init(&queued);
}

/**
 * massif_rss_spans_init() - initialise a new target's list of spans, the intervals in which a task may change the
 * target's resident set.
 */
void massif_rss_spans_init(struct massif_rss_spans *spans)
{
	INIT_LIST_HEAD(&spans->list);
}

/**
 * massif_rss_spans_deinit() - free the remaining spans of a target, once no hook can find the target any more.
 *
 * If the session was closed while a task was removing a range, the task's span is still in the list, because the hook
 * at the end of the removal no longer found the target.
 */
void massif_rss_spans_deinit(struct massif_rss_spans *spans)
{
	struct massif_rss_span *span, *next;

	list_for_each_entry_safe(span, next, &spans->list, list)
		kfree(span);
	kfree(spans->spare);
}

/**
 * massif_rss_spans_idle() - true if no other task is changing the target's counters, except in a page fault.
 *
 * Call this only if current has reported all its changes. To check for page faults, call massif_fault_slot_served().
 *
 * Context: resident.lock is held.
 */
bool massif_rss_spans_idle(struct massif_target *target)
{
	struct massif_resident *resident = &target->resident;
	const struct task_struct *taker = READ_ONCE(resident->spans.taker.task);

	lockdep_assert_held(&resident->lock);
	return (!taker || taker == current) && list_empty(&resident->spans.list) && !resident->spans.unreported;
}

/*
 * Computes how the resident set has changed, in pages, since the span began or since the previous call for this span.
 * @last: the span ends now, so its counts need not be reset for another call.
 */
static __always_inline void cut(struct massif_rss_span *span, const struct massif_target *target, long *change,
				bool last)
{
	/*
	 * After exec and during exit, the counter changes that the task has collected no longer belong to the target's
	 * address space.
	 */
	bool own = span->own && current->mm == target->mm;
	int i;

	/*
	 * If the target was attached during this page fault, massif_resident_attach() has already counted the changes
	 * that current had collected up to that point (compat/rss.h). So start afresh from the current counts.
	 */
	if (MASSIF_RSS_BY_THREAD && unlikely(span->slot && span->epoch < target->resident.epoch)) {
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

/*
 * True if the task has changed any counter since its span began, or since cut() last reset the span's counts. It does
 * not matter if the changes add up to 0. Not called for the span of a page fault.
 */
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

/*
 * Writes a RESIDENT record for a change. Not inlined, unlike massif_rss_record_change(), which
 * massif_rss_span_leave() calls directly for speed.
 */
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

/* Finds current's span in the target's list of spans. */
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

/*
 * Finds current's span (the interval in which its changes to the resident set are collected). Looks among the fault
 * slots first, in case current is handling a page fault, and then in the target's list of spans. Must not be called by
 * the taker, the task that uses the span embedded in struct massif_rss_spans. Only current itself can end the span that
 * is returned.
 */
static struct massif_rss_span *find_other(struct massif_target *target)
{
	struct massif_resident *resident = &target->resident;
	struct massif_rss_span *span = massif_fault_slot_serving(target->mm);
	unsigned long irq;

	/*
	 * list_empty() needs no lock here: only current adds or removes its own span, so the answer for that span
	 * cannot change.
	 */
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
 * True if the span needs a record. The change can be 0 because another task's record already contains this task's
 * changes. A GONE record is written even then, because the consumer expects one for each unmapped range with resident
 * pages.
 */
static bool worth_telling(const struct massif_rss_span *span, const struct massif_place *place,
			  const long *change)
{
	return !massif_rss_record_nothing(change) ||
	       (span->robbed && place->cause == MASSIF_RESIDENT_GONE);
}

/*
 * Ends a span that is in the target's list, and reports @change, the changes collected in the span; @change is NULL if
 * there is nothing to report. (A span is an interval in which a task's changes to the resident set are collected.)
 * Returns the span if the caller must free it, or NULL if the target keeps the struct for reuse.
 */
static struct massif_rss_span *leave(struct massif_rss_span *span, struct massif_target *target,
				 const struct massif_place *place, const long *change)
{
	struct massif_resident *resident = &target->resident;
	bool tells = change && worth_telling(span, place, change);
	unsigned long irq;

	/*
	 * Write the record before removing the span from the target's list of spans. Otherwise
	 * massif_resident_look_for_drift() could find a counter change that has not been reported yet and that no span
	 * accounts for.
	 */
	if (tells)
		tell(target, place, change, false);
	raw_spin_lock_irqsave(&resident->lock, irq);
	list_del(&span->list);
	resident->spans.count--;
	if (tells)
		massif_rss_record_ended(target);
	if (!resident->spans.spare) {
		resident->spans.spare = span;
		span = NULL;
	}
	raw_spin_unlock_irqrestore(&resident->lock, irq);
	return span;
}

/* task_work callback that ends a span when the thread is about to return to user mode, or is exiting. */
static void run(struct callback_head *work)
{
	struct massif_rss_span *span = container_of(work, struct massif_rss_span, work);
	struct massif_target *target = span->target;
	struct massif_place place = span->place;
	bool own = current->mm == target->mm;
	struct mm_struct *mm = NULL;
	long change[NR_MM_COUNTERS];
	bool alive;

	massif_thread_table_remove(&queued, &span->queued);
	/*
	 * If the target is found to be alive in an RCU read-side section, its session is not freed until that section
	 * ends.
	 */
	rcu_read_lock();
	/* After an exec, the thread no longer keeps its old address space, which is the target, alive. */
	if (!own)
		mm = massif_target_mmgrab(target);
	alive = own ? READ_ONCE(target->alive) : mm != NULL;
	if (alive)
		cut(span, target, change, true);
	span = leave(span, target, &place, alive ? change : NULL);
	rcu_read_unlock();
	if (mm)
		mmdrop(mm);
	atomic_long_dec(&massif_fault_slot_of_current()->queued);
	kfree(span);
	/* Register the MMU notifier now. An earlier attempt to register it failed because of a pending signal. */
	if (unlikely(!READ_ONCE(target->resident.rss_notifier)) && own)
		massif_resident_attach(target, target->mm);
	massif_target_put(target);
	/*
	 * After module_put() the module may be unloaded, but massif_rss_spans_exit() waits until this thread has left
	 * the function.
	 */
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
	span->slot = NULL;
	for (i = 0; i < NR_MM_COUNTERS; i++) {
		span->change[i] = 0;
		span->collected[i] = span->own ? massif_rss_collected(i) : 0;
	}
	list_add(&span->list, &target->resident.spans.list);
	target->resident.spans.count++;
}

/* Adds a new span of current to the list. Returns NULL if out of memory, or if the list has SPANS_MAX spans. */
static struct massif_rss_span *add(struct massif_target *target, const struct massif_place *place)
{
	struct massif_resident *resident = &target->resident;
	struct massif_rss_span *span;
	unsigned long irq;
	bool room;

	raw_spin_lock_irqsave(&resident->lock, irq);
	room = resident->spans.count < SPANS_MAX;
	span = room ? resident->spans.spare : NULL;
	if (span) {
		resident->spans.spare = NULL;
		start(span, target, place);
	}
	raw_spin_unlock_irqrestore(&resident->lock, irq);
	if (span || !room)
		return span;

	span = kmalloc(sizeof(*span), GFP_ATOMIC | __GFP_NOWARN);
	if (!span)
		return NULL;
	raw_spin_lock_irqsave(&resident->lock, irq);
	/* Other tasks may have added spans in the meantime. */
	room = resident->spans.count < SPANS_MAX;
	if (room)
		start(span, target, place);
	raw_spin_unlock_irqrestore(&resident->lock, irq);
	if (room)
		return span;
	kfree(span);
	return NULL;
}

/*
 * Ends a span that current has just begun, without a record: the task_work that would end the span later could not be
 * queued.
 */
static void abandon(struct massif_rss_span *span, struct massif_target *target)
{
	kfree(leave(span, target, &span->place, NULL));
}

/*
 * Queues task_work that ends @span when current returns to user mode. The caller has just begun @span for current.
 * Returns false if the thread or the session is ending, if the thread has too many such spans of targets that have
 * ended, or if it is a kernel thread that only uses the address space (kthread_use_mm()) and runs no task_work.
 */
static bool queue(struct massif_rss_span *span, struct massif_target *target)
{
	if (current->flags & PF_KTHREAD)
		return false;
	/* The session may be closing, and the table of targets may already have dropped its reference to the target. */
	span->target = massif_target_tryget(target);
	if (!span->target)
		return false;
	span->queued.task = current;
	span->queued.target = target;
	/*
	 * Even if this drops the last reference, the target stays valid here: it is freed after an RCU grace period,
	 * and the caller is in an RCU read-side section.
	 */
	if (!massif_thread_table_insert(&queued, &span->queued)) {
		massif_target_put(target);
		return false;
	}
	/* __module_get() is safe: the open file of the session holds a reference to the module. */
	__module_get(THIS_MODULE);
	WRITE_ONCE(used, true);
	span->lasts = true;
	atomic_long_inc(&massif_fault_slot_of_current()->queued);
	init_task_work(&span->work, run);
	if (!task_work_add(current, &span->work, TWA_RESUME))
		return true;
	span->lasts = false;
	atomic_long_dec(&massif_fault_slot_of_current()->queued);
	massif_thread_table_remove(&queued, &span->queued);
	massif_target_put(target);
	module_put(THIS_MODULE);
	return false;
}

/*
 * True if current has begun a span (an interval in which it may change the resident set) for @mm's target that
 * task_work will end when current returns to user mode. Other tasks' spans are ignored, so that a user who leaves many
 * spans queued cannot slow down the page faults of all other users.
 */
static noinline bool has_queued(struct mm_struct *mm)
{
	struct massif_target *target;
	bool has = false;
	unsigned long irq;

	rcu_read_lock();
	target = massif_target_find_resident(mm);
	if (target && !list_empty(&target->resident.spans.list)) {
		raw_spin_lock_irqsave(&target->resident.lock, irq);
		has = find_locked(&target->resident);
		raw_spin_unlock_irqrestore(&target->resident.lock, irq);
	}
	rcu_read_unlock();
	return has;
}

/**
 * massif_rss_span_enter() - begin the span of a page fault, the interval in which current handles the fault.
 * @span: on the caller's stack.
 * @mm: current's address space, which may be a target.
 * @addr: page address of the fault.
 * Context: fault hook; takes no lock.
 * Return: false if the span was not begun; the caller then calls massif_rss_span_touch() instead.
 */
bool massif_rss_span_enter(struct massif_rss_span *span, struct mm_struct *mm, unsigned long addr)
{
	struct massif_fault_slot *slot;
	int i;

	/*
	 * Several tasks can hash to the same fault slot, and the slot's ->queued counts the spans of all of them that
	 * end on return to user mode. So check whether current itself has such a span. A fault inside another fault
	 * does not begin a span, because massif_fault_slot_take() returns NULL for it.
	 */
	if (unlikely(atomic_long_read(&massif_fault_slot_of_current()->queued)) && has_queued(mm))
		return false;
	slot = massif_fault_slot_take();
	if (!slot)
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
	span->slot = slot;
	span->mm = mm;
	/*
	 * This acquire of massif_resident_epoch pairs with the release in massif_resident_attach(): if the new epoch is
	 * read here, the counter values that massif_resident_attach() has read include none of the span's changes.
	 */
	if (MASSIF_RSS_BY_THREAD)
		span->epoch = smp_load_acquire(&massif_resident_epoch);
	massif_each(i, NR_MM_COUNTERS) {
		span->change[i] = 0;
		if (MASSIF_RSS_BY_THREAD)
			span->collected[i] = massif_rss_collected(i);
	}
	massif_fault_slot_serve(slot, mm, span);
	return true;
}

/**
 * massif_rss_span_leave() - end the span of a page fault and report its change.
 * Context: fault hook; takes resident.lock if the counters have changed.
 * Return: true if the caller has been given a reference to the module, and must drop it as its last action.
 */
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
	adopted = massif_fault_slot_give_back(span->slot);
	/*
	 * If the target has no MMU notifier, queue a span: its task_work callback may sleep, and can therefore register
	 * the notifier.
	 */
	if (target && unlikely(!READ_ONCE(target->resident.rss_notifier)) && massif_task_has_user(current))
		massif_rss_span_touch(target, &nowhere);
	rcu_read_unlock();
	return adopted;
}

/**
 * massif_rss_span_touch() - begin a span for pages that current is about to make resident.
 * @place: the range and the cause.
 *
 * The span ends when current returns to user mode. If current already has a span, reports the changes in it so far, and
 * continues it with the new range.
 *
 * Context: hook, RCU read-side section; takes resident.lock.
 */
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

/*
 * Called when current begins to remove the pages in @range. Returns true if the range contains the page of the fault
 * that current is handling. In that case, the kernel is replacing the page with a copy (copy on write), and the counter
 * changes are reported for the fault (FAULT), not as a removal (GONE).
 */
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

/*
 * Tries to begin a span for current, which must not have one, without taking a lock or allocating memory. Uses the span
 * embedded in the target (spans.taker). Only one task, called the taker, can use that span at a time; if another task
 * is the taker, returns false.
 */
static __always_inline bool become_taker(struct massif_target *target)
{
	struct massif_rss_span *span = &target->resident.spans.taker;
	int i;

	/*
	 * The cmpxchg() pairs with massif_rss_spans_idle(). current may change the target's counters only after it
	 * succeeds.
	 */
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

/**
 * massif_rss_span_begin() - begin a span for current's removal of the pages in [start, end).
 *
 * Other tasks may be removing pages of the target at the same time.
 *
 * Context: MMU notifier, RCU read-side section; may take resident.lock.
 */
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

/**
 * massif_rss_span_end() - current has removed pages from [start, end): report the change.
 * Context: as for massif_rss_span_begin().
 */
void massif_rss_span_end(struct massif_target *target, unsigned long start, unsigned long end)
{
	struct massif_rss_span *taker = &target->resident.spans.taker;

	if (!is_taker(target)) {
		end_other(target, start, end);
	} else if (!--taker->depth) {
		if (has_moved(taker, target))
			tell_taken(target, start, end);
		/*
		 * This release makes the span embedded in the target (spans.taker) available again. It pairs with
		 * massif_rss_spans_idle() and with the cmpxchg() that the next task to use the span does in
		 * become_taker().
		 */
		smp_store_release(&taker->task, NULL);
	}
}

/*
 * Reports a counter change made by current outside any span (rss_span.h). Writes the record at once if current does not
 * run in the target's address space or is a kernel worker. Otherwise begins a span, which reports the change when
 * current returns to user mode.
 */
static void changed_alone(struct massif_target *target, struct mm_struct *mm, int member, long by)
{
	long change[NR_MM_COUNTERS] = { 0 };
	struct massif_rss_span *span;

	change[member] = by;
	if (current->mm != mm) {
		tell(target, &nowhere, change, false);
	} else if (current->flags & MASSIF_PF_WORKER) {
		/*
		 * A worker that collects counts may add them to the shared counters outside any span. If all faults
		 * have spans, these counts need not be reported here, because the span of each fault has already
		 * reported the fault's count.
		 */
		if (!MASSIF_RSS_BY_THREAD || !READ_ONCE(massif_rss_faults_have_spans))
			tell(target, &nowhere, change, false);
	} else if (massif_task_has_user(current)) {
		span = add(target, &nowhere);
		if (span && queue(span, target)) {
			span->change[member] = by;
			return;
		}
		if (span)
			abandon(span, target);
		/*
		 * Without a span, report the change at once, unless the thread is adding its collected counts to the
		 * shared counters. The spans of its page faults have already reported those. If other counts are among
		 * them, a DRIFT record follows.
		 */
		if (!MASSIF_RSS_BY_THREAD || by != massif_rss_collected(member))
			tell(target, &nowhere, change, false);
	}
	/*
	 * In the remaining case, current is an exiting user thread that is adding its collected counts (compat/rss.h)
	 * to the shared counters. There is nothing to do, because these counts have already been reported.
	 */
}

/*
 * Notes the change of a counter in resident.base, and charges it to current's span. span: current's span; if NULL,
 * looks for current's span in the target's list.
 */
static noinline void changed(struct massif_target *target, struct mm_struct *mm, int member,
			     struct massif_rss_span *span)
{
	struct massif_resident *resident = &target->resident;
	unsigned long irq;
	long by;

	raw_spin_lock_irqsave(&resident->lock, irq);
	by = massif_rss_note(&resident->base, mm, member);
	if (!span)
		span = find_locked(resident);
	if (!span && by)
		resident->spans.unreported++;
	raw_spin_unlock_irqrestore(&resident->lock, irq);
	if (!span) {
		if (!by)
			return;
		changed_alone(target, mm, member, by);
		raw_spin_lock_irqsave(&resident->lock, irq);
		resident->spans.unreported--;
		raw_spin_unlock_irqrestore(&resident->lock, irq);
		return;
	}
	span->change[member] += by;
	if (!by)
		span->robbed = true;
}

/**
 * massif_rss_span_changed() - current has changed a counter of resident pages: add the change to current's span.
 * @member: the counter, MM_ANONPAGES etc.
 *
 * The span is the interval in which current handles a page fault or removes pages, or one that lasts until current
 * returns to user mode.
 *
 * Most changes are made in page faults, and since 6.2 the kernel calls the tracepoint for each of them. So a change
 * made in a page fault is added without taking a lock if possible (massif_rss_note_quickly()).
 *
 * Context: tracepoint rss_stat; may take resident.lock.
 */
void massif_rss_span_changed(struct mm_struct *mm, int member)
{
	struct massif_rss_span *span = massif_fault_slot_serving(mm);
	struct massif_target *target;
	long by;

	/*
	 * With preemption off, this is an RCU read-side section, and the task cannot migrate during
	 * massif_rss_note_quickly().
	 */
	preempt_disable();
	target = massif_target_find_resident(mm);
	if (target) {
		if (!span && is_taker(target))
			span = &target->resident.spans.taker;
		/*
		 * If span is NULL, or the change cannot be noted without a lock, call changed(), which takes
		 * resident.lock and notes the change in resident.base. If current has no span in the target's list
		 * either, changed() also increments spans.unreported. The check for drift, which compares the kernel's
		 * counters with the reported sums, then knows that a change has yet to be reported.
		 */
		if (likely(span && massif_rss_note_quickly(&target->resident.base, mm, member, &by)))
			span->change[member] += by;
		else
			changed(target, mm, member, span);
	}
	preempt_enable();
}

/**
 * massif_rss_spans_exit() - wait until no thread is still running the task_work callback of a span. Called when the
 * module is unloaded.
 * Context: process context; sleeps.
 */
void massif_rss_spans_exit(void)
{
	if (used)
		synchronize_rcu_tasks();
}
