/* SPDX-License-Identifier: GPL-2.0 */
/* What is resident of a target, and who changed it. */
#ifndef MASSIF_RESIDENT_H
#define MASSIF_RESIDENT_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/list.h>
#include <linux/mm_types_task.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "compat/rss.h"

/* A variable that is not zeroed by a kernel that zeroes all: it is filled, and that in every fault. */
#if __has_attribute(uninitialized)
#define MASSIF_RAW	__attribute__((uninitialized))
#else
#define MASSIF_RAW
#endif

struct massif_desk;
struct massif_session;
struct massif_target;
struct massif_zap;
struct mm_struct;

/* Part of a target. All zero, and not attached, unless its session asked for resident pages. */
struct massif_resident {
	/* Set once, with release, under resync_lock of the target. */
	bool attached;
	struct massif_zap *zap;		/* whoever takes the target out of the table puts it */

	/*
	 * Protects what is below. Hooks take it under mmap_lock and the locks of page tables and
	 * reclaim, with interrupts off; ring.lock may be taken inside, nothing else.
	 */
	raw_spinlock_t lock;
	struct massif_rss_base base;	/* what has been noted of the counters */
	long told[NR_MM_COUNTERS];	/* pages: what the records said */
	struct list_head spans;		/* who is changing something right now */
	struct massif_span *spare;	/* the one that ended last */
	unsigned int until_drift;	/* spans that may end before drift is looked for again */
	u64 epoch;			/* what massif_resident_epoch was made when this began */
};

/* Where and why pages come or go; cause is MASSIF_RESIDENT_*. */
struct massif_place {
	unsigned long addr;
	unsigned long len;		/* bytes; 0: not known */
	u32 cause;
};

/*
 * A span is the time in which one task does one thing to a target's resident set: while a page fault is
 * handled, or until the return to user mode, or while it takes a range away. What the counters moved by
 * through this task in between is the span's change. The task's own part of the counters (see
 * compat/rss.h) is only looked at where the span begins and is cut, so that it does not matter when
 * the kernel adds it to the shared part: that adds to one what it takes from the other.
 *
 * Only the task itself touches its span, but for the list. That of a fault is on the task's stack, and
 * in no list, but in a table (desk.h).
 */
struct massif_span {
	struct task_struct *task;	/* if in the list */
	bool own;			/* a thread of the target's, so that collected counts */
	bool lasts;			/* does not end with the range */
	unsigned int depth;		/* of ranges that are being taken away */
	struct massif_place place;	/* of what happens outside of them */
	long change[NR_MM_COUNTERS];	/* of the shared counters, since it was cut */
	long collected[NR_MM_COUNTERS];	/* the task's own when it was cut; before 6.2 */

	/* If in the table. */
	struct massif_desk *desk;
	struct mm_struct *mm;
	u64 epoch;			/* massif_resident_epoch at its begin */

	/* If in the list. */
	struct list_head list;		/* of the target: resident.lock */

	/* If queued: it ends with the return to user mode. */
	struct callback_head work;
	struct massif_target *target;	/* a reference; its session is not used unless it is alive */
};

void massif_resident_init(struct massif_resident *resident);
void massif_resident_deinit(struct massif_resident *resident);
bool massif_resident_attach(struct massif_target *target, struct mm_struct *mm);
void massif_resident_detach(struct massif_target *target);
void massif_resident_base(struct massif_target *target, struct mm_struct *mm);
void massif_resident_move(struct massif_target *target, unsigned long to, unsigned long len);
void massif_resident_exit(void);

/* How many targets have an address space of each hash: others are told apart by a few instructions. */
#define MASSIF_CROWD_BITS	8
#define MASSIF_CROWD_SHIFT	8
extern atomic_t massif_resident_crowds[1 << MASSIF_CROWD_BITS];

/* Those of struct mm_struct are some hundred bytes apart. */
static inline atomic_t *massif_resident_crowd_of(const struct mm_struct *mm)
{
	return &massif_resident_crowds[(unsigned long)mm >> MASSIF_CROWD_SHIFT &
				       (BIT(MASSIF_CROWD_BITS) - 1)];
}

/* No target, for sure? */
static inline bool massif_resident_unlikely(const struct mm_struct *mm)
{
	return likely(!atomic_read(massif_resident_crowd_of(mm)));
}

struct massif_target *massif_resident_find(struct mm_struct *mm);
void massif_resident_crowd(struct mm_struct *mm, int by);

/* In a hook, for current's own address space. */
bool massif_resident_enter(struct massif_span *span, struct mm_struct *mm, unsigned long addr);
bool massif_resident_leave(struct massif_span *span);

/* All under RCU, in hooks. */
void massif_resident_touch(struct massif_target *target, const struct massif_place *place);
void massif_resident_begin(struct massif_target *target, const struct massif_place *place);
void massif_resident_end(struct massif_target *target, const struct massif_place *place);
void massif_resident_changed(struct mm_struct *mm, int member);

#endif
