// SPDX-License-Identifier: GPL-2.0
// What is resident of a target, and who changed it: RESIDENT and MOVE records.
#include <linux/massif.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/task_work.h>

#include "compat/rss.h"
#include "compat/task.h"
#include "desk.h"
#include "record.h"
#include "resident.h"
#include "session.h"
#include "stack.h"
#include "target.h"
#include "zap.h"

/* In which order the records have the counters. */
static const int members[MASSIF_RSS_COUNT] = {
	[MASSIF_RSS_ANON]  = MM_ANONPAGES,
	[MASSIF_RSS_FILE]  = MM_FILEPAGES,
	[MASSIF_RSS_SHMEM] = MM_SHMEMPAGES,
	[MASSIF_RSS_SWAP]  = MM_SWAPENTS,
};

/* Few and always as many: so the compiler writes them out. */
#define each(i, count)	_Pragma("GCC unroll 8") for ((i) = 0; (i) < (count); (i)++)

static const struct massif_place nowhere = { .cause = MASSIF_RESIDENT_OTHER };

/*
 * With more threads than this what they have collected is only summed up now and then, for it is
 * done in a fault.
 */
#define THREADS_SUMMED_OFTEN	8
#define SPANS_BETWEEN_LOOKS	32
#define SPANS_BETWEEN_SUMS	64

atomic_t massif_resident_crowds[1 << MASSIF_CROWD_BITS];

/* Spans that are queued, of all targets: they are in lists, where a fault does not look otherwise. */
static atomic_t nr_queued;

/* How often massif_resident_attach() has looked at the counters of a target: for who was amid a fault. */
static u64 epoch;

/* Has any thread ever been in run(), or will be? */
static bool used;

void massif_resident_crowd(struct mm_struct *mm, int by)
{
	atomic_add(by, massif_resident_crowd_of(mm));
}

/* massif_resident_find(), of an address space that can be a target's. */
static struct massif_target *find_target(struct mm_struct *mm)
{
	struct massif_target *target = massif_target_find(mm);

	/* With massif_resident_attach(). */
	return target && smp_load_acquire(&target->resident.attached) ? target : NULL;
}

/* The target of mm, if what is resident of it is followed. Under RCU. */
struct massif_target *massif_resident_find(struct mm_struct *mm)
{
	return mm && !massif_resident_unlikely(mm) ? find_target(mm) : NULL;
}

void massif_resident_init(struct massif_resident *resident)
{
	raw_spin_lock_init(&resident->lock);
	INIT_LIST_HEAD(&resident->spans);
}

/* The present counters, with what threads have collected; how many threads these are. */
static int count_all(struct mm_struct *mm, long *rss)
{
	int i;

	for (i = 0; i < NR_MM_COUNTERS; i++)
		rss[i] = massif_rss_shared(mm, i);
	return massif_rss_add_collected(mm, rss);
}

/* Fills all but who did it, and what write() does. */
static void fill(struct massif_rec_resident *rec, struct massif_target *target,
		 const struct massif_place *place)
{
	rec->addr = place->addr;
	rec->len = place->len;
	rec->cause = place->cause;
	rec->__pad = 0;
	massif_record_init(&rec->h, MASSIF_REC_RESIDENT, sizeof(*rec), target->session, target);
}

/* Adds change (NULL: none) to what was told, and tells it. */
static __always_inline void write(struct massif_target *target, struct massif_rec_resident *rec,
		  const long *change)
{
	struct massif_resident *resident = &target->resident;
	int i;

	lockdep_assert_held(&resident->lock);
	each(i, MASSIF_RSS_COUNT) {
		long *told = &resident->told[members[i]];

		if (change)
			*told += change[members[i]];
		rec->change[i] = change ? change[members[i]] : 0;
		/* What one thread takes away can be told before what another had brought. */
		rec->rss[i] = max(*told, 0L);
	}
	massif_record_write_irqsoff(target->session, target, &rec->h, false);
}

static bool nothing(const long *change)
{
	long any = 0;
	int i;

	each(i, NR_MM_COUNTERS)
		any |= change[i];
	return !any;
}

