// SPDX-License-Identifier: GPL-2.0
// What is resident of a target: the counters, and where a listener is put up. MOVE records.
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
 * With more threads than this what they have collected is only summed up now and then, for it is
 * done in a fault.
 */
#define THREADS_SUMMED_OFTEN	8
#define SPANS_BETWEEN_LOOKS	32
#define SPANS_BETWEEN_SUMS	64

atomic_t massif_mm_filters[1 << MASSIF_CROWD_BITS];

u64 massif_resident_epoch;

void massif_mm_filter(struct mm_struct *mm, int by)
{
	atomic_add(by, massif_mm_filter_of(mm));
}

/* The target of mm, if what is resident of it is followed. Under RCU. */
struct massif_target *massif_resident_find(struct mm_struct *mm)
{
	return mm && !massif_resident_unlikely(mm) ? massif_target_find_resident(mm) : NULL;
}

void massif_resident_init(struct massif_resident *resident)
{
	raw_spin_lock_init(&resident->lock);
	massif_rss_spans_init(&resident->spans);
}

/* The present counters, with what threads have collected; how many threads these are. */
static int count_all(struct mm_struct *mm, long *rss)
{
	int i;

	for (i = 0; i < NR_MM_COUNTERS; i++)
		rss[i] = massif_rss_shared(mm, i);
	return massif_rss_add_collected(mm, rss);
}

/*
 * Nobody is at work, and yet the counters are not what was told: some change was not seen. Tells
 * the difference.
 */
void massif_resident_look_for_drift(struct massif_target *target, struct mm_struct *mm)
{
	const struct massif_place place = { .cause = MASSIF_RESIDENT_DRIFT };
	struct massif_resident *resident = &target->resident;
	long now[NR_MM_COUNTERS], again[NR_MM_COUNTERS];
	struct massif_rec_resident rec;
	int i;

	lockdep_assert_held(&resident->lock);
	if (!massif_rss_spans_idle(target))
		return;
	resident->until_drift = count_all(mm, now) > THREADS_SUMMED_OFTEN ?
				SPANS_BETWEEN_SUMS : SPANS_BETWEEN_LOOKS;
	if (!memcmp(now, resident->told, sizeof(now)))
		return;
	/* A thread that ends adds what it has collected just now. */
	count_all(mm, again);
	if (memcmp(now, again, sizeof(now)))
		return;
	/*
	 * Whoever has changed what was counted still has a desk, or is the taker, for nobody can tell
	 * without the lock.
	 */
	smp_mb();
	if (massif_fault_slot_served(mm) || !massif_rss_spans_idle(target))
		return;
	for (i = 0; i < NR_MM_COUNTERS; i++)
		now[i] -= resident->told[i];
	massif_rss_record_fill(&rec, target, &place);
	massif_rss_record_write(target, &rec, now);
}

/*
 * Begins to follow what is resident of target, whose address space is mm (of current, or with a
 * reference). May sleep. False: not everything will be seen, for want of memory or because of a
 * signal; try again.
 */
bool massif_resident_attach(struct massif_target *target, struct mm_struct *mm)
{
	struct massif_resident *resident = &target->resident;
	struct massif_rss_base base = {};
	struct massif_rss_notifier *zap = NULL;
	unsigned long irq;

	if (!READ_ONCE(resident->attached) && !massif_rss_base_alloc(&base))
		return false;
	/* Killable: a program can keep this lock for as long as it likes, and the consumer waits for it here, too. */
	if (mmap_write_lock_killable(mm)) {
		massif_rss_base_free(&base);
		return false;
	}
	if (!resident->zap)
		zap = massif_rss_notifier_create(mm);
	raw_spin_lock_irqsave(&massif_table_lock, irq);
	if (target->alive && !resident->attached) {
		raw_spin_lock(&resident->lock);
		swap(resident->base, base);
		massif_rss_base_set(&resident->base, mm, resident->told);
		rcu_read_lock();
		massif_rss_add_collected(mm, resident->told);
		rcu_read_unlock();
		raw_spin_unlock(&resident->lock);
		resident->epoch = massif_resident_epoch + 1;
		/* With massif_rss_span_enter(): whoever has this has changed nothing that was counted. */
		smp_store_release(&massif_resident_epoch, resident->epoch);
		massif_mm_filter(mm, 1);
		/* With massif_target_find_resident(). */
		smp_store_release(&resident->attached, true);
	}
	if (target->alive && zap && !resident->zap) {
		massif_rss_notifier_aim(zap, target);
		swap(resident->zap, zap);
	}
	raw_spin_unlock_irqrestore(&massif_table_lock, irq);
	mmap_write_unlock(mm);

	if (zap)
		massif_rss_notifier_put(zap);
	massif_rss_base_free(&base);
	return resident->zap;
}

/* target is being taken out of the table: nobody is to find it any more. */
void massif_resident_hide(struct massif_target *target)
{
	lockdep_assert_held(&massif_table_lock);
	if (target->resident.zap)
		massif_rss_notifier_aim(target->resident.zap, NULL);
}

/* By the one who took target out of the table. */
void massif_resident_detach(struct massif_target *target)
{
	if (!target->resident.attached)
		return;
	massif_mm_filter(target->mm, -1);
	if (target->resident.zap)
		massif_rss_notifier_put(target->resident.zap);
}

/* Says what is resident now, after a resync or at the end. mm as in massif_resident_attach(). */
void massif_resident_base(struct massif_target *target, struct mm_struct *mm)
{
	const struct massif_place place = { .cause = MASSIF_RESIDENT_BASE };
	struct massif_resident *resident = &target->resident;
	struct massif_rec_resident rec;
	unsigned long irq;

	rcu_read_lock();
	massif_rss_record_fill(&rec, target, &place);
	raw_spin_lock_irqsave(&resident->lock, irq);
	massif_resident_look_for_drift(target, mm);
	massif_rss_record_write(target, &rec, NULL);
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

/* The target is about to be freed, and no hook can find it any more. */
void massif_resident_deinit(struct massif_resident *resident)
{
	massif_rss_spans_deinit(&resident->spans);
	massif_rss_base_free(&resident->base);
}
