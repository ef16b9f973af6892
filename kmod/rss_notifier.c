// SPDX-License-Identifier: GPL-2.0
// An MMU notifier on a target: called when munmap, madvise, truncation or reclaim removes pages.
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "resident.h"
#include "session.h"
#include "rss_span.h"
#include "rss_notifier.h"

#ifdef CONFIG_MMU_NOTIFIER

const bool massif_rss_notifier_available = true;

/*
 * A notifier on one address space; it costs other address spaces nothing. It may outlive its target; in that case,
 * target is NULL.
 */
struct massif_rss_notifier {
	struct mmu_notifier notifier;
	/* The notifier's target, or NULL if it has none. Changed under massif_table_lock, read under RCU. */
	struct massif_target *target;
};

/* Number of notifiers that exist; free_rss_notifier() wakes whom waits for it to be 0. */
static atomic_t n_notifiers = ATOMIC_INIT(0);
/* Set when the first one has been made. */
static bool used;

/*
 * The notifier's target, or NULL if it has been removed. Called under RCU. Do not look the target up by its address
 * space instead: an address space can briefly have two notifiers. Both would then report the same ranges, and one of
 * them would report the start of a removal without the matching end.
 */
static struct massif_target *target_of(struct mmu_notifier *notifier)
{
	struct massif_rss_notifier *rss_notifier = container_of(notifier, struct massif_rss_notifier, notifier);

	/* This acquire pairs with the release in massif_rss_notifier_aim(). */
	return smp_load_acquire(&rss_notifier->target);
}

/*
 * Called before the pages in a range are removed. It only notes that current has begun a removal; it never blocks and
 * never vetoes the removal.
 */
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

/* Frees a notifier. Called an SRCU grace period after massif_rss_notifier_put(). */
static void free_rss_notifier(struct mmu_notifier *notifier)
{
	kfree(container_of(notifier, struct massif_rss_notifier, notifier));
	if (atomic_dec_and_test(&n_notifiers))
		wake_up_var(&n_notifiers);
}

static const struct mmu_notifier_ops operations = {
	.invalidate_range_start	= range_start,
	.invalidate_range_end	= range_end,
	.free_notifier		= free_rss_notifier,
};

/**
 * massif_rss_notifier_create() - register a notifier on an address space. The notifier is not yet connected to a
 * target.
 * @mm: current's address space, or one to which the caller holds a reference.
 *
 * The caller keeps mmap_lock until it has called massif_rss_notifier_aim(), so that no munmap sees the
 * notifier without its target.
 *
 * Context: mmap_lock is held for writing; may sleep.
 * Return: the notifier, or NULL if out of memory or a signal is pending.
 */
struct massif_rss_notifier *massif_rss_notifier_create(struct mm_struct *mm)
{
	struct massif_rss_notifier *rss_notifier = kzalloc(sizeof(*rss_notifier), GFP_KERNEL_ACCOUNT);

	if (!rss_notifier)
		return NULL;
	rss_notifier->notifier.ops = &operations;
	if (__mmu_notifier_register(&rss_notifier->notifier, mm)) {
		kfree(rss_notifier);
		return NULL;
	}
	atomic_inc(&n_notifiers);
	WRITE_ONCE(used, true);
	return rss_notifier;
}

/**
 * massif_rss_notifier_aim() - connect the notifier to a target that is in the table, or disconnect it.
 * @target: the target, or NULL to disconnect.
 * Context: massif_table_lock is held. Callbacks read and use the target within one RCU read-side section.
 */
void massif_rss_notifier_aim(struct massif_rss_notifier *rss_notifier, struct massif_target *target)
{
	lockdep_assert_held(&massif_table_lock);
	/* This release pairs with the acquire in target_of(). */
	smp_store_release(&rss_notifier->target, target);
}

/**
 * massif_rss_notifier_put() - unregister and later free a notifier.
 *
 * A notifier holds a reference to its address space (mm_count) until it is freed, so this may be called at
 * any time.
 *
 * Context: any.
 */
void massif_rss_notifier_put(struct massif_rss_notifier *rss_notifier)
{
	mmu_notifier_put(&rss_notifier->notifier);
}

/**
 * massif_rss_notifier_exit() - wait until all notifiers are freed, and no thread is in the function that frees them.
 * Called when the module is unloaded.
 *
 * massif_rss_notifier_put() has been called for each of them. mmu_notifier_synchronize() would not do: it waits for a grace
 * period, after which the functions that the kernel calls at its end may still be waiting for their turn on another
 * processor.
 *
 * Context: process context; sleeps.
 */
void massif_rss_notifier_exit(void)
{
	if (!used)
		return;
	wait_var_event(&n_notifiers, !atomic_read(&n_notifiers));
	/* free_rss_notifier() may not have returned yet from where it has counted down. */
	synchronize_rcu_tasks();
}

#else /* stubs without CONFIG_MMU_NOTIFIER: never called, because SETUP refuses MASSIF_SETUP_RESIDENT */

const bool massif_rss_notifier_available;

struct massif_rss_notifier *massif_rss_notifier_create(struct mm_struct *mm)
{
	return NULL;
}

void massif_rss_notifier_aim(struct massif_rss_notifier *rss_notifier, struct massif_target *target)
{
}

void massif_rss_notifier_put(struct massif_rss_notifier *rss_notifier)
{
}

void massif_rss_notifier_exit(void)
{
}

#endif
