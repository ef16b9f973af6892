// SPDX-License-Identifier: GPL-2.0
// Starts and stops tracking the resident pages of a target, looks for drift, and writes BASE, DRIFT and MOVE records.
#include <linux/massif.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>

#include "compat/rss.h"
#include "compat/task.h"
#include "fault_slots.h"
#include "record.h"
#include "resident.h"
#include "session.h"
#include "target.h"
#include "rss_record.h"
#include "rss_notifier.h"

/*
 * Summing the counts that the threads have collected slows down page faults, so in processes with more than this many
 * threads, the sum is computed less often.
 */
#define THREADS_SUMMED_OFTEN	8
#define SPANS_BETWEEN_LOOKS	32
#define SPANS_BETWEEN_SUMS	64

/*
 * The sum is computed with interrupts off, and a program can have any number of threads. While a process has more than
 * this many, changes that the module has missed are not looked for. They are reported (DRIFT) when threads have ended,
 * at the latest before EXIT.
 */
#define THREADS_SUMMED_MAX	256

/*
 * Maximum delay between a counter change and its report by the rss_stat tracepoint. A hypervisor may stop the virtual
 * processor between the two, and a preemptible kernel may preempt the task: khugepaged, which collapses pages into huge
 * ones at the lowest priority, waits for seconds if other tasks keep the processors busy.
 */
#define UNNOTED_PATIENCE	(10 * HZ)

atomic_t massif_mm_filters[1 << MASSIF_CROWD_BITS];

u64 massif_resident_epoch;

/**
 * massif_mm_filter() - add an address space to the filter, or remove it from the filter. The filter lets hooks quickly
 * dismiss most address spaces that are not targets.
 * @mm: the address space of a target, or of a test process that checks whether hooks fire (hooktest.c).
 * @by: 1 to add the address space, -1 to remove it.
 * Context: any.
 */
void massif_mm_filter(struct mm_struct *mm, int by)
{
	atomic_add(by, massif_mm_filter_of(mm));
}

/**
 * massif_resident_find() - find the target of @mm if its resident pages are being tracked.
 * @mm: may be NULL.
 * Context: RCU read-side section; do not use the result outside it.
 * Return: the target or NULL.
 */
struct massif_target *massif_resident_find(struct mm_struct *mm)
{
	return mm && !massif_resident_unlikely(mm) ? massif_target_find_resident(mm) : NULL;
}

/**
 * massif_resident_init() - initialise the state that a new target needs for tracking its resident pages.
 */
void massif_resident_init(struct massif_resident *resident)
{
	raw_spin_lock_init(&resident->lock);
	massif_rss_spans_init(&resident->spans);
}

/*
 * Reads the kernel's counters of resident pages, including collected changes that have not yet been added to the shared
 * counters (compat/rss.h).
 */
static void count_all(struct mm_struct *mm, long *rss)
{
	int i;

	for (i = 0; i < NR_MM_COUNTERS; i++)
		rss[i] = massif_rss_shared(mm, i);
	massif_rss_add_collected(mm, rss);
}

/*
 * Returns true if the module has counted all changes to the kernel's counters of resident pages. If these counters then
 * still differ from the sums reported to the consumer, the module has missed a change, and the difference is drift.
 *
 * Returns false while the rss_stat tracepoint may still report a change, because the kernel changes a counter slightly
 * before it calls rss_stat. Usually a span (an interval in which a task changes resident pages, see rss_span.h) shows
 * that such a report is still to come, but not if the change is made by another process (by UFFDIO_COPY, for example).
 * If the report has not arrived within UNNOTED_PATIENCE, or if @last is true, counts the missing changes here and
 * returns true: they are then drift. UNNOTED_PATIENCE is measured for one change: while other processes keep changing
 * the target's pages, every comparison may find a change, but each time a different one, which is about to be reported.
 */
static bool settled(struct massif_resident *resident, struct mm_struct *mm, bool last)
{
	struct massif_rss_unnoted unnoted;
	int i;

	lockdep_assert_held(&resident->lock);
	if (!massif_rss_find_unnoted(&resident->base, mm, &unnoted))
		return true;
	if (!resident->unnoted_since || memcmp(&unnoted, &resident->unnoted, sizeof(unnoted))) {
		resident->unnoted_since = jiffies ?: 1;
		resident->unnoted = unnoted;
	}
	if (!last && time_before(jiffies, resident->unnoted_since + UNNOTED_PATIENCE))
		return false;
	for (i = 0; i < NR_MM_COUNTERS; i++)
		massif_rss_note(&resident->base, mm, i);
	return true;
}

