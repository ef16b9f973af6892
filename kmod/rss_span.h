/* SPDX-License-Identifier: GPL-2.0 */
/* Spans: intervals in which one task changes the resident set of a target. */
#ifndef MASSIF_RSS_SPAN_H
#define MASSIF_RSS_SPAN_H

#include <linux/list.h>
#include <linux/mm_types_task.h>
#include <linux/task_work.h>
#include <linux/types.h>

#include "compat/rss.h"
#include "thread_table.h"

struct massif_fault_slot;
struct massif_target;
struct mm_struct;
struct task_struct;

/* The range in which pages become resident or are removed, and the cause (MASSIF_RESIDENT_*). */
struct massif_place {
	unsigned long addr;
	unsigned long len;		/* length in bytes; 0: unknown range */
	u32 cause;
};

/*
 * A span is an interval in which one task performs one activity that can change a target's resident set: handling a
 * page fault, running until it returns to user mode, or removing a range of pages. The change of a span is the sum of
 * the counter changes that its task makes during the interval. Cutting a span means reading its change so far and
 * restarting the count from 0.
 *
 * The task's own collected counts (compat/rss.h) are read only when the span begins and when it is cut. So it does not
 * matter when the kernel moves them to the shared counters: a move leaves the sum of the two unchanged.
 *
 * Apart from the list links, only the task itself accesses its span. A span is stored in one of three places:
 *
 * - The span of a page fault is on the task's stack. A table that is updated without a lock points to it
 *   (fault_slots.h).
 * - The span embedded in the target (massif_rss_spans.taker) is for a task that removes a range. Only one task at a
 *   time, called the taker, can use it. A task becomes the taker by setting ->task with cmpxchg(). Nearly every munmap
 *   either removes no resident pages or is the only one in progress in its address space, and so takes no lock.
 * - All other spans are in the target's list.
 */
struct massif_rss_span {
	/* the task that changes resident pages in this interval (span); not used in the span of a page fault */
	struct task_struct *task;
	bool own;			/* the task runs in the target's address space, so ->collected is valid */
	/*
	 * the span does not end as soon as the task has finished removing a range, but only when a page fault has been
	 * handled, or on return to user mode
	 */
	bool lasts;
	/* at least one counter change made by this task has already been attributed to another task */
	bool robbed;
	unsigned int depth;		/* nesting depth of the range removals that the task has in progress */
	/* address range and cause to report for counter changes made while the task is not removing a range of pages */
	struct massif_place place;
	/* counter changes since the span (see above) began or since cut() last reset them, in pages */
	long change[NR_MM_COUNTERS];
	/*
	 * The changes, in pages, that the task had made but the kernel had not yet added to the shared counters
	 * (compat/rss.h) when the span began or was last cut (cut() in rss_span.c reads the change made in the span so
	 * far). Used on kernels before 6.2.
	 */
	long collected[NR_MM_COUNTERS];

	/*
	 * The next three members are used only in the span of a page fault (the interval in which the task handles the
	 * fault). slot is the task's fault slot (fault_slots.h). In all other spans, slot is NULL.
	 */
	struct massif_fault_slot *slot;
	struct mm_struct *mm;
	u64 epoch;			/* massif_resident_epoch when the span began */

	/* Node in massif_rss_spans.list while the span is in that list; protected by resident.lock. */
	struct list_head list;

	/* Members used only in spans that end on return to user mode (task_work). */
	struct callback_head work;
	struct massif_thread_node queued;	/* node in the table of all such spans */
	/*
	 * The target; this span holds a reference to it. The target's session may be used only while the target is
	 * alive.
	 */
	struct massif_target *target;
};

/* All of a target's spans (intervals in which a task may change its resident set), except those of page faults. */
struct massif_rss_spans {
	/*
	 * Span of a task that removes a range; claimed by cmpxchg() on its ->task. If ->task is NULL, the span is free
	 * and every element of its ->change is 0.
	 */
	struct massif_rss_span taker;
	/*
	 * Head of the list of the target's spans. Not in the list: the span above (taker), which is embedded in this
	 * struct, and the spans of page faults. Protected by resident.lock.
	 */
	struct list_head list;
	unsigned int count;		/* number of spans in the list; protected by resident.lock */
	struct massif_rss_span *spare;	/* free span kept for the next use; protected by resident.lock */
	/*
	 * Number of counter changes that are stored in resident.base (compat/rss.h) but not reported yet, and that were
	 * made by tasks outside any span (see struct massif_rss_span). Protected by resident.lock.
	 */
	unsigned int unreported;
};

/*
 * True while the page fault handler is hooked by a detour, in which case every page fault of a thread or worker has a
 * span. Set when the hooks are armed.
 */
extern bool massif_rss_faults_have_spans;

void massif_rss_spans_init(struct massif_rss_spans *spans);
void massif_rss_spans_deinit(struct massif_rss_spans *spans);
bool massif_rss_spans_idle(struct massif_target *target);
void massif_rss_spans_start(void);
void massif_rss_spans_exit(void);

/*
 * Begin and end the span of a page fault, the interval in which current handles it. Called in the fault hook if the
 * fault is in current's own address space.
 */
bool massif_rss_span_enter(struct massif_rss_span *span, struct mm_struct *mm, unsigned long addr);
bool massif_rss_span_leave(struct massif_rss_span *span);

/*
 * Begin and end spans (intervals in which one task may change the resident set) outside page faults, and count changes
 * to the kernel's counters of resident pages. Called from hooks, within an RCU read-side section
 * (massif_rss_span_changed() enters one itself).
 */
void massif_rss_span_touch(struct massif_target *target, const struct massif_place *place);
void massif_rss_span_begin(struct massif_target *target, unsigned long start, unsigned long end);
void massif_rss_span_end(struct massif_target *target, unsigned long start, unsigned long end);
void massif_rss_span_changed(struct mm_struct *mm, int member);

#endif
