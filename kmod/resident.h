/* SPDX-License-Identifier: GPL-2.0 */
/* What is resident of a target: the counters, and what was told of them. */
#ifndef MASSIF_RESIDENT_H
#define MASSIF_RESIDENT_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/mm_types_task.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "compat/rss.h"
#include "rss_span.h"

/* A variable that is not zeroed by a kernel that zeroes all: it is filled, and that in every fault. */
#if __has_attribute(uninitialized)
#define MASSIF_RAW	__attribute__((uninitialized))
#else
#define MASSIF_RAW
#endif

/* Few and always as many: so the compiler writes them out. */
#define massif_each(i, count)	_Pragma("GCC unroll 8") for ((i) = 0; (i) < (count); (i)++)

struct massif_target;
struct massif_rss_notifier;
struct mm_struct;

/* Part of a target. All zero, and not attached, unless its session asked for resident pages. */
struct massif_resident {
	/* Each is set once, with massif_table_lock and with mmap_lock for writing; attached with release. */
	bool attached;
	struct massif_rss_notifier *zap;		/* whoever takes the target out of the table puts it */

	/*
	 * Protects what is below, and the list of spans. Hooks take it under mmap_lock and the locks of
	 * page tables and reclaim, with interrupts off; ring.lock may be taken inside, nothing else.
	 */
	raw_spinlock_t lock;
	struct massif_rss_base base;	/* what has been noted of the counters */
	long told[NR_MM_COUNTERS];	/* pages: what the records said */
	unsigned int until_drift;	/* spans with a change until drift is looked for again */
	u64 epoch;			/* what massif_resident_epoch was made when this began */

	struct massif_rss_spans spans;	/* who is changing something right now */
};

void massif_resident_init(struct massif_resident *resident);
void massif_resident_deinit(struct massif_resident *resident);
bool massif_resident_attach(struct massif_target *target, struct mm_struct *mm);
void massif_resident_hide(struct massif_target *target);
void massif_resident_detach(struct massif_target *target);
void massif_resident_base(struct massif_target *target, struct mm_struct *mm);
void massif_resident_move(struct massif_target *target, unsigned long to, unsigned long len);

/* How often massif_resident_attach() has looked at the counters of a target: for who was amid a fault. */
extern u64 massif_resident_epoch;

/* How many targets have an address space of each hash: others are told apart by a few instructions. */
#define MASSIF_CROWD_BITS	8
#define MASSIF_CROWD_SHIFT	8
extern atomic_t massif_mm_filters[1 << MASSIF_CROWD_BITS];

/* Those of struct mm_struct are some hundred bytes apart. */
static inline atomic_t *massif_mm_filter_of(const struct mm_struct *mm)
{
	return &massif_mm_filters[(unsigned long)mm >> MASSIF_CROWD_SHIFT &
				       (BIT(MASSIF_CROWD_BITS) - 1)];
}

/* No target, for sure? */
static inline bool massif_resident_unlikely(const struct mm_struct *mm)
{
	return likely(!atomic_read(massif_mm_filter_of(mm)));
}

struct massif_target *massif_resident_find(struct mm_struct *mm);
void massif_mm_filter(struct mm_struct *mm, int by);

/* Under RCU, with resident.lock. */
void massif_resident_look_for_drift(struct massif_target *target, struct mm_struct *mm);

#endif