/*
 * Reports a difference between the kernel's counters and the reported sums, unless a change that has not yet been
 * reported explains it. @last: true if the next record is a BASE record, which gives the consumer the current sums.
 */
static void look_for_drift(struct massif_target *target, struct mm_struct *mm, bool last)
{
	const struct massif_place place = { .cause = MASSIF_RESIDENT_DRIFT };
	struct massif_resident *resident = &target->resident;
	long now[NR_MM_COUNTERS], again[NR_MM_COUNTERS];
	struct massif_rss_unnoted unnoted;
	struct massif_rec_resident rec;
	int i, threads;

	if (!massif_rss_spans_idle(target))
		return;
	threads = massif_rss_threads(mm);
	resident->until_drift = threads > THREADS_SUMMED_OFTEN ? SPANS_BETWEEN_SUMS : SPANS_BETWEEN_LOOKS;
	if (threads > THREADS_SUMMED_MAX)
		return;
	count_all(mm, now);
	if (!memcmp(now, resident->reported, sizeof(now))) {
		resident->unnoted_since = 0;
		return;
	}
	if (!settled(resident, mm, last))
		return;
	resident->unnoted_since = 0;
	/*
	 * Read the counters again: an exiting thread may just have added its collected counts to the shared counters.
	 */
	count_all(mm, again);
	if (memcmp(now, again, sizeof(now)))
		return;
	/*
	 * A thread may have changed a counter, in a page fault or in another span (an interval in which it may change
	 * the resident set), but not yet have reported the change. The checks below then find its fault slot or its
	 * span: the thread keeps these until it has made the report, and it cannot report without resident.lock, which
	 * we hold.
	 */
	smp_mb();
	if (massif_fault_slot_served(mm) || !massif_rss_spans_idle(target) ||
	    massif_rss_find_unnoted(&resident->base, mm, &unnoted))
		return;
	for (i = 0; i < NR_MM_COUNTERS; i++)
		now[i] -= resident->reported[i];
	massif_rss_record_fill(&rec, target, &place);
	massif_rss_record_write(target, &rec, now);
}

/**
 * massif_resident_look_for_drift() - report a difference between the kernel's counters and the reported sums.
 * @mm: the target's address space.
 *
 * Compares only if no thread is changing the counters, and if every change that the rss_stat tracepoint reports has
 * been passed on to the consumer. A difference then means that the module has missed a change; it is written as a DRIFT
 * record.
 *
 * Context: RCU read-side section; resident.lock is held.
 */
void massif_resident_look_for_drift(struct massif_target *target, struct mm_struct *mm)
{
	lockdep_assert_held(&target->resident.lock);
	look_for_drift(target, mm, false);
}

/**
 * massif_resident_attach() - start tracking the resident pages of a target.
 * @mm: the target's address space, either current's or one to which the caller holds a reference.
 * Context: process context; takes mmap_lock for writing; may sleep.
 * Return: false if no MMU notifier could be registered, for lack of memory or because of a signal; the caller
 *	may try again later.
 */