/* As for an UNMAP: what goes is taken from those who brought it. */
static void prepare(struct massif_rec_resident *rec, struct massif_target *target,
		    const struct massif_place *place)
{
	fill(rec, target, place);
	if (place->cause != MASSIF_RESIDENT_GONE)
		massif_stack_explain(&rec->h, target, false);
}

/*
 * Nobody is at work, and yet the counters are not what was told: some change was not seen. Tells
 * the difference.
 */
static noinline void look_for_drift(struct massif_target *target, struct mm_struct *mm)
{
	const struct massif_place place = { .cause = MASSIF_RESIDENT_DRIFT };
	struct massif_resident *resident = &target->resident;
	long now[NR_MM_COUNTERS], again[NR_MM_COUNTERS];
	struct massif_rec_resident rec;
	int i;

	lockdep_assert_held(&resident->lock);
	if (!list_empty(&resident->spans))
		return;
	resident->until_drift = count_all(mm, now) > THREADS_SUMMED_OFTEN ?
				SPANS_BETWEEN_SUMS : SPANS_BETWEEN_LOOKS;
	if (!memcmp(now, resident->told, sizeof(now)))
		return;
	/* A thread that ends adds what it has collected just now. */
	count_all(mm, again);
	if (memcmp(now, again, sizeof(now)))
		return;
	/* Whoever has changed what was counted still has a desk, for nobody can tell without the lock. */
	smp_mb();
	if (massif_desk_served(mm))
		return;
	for (i = 0; i < NR_MM_COUNTERS; i++)
		now[i] -= resident->told[i];
	fill(&rec, target, &place);
	write(target, &rec, now);
}

/* A span ends: now and then that is when to look. Most do not, and shall not pay for its variables. */
static void maybe_look_for_drift(struct massif_target *target, struct mm_struct *mm)
{
	struct massif_resident *resident = &target->resident;

	lockdep_assert_held(&resident->lock);
	if (!resident->until_drift || !--resident->until_drift)
		look_for_drift(target, mm);
}

/* Tells of change at place, by current. ends: a span that is not in the list ends with it. */
static __always_inline void tell(struct massif_target *target, const struct massif_place *place,
				 const long *change, bool ends)
{
	struct massif_resident *resident = &target->resident;
	struct massif_rec_resident rec MASSIF_RAW;
	unsigned long irq;

	if (nothing(change))
		return;
	prepare(&rec, target, place);
	raw_spin_lock_irqsave(&resident->lock, irq);
	write(target, &rec, change);
	if (ends)
		maybe_look_for_drift(target, target->mm);
	raw_spin_unlock_irqrestore(&resident->lock, irq);
}

static noinline void tell_amid(struct massif_target *target, const struct massif_place *place,
			       const long *change)
{
	tell(target, place, change, false);
}

