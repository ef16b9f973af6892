// SPDX-License-Identifier: GPL-2.0
// What is taken from a target's page tables: unmapped, given back, truncated, reclaimed.
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/slab.h>

#include "resident.h"
#include "session.h"
#include "rss_span.h"
#include "rss_notifier.h"

#ifdef CONFIG_MMU_NOTIFIER

const bool massif_rss_notifier_available = true;

/*
 * A listener on one address space. Only that one pays for it. It may well outlive its target, which then
 * is not its target any more.
 */
struct massif_rss_notifier {
	struct mmu_notifier notifier;
	struct massif_target *target;	/* changed under massif_table_lock, read under RCU; or NULL */
};

/*
 * Whose pages go; NULL if the target is gone. It is never looked up by the address space, which can have a second
 * listener for a moment: both would report the same ranges, and one of them the begin without the end. Under RCU.
 */
static struct massif_target *target_of(struct mmu_notifier *notifier)
{
	struct massif_rss_notifier *zap = container_of(notifier, struct massif_rss_notifier, notifier);

	/* With massif_rss_notifier_aim(). */
	return smp_load_acquire(&zap->target);
}

/* Called for nothing else but to learn what follows: never blocks, never refuses. */
static int range_start(struct mmu_notifier *notifier, const struct mmu_notifier_range *range)
{
	struct massif_target *target;

	if (range->start >= range->end)
		return 0;
	rcu_read_lock();
	target = target_of(notifier);
	if (target)
		massif_rss_span_begin(target, range->start, range->end);
	rcu_read_unlock();
	return 0;
}

static void range_end(struct mmu_notifier *notifier, const struct mmu_notifier_range *range)
{
	struct massif_target *target;

	if (range->start >= range->end)
		return;
	rcu_read_lock();
	target = target_of(notifier);
	if (target)
		massif_rss_span_end(target, range->start, range->end);
	rcu_read_unlock();
}

/* An SRCU grace period after massif_rss_notifier_put(). */
static void free_zap(struct mmu_notifier *notifier)
{
	kfree(container_of(notifier, struct massif_rss_notifier, notifier));
}

static const struct mmu_notifier_ops operations = {
	.invalidate_range_start	= range_start,
	.invalidate_range_end	= range_end,
	.free_notifier		= free_zap,
};

/*
 * mm is current's or has a reference, and its mmap_lock is held for writing, until massif_rss_notifier_aim(): so no munmap
 * sees the listener without its target. May sleep. NULL: no memory, or a signal.
 */
struct massif_rss_notifier *massif_rss_notifier_create(struct mm_struct *mm)
{
	struct massif_rss_notifier *zap = kzalloc(sizeof(*zap), GFP_KERNEL_ACCOUNT);

	if (!zap)
		return NULL;
	zap->notifier.ops = &operations;
	if (__mmu_notifier_register(&zap->notifier, mm)) {
		kfree(zap);
		return NULL;
	}
	return zap;
}

/*
 * From now on what goes is target's (NULL: nobody's). Under massif_table_lock, and only as long as target
 * is in the table: who has found it there uses it under RCU.
 */
void massif_rss_notifier_aim(struct massif_rss_notifier *zap, struct massif_target *target)
{
	lockdep_assert_held(&massif_table_lock);
	/* With target_of(). */
	smp_store_release(&zap->target, target);
}

/* It holds its address space (mm_count) until it is freed, so this may come at any time. */
void massif_rss_notifier_put(struct massif_rss_notifier *zap)
{
	mmu_notifier_put(&zap->notifier);
}

/* All have been put. */
void massif_rss_notifier_exit(void)
{
	mmu_notifier_synchronize();
}

#else /* no CONFIG_MMU_NOTIFIER: SETUP refuses, none of these is called */

const bool massif_rss_notifier_available;

struct massif_rss_notifier *massif_rss_notifier_create(struct mm_struct *mm)
{
	return NULL;
}

void massif_rss_notifier_aim(struct massif_rss_notifier *zap, struct massif_target *target)
{
}

void massif_rss_notifier_put(struct massif_rss_notifier *zap)
{
}

void massif_rss_notifier_exit(void)
{
}

#endif