bool massif_resident_attach(struct massif_target *target, struct mm_struct *mm)
{
	struct massif_resident *resident = &target->resident;
	struct massif_rss_base base = {};
	struct massif_rss_notifier *rss_notifier = NULL;
	long collected[NR_MM_COUNTERS] = {};
	unsigned long irq;
	int i;

	if (!READ_ONCE(resident->attached) && !massif_rss_base_alloc(&base))
		return false;
	/*
	 * The wait for mmap_lock must be killable, because a program can hold the lock for any length of time. The
	 * thread that waits here belongs to the program, or is the consumer in an ioctl.
	 */
	if (mmap_write_lock_killable(mm)) {
		massif_rss_base_free(&base);
		return false;
	}
	if (!resident->rss_notifier)
		rss_notifier = massif_rss_notifier_create(mm);
	/*
	 * Do this with interrupts on, because there can be any number of threads. They cannot handle page faults in the
	 * meantime, for want of mmap_lock. If one of them exits, and adds its collected changes to the shared counters,
	 * these can be counted twice; they are then corrected as drift.
	 */
	if (!resident->attached) {
		rcu_read_lock();
		massif_rss_add_collected(mm, collected);
		rcu_read_unlock();
	}
	raw_spin_lock_irqsave(&massif_table_lock, irq);
	if (target->alive && !resident->attached) {
		raw_spin_lock(&resident->lock);
		swap(resident->base, base);
		massif_rss_base_set(&resident->base, mm, resident->reported);
		for (i = 0; i < NR_MM_COUNTERS; i++)
			resident->reported[i] += collected[i];
		raw_spin_unlock(&resident->lock);
		resident->epoch = massif_resident_epoch + 1;
		/*
		 * This release pairs with the acquire in massif_rss_span_enter(). If a new span sees the new value of
		 * massif_resident_epoch, the counters were read (above) before that span began, so the values include
		 * none of its changes.
		 */
		smp_store_release(&massif_resident_epoch, resident->epoch);
		massif_mm_filter(mm, 1);
		/* This release pairs with the acquire in massif_target_find_resident(). */
		smp_store_release(&resident->attached, true);
	}
	if (target->alive && rss_notifier && !resident->rss_notifier) {
		massif_rss_notifier_aim(rss_notifier, target);
		/* Hooks and task work test without a lock whether there is a notifier. */
		WRITE_ONCE(resident->rss_notifier, rss_notifier);
		rss_notifier = NULL;
	}
	raw_spin_unlock_irqrestore(&massif_table_lock, irq);
	mmap_write_unlock(mm);

	if (rss_notifier)
		massif_rss_notifier_put(rss_notifier);
	massif_rss_base_free(&base);
	return READ_ONCE(resident->rss_notifier);
}

/**
 * massif_resident_hide() - detach the MMU notifier from a target that is being removed from the table.
 * Context: massif_table_lock is held.
 */
void massif_resident_hide(struct massif_target *target)
{
	lockdep_assert_held(&massif_table_lock);
	if (target->resident.rss_notifier)
		massif_rss_notifier_aim(target->resident.rss_notifier, NULL);
}

/**
 * massif_resident_detach() - stop tracking the resident pages of a target.
 * Context: called by the thread that removed the target from the table, without massif_table_lock held.
 */
void massif_resident_detach(struct massif_target *target)
{
	if (!target->resident.attached)
		return;
	massif_mm_filter(target->mm, -1);
	if (target->resident.rss_notifier)
		massif_rss_notifier_put(target->resident.rss_notifier);
}

/**
 * massif_resident_base() - write a BASE record with the target's current numbers of resident pages, after a resync or
 * before EXIT.
 * @mm: as for massif_resident_attach().
 * Context: any; takes resident.lock.
 */
void massif_resident_base(struct massif_target *target, struct mm_struct *mm)
{
	const struct massif_place place = { .cause = MASSIF_RESIDENT_BASE };
	struct massif_resident *resident = &target->resident;
	struct massif_rec_resident rec;
	unsigned long irq;

	rcu_read_lock();
	massif_rss_record_fill(&rec, target, &place);
	raw_spin_lock_irqsave(&resident->lock, irq);
	look_for_drift(target, mm, true);
	massif_rss_record_write(target, &rec, NULL);
	raw_spin_unlock_irqrestore(&resident->lock, irq);
	rcu_read_unlock();
}

/**
 * massif_resident_move() - write a MOVE record for the mremap() call that current is executing.
 * @to: address of the new mapping.
 * @len: length of the new mapping, in bytes.
 *
 * If the length is unchanged and the caller specifies the destination, the kernel (since 6.17) may move several
 * mappings in one call, keeping the distances between them. This function is then called once for each mapping.
 *
 * Context: hook, RCU read-side section.
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

/**
 * massif_resident_deinit() - free the state used to track the resident pages of a target, once no hook can find the
 * target any more.
 */
void massif_resident_deinit(struct massif_resident *resident)
{
	massif_rss_spans_deinit(&resident->spans);
	massif_rss_base_free(&resident->base);
}
