/* SPDX-License-Identifier: GPL-2.0 */
/* Who is changing what is resident of a target, and where: from begin to end. */
#ifndef MASSIF_SPAN_H
#define MASSIF_SPAN_H

#include <linux/list.h>
#include <linux/mm_types_task.h>
#include <linux/task_work.h>
#include <linux/types.h>

#include "compat/rss.h"

struct massif_fault_slot;
struct massif_target;
struct mm_struct;
struct task_struct;

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
 * Only the task itself touches its span, but for the list. There are three kinds:
 *
 * - That of a fault is on the task's stack, and entered in a table without a lock (desk.h).
 * - That of who takes a range away is the target's own, if nobody else's: entered by cmpxchg() of its task.
 *   Nearly every unmapping takes away nothing, or is the only one of its address space: it takes no lock.
 * - All others are in a list.
 */
struct massif_rss_span {
	struct task_struct *task;	/* unless it is a fault's */
	bool own;			/* a thread of the target's, so that collected counts */
	bool lasts;			/* does not end with the range */
	bool robbed;			/* of a change of its, with which another was charged */
	unsigned int depth;		/* of ranges that are being taken away */
	struct massif_place place;	/* of what happens outside of them */
	long change[NR_MM_COUNTERS];	/* of the shared counters, since it was cut */
	long collected[NR_MM_COUNTERS];	/* the task's own when it was cut; before 6.2 */

	/* If in the table. */
	struct massif_fault_slot *desk;
	struct mm_struct *mm;
	u64 epoch;			/* massif_resident_epoch at its begin */

	/* If in the list. */
	struct list_head list;		/* of the target: resident.lock */

	/* If queued: it ends with the return to user mode. */
	struct callback_head work;
	struct massif_target *target;	/* a reference; its session is not used unless it is alive */
};

/* Part of a target. Those of faults are not here. */
struct massif_rss_spans {
	struct massif_rss_span taker;	/* task: by cmpxchg(); NULL: nobody, and change is all 0 */
	struct list_head list;		/* resident.lock */
	struct massif_rss_span *spare;	/* the one of the list that ended last; resident.lock */
};

void massif_rss_spans_init(struct massif_rss_spans *spans);
void massif_rss_spans_deinit(struct massif_rss_spans *spans);
bool massif_rss_spans_idle(struct massif_target *target);
void massif_rss_spans_exit(void);

/* In a hook, for current's own address space. */
bool massif_rss_span_enter(struct massif_rss_span *span, struct mm_struct *mm, unsigned long addr);
bool massif_rss_span_leave(struct massif_rss_span *span);

/* All under RCU, in hooks. */
void massif_rss_span_touch(struct massif_target *target, const struct massif_place *place);
void massif_rss_span_begin(struct massif_target *target, unsigned long start, unsigned long end);
void massif_rss_span_end(struct massif_target *target, unsigned long start, unsigned long end);
void massif_rss_span_changed(struct mm_struct *mm, int member);

#endif
