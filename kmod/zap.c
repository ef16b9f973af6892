// SPDX-License-Identifier: GPL-2.0
// What is taken from a target's page tables: unmapped, given back, truncated, reclaimed.
#include <linux/err.h>
#include <linux/massif.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/slab.h>

#include "resident.h"
#include "zap.h"

#ifdef CONFIG_MMU_NOTIFIER

const bool massif_zap_available = true;

/*
 * A listener on one address space. Only that one pays for it. It knows its address space and
 * nothing of the target, which is looked up: so it may well outlive it.
 */
struct massif_zap {
	struct mmu_notifier notifier;
};

static bool place_of(const struct mmu_notifier_range *range, struct massif_place *place)
{
	if (range->start >= range->end)
		return false;
	*place = (struct massif_place){
		.addr = range->start & PAGE_MASK,
		.len = PAGE_ALIGN(range->end) - (range->start & PAGE_MASK),
		.cause = MASSIF_RESIDENT_GONE,
	};
	return true;
}

/* Called for nothing else but to learn what follows: never blocks, never refuses. */
static int range_start(struct mmu_notifier *notifier, const struct mmu_notifier_range *range)
{
	struct massif_target *target;
	struct massif_place place;

	if (!place_of(range, &place))
		return 0;
	rcu_read_lock();
	target = massif_resident_find(range->mm);
	if (target)
		massif_resident_begin(target, &place);
	rcu_read_unlock();
	return 0;
}

static void range_end(struct mmu_notifier *notifier, const struct mmu_notifier_range *range)
{
	struct massif_target *target;
	struct massif_place place;

	if (!place_of(range, &place))
		return;
	rcu_read_lock();
	target = massif_resident_find(range->mm);
	if (target)
		massif_resident_end(target, &place);
	rcu_read_unlock();
}

/* An SRCU grace period after massif_zap_put(). */
static void free_zap(struct mmu_notifier *notifier)
{
	kfree(container_of(notifier, struct massif_zap, notifier));
}

static const struct mmu_notifier_ops operations = {
	.invalidate_range_start	= range_start,
	.invalidate_range_end	= range_end,
	.free_notifier		= free_zap,
};

/* mm is current's or has a reference; its mmap_lock is not held. May sleep. NULL: no memory. */
struct massif_zap *massif_zap_create(struct mm_struct *mm)
{
	struct massif_zap *zap = kzalloc(sizeof(*zap), GFP_KERNEL_ACCOUNT);

	if (!zap)
		return NULL;
	zap->notifier.ops = &operations;
	if (mmu_notifier_register(&zap->notifier, mm)) {
		kfree(zap);
		return NULL;
	}
	return zap;
}

/* It holds its address space (mm_count) until it is freed, so this may come at any time. */
void massif_zap_put(struct massif_zap *zap)
{
	mmu_notifier_put(&zap->notifier);
}

/* All have been put. */
void massif_zap_exit(void)
{
	mmu_notifier_synchronize();
}

#else /* no CONFIG_MMU_NOTIFIER: SETUP refuses, none of these is called */

const bool massif_zap_available;

struct massif_zap *massif_zap_create(struct mm_struct *mm)
{
	return NULL;
}

void massif_zap_put(struct massif_zap *zap)
{
}

void massif_zap_exit(void)
{
}

#endif