/* What the span has changed since it was cut, or began. last: it is not cut again. */
static __always_inline void cut(struct massif_span *span, const struct massif_target *target, long *change,
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

	each(i, NR_MM_COUNTERS) {
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

static void cut_and_tell(struct massif_span *span, struct massif_target *target,
			 const struct massif_place *place)
{
	long change[NR_MM_COUNTERS];

	cut(span, target, change, false);
	tell_amid(target, place, change);
}

/* Current's span in the list. */
static struct massif_span *find_locked(struct massif_resident *resident)
{
	struct massif_span *span;

	lockdep_assert_held(&resident->lock);
	list_for_each_entry(span, &resident->spans, list)
		if (span->task == current)
			return span;
	return NULL;
}

/* Current's span; nobody else can end it. */
static struct massif_span *find(struct massif_target *target)
{
	struct massif_resident *resident = &target->resident;
	struct massif_span *span = massif_desk_serving(target->mm);
	unsigned long irq;

	if (span)
		return span;
	raw_spin_lock_irqsave(&resident->lock, irq);
	span = find_locked(resident);
	raw_spin_unlock_irqrestore(&resident->lock, irq);
	return span;
}

/*
 * Ends a span that was at place with what it has changed (NULL: the target is not followed any
 * more), in one go, for this is the end of every fault. A span that nobody has a use for is kept for
 * the next; otherwise it is returned, to be freed.
 */
static struct massif_span *leave(struct massif_span *span, struct massif_target *target,
				 const struct massif_place *place, const long *change)
{
	struct massif_resident *resident = &target->resident;
	bool tells = change && !nothing(change);
	struct massif_rec_resident rec;
	unsigned long irq;

	if (tells)
		prepare(&rec, target, place);
	raw_spin_lock_irqsave(&resident->lock, irq);
	list_del(&span->list);
	if (tells)
		write(target, &rec, change);
	if (change)
		maybe_look_for_drift(target, target->mm);
	if (!resident->spare) {
		resident->spare = span;
		span = NULL;
	}
	raw_spin_unlock_irqrestore(&resident->lock, irq);
	return span;
}

/* The thread is about to return to user mode, or ends. */
static void run(struct callback_head *work)
{
	struct massif_span *span = container_of(work, struct massif_span, work);
	struct massif_target *target = span->target;
	struct massif_place place = span->place;
	long change[NR_MM_COUNTERS];
	bool alive;

	rcu_read_lock();
	alive = READ_ONCE(target->alive);
	if (alive)
		cut(span, target, change, true);
	span = leave(span, target, &place, alive ? change : NULL);
	rcu_read_unlock();
	atomic_dec(&nr_queued);
	kfree(span);
	/* A signal was pending when it was tried. */
	if (unlikely(!target->resident.zap) && current->mm == target->mm)
		massif_resident_attach(target, target->mm);
	massif_target_put(target);
	/* massif_resident_exit() waits for the few instructions that are left. */
	module_put(THIS_MODULE);
}

static void start(struct massif_span *span, struct massif_target *target,
		  const struct massif_place *place)
{
	int i;

	lockdep_assert_held(&target->resident.lock);
	span->task = current;
	span->own = current->mm == target->mm;
	span->lasts = false;
	span->depth = 0;
	span->place = *place;
	span->desk = NULL;
	for (i = 0; i < NR_MM_COUNTERS; i++) {
		span->change[i] = 0;
		span->collected[i] = span->own ? massif_rss_collected(i) : 0;
	}
	list_add(&span->list, &target->resident.spans);
}

/* Current's span, or a new one (*new), which begins at place. NULL: no memory. */
static struct massif_span *find_or_start(struct massif_target *target,
					 const struct massif_place *place, bool *new)
{
	struct massif_resident *resident = &target->resident;
	struct massif_span *span = massif_desk_serving(target->mm);
	unsigned long irq;

	*new = false;
	if (span)
		return span;
	raw_spin_lock_irqsave(&resident->lock, irq);
	span = find_locked(resident);
	if (!span && resident->spare) {
		*new = true;
		span = resident->spare;
		resident->spare = NULL;
		start(span, target, place);
	}
	raw_spin_unlock_irqrestore(&resident->lock, irq);
	if (span)
		return span;

	span = kmalloc(sizeof(*span), GFP_ATOMIC | __GFP_NOWARN);
	if (!span)
		return NULL;
	*new = true;
	raw_spin_lock_irqsave(&resident->lock, irq);
	start(span, target, place);
	raw_spin_unlock_irqrestore(&resident->lock, irq);
	return span;
}

/* Ends what has only just begun. */
static void abandon(struct massif_span *span, struct massif_target *target)
{
	kfree(leave(span, target, &span->place, NULL));
}

/* The new span is to end when current returns to user mode. False: one of thread and session ends. */
static bool queue(struct massif_span *span, struct massif_target *target)
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
 * not entered; say it in another way (massif_resident_touch()).
 */
bool massif_resident_enter(struct massif_span *span, struct mm_struct *mm, unsigned long addr)
{
	struct massif_desk *desk;
	int i;

	/* It may have a span in the list. And a fault within a fault there is not. */
	if (unlikely(atomic_read(&nr_queued)))
		return false;
	desk = massif_desk_take();
	if (!desk)
		return false;
	span->own = true;
	span->lasts = true;
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
		span->epoch = smp_load_acquire(&epoch);
	each(i, NR_MM_COUNTERS) {
		span->change[i] = 0;
		if (MASSIF_RSS_BY_THREAD)
			span->collected[i] = massif_rss_collected(i);
	}
	massif_desk_serve(desk, mm, span);
	return true;
}

/* The fault has been handled. True: it had a reference to the module, which is to be put last. */
bool massif_resident_leave(struct massif_span *span)
{
	struct massif_target *target;
	long change[NR_MM_COUNTERS] MASSIF_RAW;
	bool adopted;

	rcu_read_lock();
	target = find_target(span->mm);
	if (target) {
		cut(span, target, change, true);
		tell(target, &span->place, change, true);
	}
	adopted = massif_desk_give_back(span->desk);
	/* For run(), which can sleep. */
	if (target && unlikely(!READ_ONCE(target->resident.zap)))
		massif_resident_touch(target, &nowhere);
	rcu_read_unlock();
	return adopted;
}

/* Current is about to bring pages at place in, until it returns to user mode or the next place. */
void massif_resident_touch(struct massif_target *target, const struct massif_place *place)
{
	struct massif_span *span;
	bool new;

	span = find_or_start(target, place, &new);
	if (!span)
		return;
	if (new && !queue(span, target)) {
		abandon(span, target);
	} else if (!new && !span->depth) {
		cut_and_tell(span, target, &span->place);
		span->place = *place;
	}
}

/* A fault that replaces its own page (copy on write) takes nothing away. */
static bool in_own_fault(const struct massif_span *span, const struct massif_place *range)
{
	return !span->depth && span->place.cause == MASSIF_RESIDENT_FAULT &&
	       span->place.addr - range->addr < range->len;
}

/* Something is about to be taken from range, by current. Others may do so at the same time. */
void massif_resident_begin(struct massif_target *target, const struct massif_place *range)
{
	struct massif_span *span;
	bool new;

	span = find_or_start(target, range, &new);
	if (!span || (!new && in_own_fault(span, range)))
		return;
	if (!span->depth++ && !new)
		cut_and_tell(span, target, &span->place);
}

/* It has been. */
void massif_resident_end(struct massif_target *target, const struct massif_place *range)
{
	struct massif_span *span = find(target);
	long change[NR_MM_COUNTERS];

	if (!span || !span->depth || --span->depth)
		return;
	cut(span, target, change, false);
	if (span->lasts)
		tell_amid(target, range, change);
	else
		kfree(leave(span, target, range, change));
}

/* What nobody has a span for: by current, if it will return to user mode, or by someone else. */
static void changed_alone(struct massif_target *target, struct mm_struct *mm, int member, long by)
{
	long change[NR_MM_COUNTERS] = { 0 };
	struct massif_span *span;
	bool new;

	change[member] = by;
	if (current->mm != mm) {
		tell_amid(target, &nowhere, change);
	} else if (massif_task_has_user(current)) {
		span = find_or_start(target, &nowhere, &new);
		if (span && queue(span, target))
			span->change[member] = by;
		else if (span)
			abandon(span, target);
	}
	/* What is left is a thread that ends, and adds what it has collected and was told. */
}

/* span is current's, if it is amid a fault. noted: what it has changed is by; else that is to be found. */
static noinline void changed(struct massif_target *target, struct mm_struct *mm, int member,
			     struct massif_span *span, bool noted, long by)
{
	struct massif_resident *resident = &target->resident;
	unsigned long irq;

	raw_spin_lock_irqsave(&resident->lock, irq);
	if (!noted)
		by = massif_rss_note(&resident->base, mm, member);
	if (!span)
		span = find_locked(resident);
	raw_spin_unlock_irqrestore(&resident->lock, irq);
	if (span)
		span->change[member] += by;
	else if (by)
		changed_alone(target, mm, member, by);
}

/*
 * The counter member of mm has changed, by current. Most changes are made in a fault, and since 6.2 each
 * is seen: that takes no lock.
 */
void massif_resident_changed(struct mm_struct *mm, int member)
{
	struct massif_span *span = massif_desk_serving(mm);
	struct massif_target *target;
	long by;

	/* For RCU, and for what is noted by processor. */
	preempt_disable();
	target = find_target(mm);
	if (target) {
		bool noted = massif_rss_note_quickly(&target->resident.base, mm, member, &by);

		if (likely(noted && span))
			span->change[member] += by;
		else
			changed(target, mm, member, span, noted, by);
	}
	preempt_enable();
}

/*
 * Begins to follow what is resident of target, whose address space is mm (of current, or with a
 * reference). May sleep. False: not everything will be seen, for want of memory or because of a
 * signal; try again.
 */
bool massif_resident_attach(struct massif_target *target, struct mm_struct *mm)
{
	struct massif_resident *resident = &target->resident;
	struct massif_zap *zap = massif_zap_create(mm);
	struct massif_rss_base base = {};
	unsigned long irq;

	if (!READ_ONCE(resident->attached) && !massif_rss_base_alloc(&base)) {
		if (zap)
			massif_zap_put(zap);
		return false;
	}
	raw_spin_lock_irqsave(&massif_table_lock, irq);
	if (target->alive && !resident->attached) {
		raw_spin_lock(&resident->lock);
		swap(resident->base, base);
		massif_rss_base_set(&resident->base, mm, resident->told);
		rcu_read_lock();
		massif_rss_add_collected(mm, resident->told);
		rcu_read_unlock();
		raw_spin_unlock(&resident->lock);
		resident->epoch = epoch + 1;
		/* With massif_resident_enter(): whoever has this has changed nothing that was counted. */
		smp_store_release(&epoch, resident->epoch);
		massif_resident_crowd(mm, 1);
		/* With massif_resident_find(). */
		smp_store_release(&resident->attached, true);
	}
	if (target->alive && !resident->zap)
		swap(resident->zap, zap);
	raw_spin_unlock_irqrestore(&massif_table_lock, irq);

	if (zap)
		massif_zap_put(zap);
	massif_rss_base_free(&base);
	return resident->zap;
}

/* By the one who took target out of the table. */
void massif_resident_detach(struct massif_target *target)
{
	if (!target->resident.attached)
		return;
	massif_resident_crowd(target->mm, -1);
	if (target->resident.zap)
		massif_zap_put(target->resident.zap);
}

/* Says what is resident now, after a resync or at the end. mm as in massif_resident_attach(). */
void massif_resident_base(struct massif_target *target, struct mm_struct *mm)
{
	const struct massif_place place = { .cause = MASSIF_RESIDENT_BASE };
	struct massif_resident *resident = &target->resident;
	struct massif_rec_resident rec;
	unsigned long irq;

	rcu_read_lock();
	fill(&rec, target, &place);
	raw_spin_lock_irqsave(&resident->lock, irq);
	look_for_drift(target, mm);
	write(target, &rec, NULL);
	raw_spin_unlock_irqrestore(&resident->lock, irq);
	rcu_read_unlock();
}

/*
 * Current's mremap has made the destination of a move, of len bytes at to. Where the length stays and
 * the destination is given, the kernel may move several mappings, as far apart as they were: one each
 * time (since 6.17).
 */
void massif_resident_move(struct massif_target *target, unsigned long to, unsigned long len)
{
	struct massif_rec_move rec = { .addr = to };
	struct massif_mremap mremap;

	if (!smp_load_acquire(&target->resident.attached) || current->mm != target->mm ||
	    !massif_task_in_any_mremap(&mremap) || !mremap.old_len)
		return;
	rec.from = mremap.addr;
	rec.len = mremap.old_len;
	if (mremap.flags & MREMAP_FIXED && mremap.old_len == mremap.new_len) {
		rec.from += to - mremap.new_addr;
		rec.len = len;
	}
	massif_record_init(&rec.h, MASSIF_REC_MOVE, sizeof(rec), target->session, target);
	massif_record_write(target->session, target, &rec.h, false);
}

/*
 * The target is about to be freed, and no hook can find it any more. A span is still in the list if
 * the session was closed while its task took a range away: that one's end found no target.
 */
void massif_resident_deinit(struct massif_resident *resident)
{
	struct massif_span *span, *next;

	list_for_each_entry_safe(span, next, &resident->spans, list)
		kfree(span);
	kfree(resident->spare);
	massif_rss_base_free(&resident->base);
}

/* Nobody is left, but a thread may still be about to return from run(). */
void massif_resident_exit(void)
{
	massif_zap_exit();
	if (used)
		synchronize_rcu_tasks();
}
