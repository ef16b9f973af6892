/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Resident pages of a target: the kernel's counters, and the sums reported to the consumer. If the two differ, the
 * difference is called drift.
 */
#ifndef MASSIF_RESIDENT_H
#define MASSIF_RESIDENT_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/mm_types_task.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "compat/rss.h"
#include "rss_span.h"

/*
 * Attribute for a local variable that CONFIG_INIT_STACK_ALL_ZERO must not set to zero, because the fault path
 * initialises the variable itself.
 */
#if __has_attribute(uninitialized)
#define MASSIF_RAW	__attribute__((uninitialized))
#else
#define MASSIF_RAW
#endif

/* Loops over i from 0 to count - 1; the compiler unrolls the loop if count is a small constant. */
#define massif_each(i, count)	_Pragma("GCC unroll 8") for ((i) = 0; (i) < (count); (i)++)

struct massif_target;
struct massif_rss_notifier;
struct mm_struct;

/*
 * A target's state for tracking its resident pages. Not used, and attached is false, unless the session has asked for
 * resident pages.
 */
struct massif_resident {
	/*
	 * attached and rss_notifier are set once, with massif_table_lock held and mmap_lock held for writing; attached
	 * with release semantics.
	 */
	bool attached;
	/* The MMU notifier, or NULL. Released by the thread that removes the target from the table of targets. */
	struct massif_rss_notifier *rss_notifier;

	/*
	 * Protects the fields below, and the list in spans. Hooks take it under mmap_lock and the locks of page tables
	 * and reclaim, with interrupts off. While it is held, no locks may be taken except ring.lock and the lock of
	 * one of the kernel's per-processor counters (percpu_counter).
	 */
	raw_spinlock_t lock;
	struct massif_rss_base base;	/* counter values when they were last read */
	long reported[NR_MM_COUNTERS];	/* the sums of all changes reported in records, in pages */
	/*
	 * Countdown to the next comparison of the kernel's counters with the reported sums: the number of spans with a
	 * counter change that have yet to end. (A span is an interval in which a task may change the resident set; see
	 * rss_span.h.)
	 */
	unsigned int until_drift;
	unsigned long unnoted_since;	/* jiffies when a change not reported by rss_stat was first found; 0: none */
	struct massif_rss_unnoted unnoted; /* that change */
	/*
	 * The module increments the global massif_resident_epoch when it starts to track a target's resident pages;
	 * this is the value after the increment for this target. On kernels before 6.2, the global value is stored at
	 * the start of each page fault. If the stored value is lower than this one, the fault began before this target
	 * was tracked.
	 */
	u64 epoch;

	struct massif_rss_spans spans;	/* intervals in which tasks may be changing the resident set (rss_span.h) */
};

void massif_resident_init(struct massif_resident *resident);
void massif_resident_deinit(struct massif_resident *resident);
bool massif_resident_attach(struct massif_target *target, struct mm_struct *mm);
void massif_resident_hide(struct massif_target *target);
void massif_resident_detach(struct massif_target *target);
void massif_resident_base(struct massif_target *target, struct mm_struct *mm);
void massif_resident_move(struct massif_target *target, unsigned long to, unsigned long len);

/*
 * Number of targets, since the module was loaded, whose resident pages it has begun to track. Used to recognise a span
 * that began before its target was tracked.
 */
extern u64 massif_resident_epoch;

/*
 * Counts the attached targets, and the address spaces of hook tests, by a hash of the address space. If the count is 0,
 * the address space cannot be one of them, and testing this takes only a few instructions.
 */
#define MASSIF_CROWD_BITS	8
#define MASSIF_CROWD_SHIFT	8
extern atomic_t massif_mm_filters[1 << MASSIF_CROWD_BITS];

/*
 * Returns the filter entry of an address space. Bits 8 to 15 of the address of its struct mm_struct select the entry.
 * Lower bits are ignored, because these structs are several hundred bytes apart.
 */
static inline atomic_t *massif_mm_filter_of(const struct mm_struct *mm)
{
	return &massif_mm_filters[(unsigned long)mm >> MASSIF_CROWD_SHIFT &
				       (BIT(MASSIF_CROWD_BITS) - 1)];
}

/* True if mm is certainly not a target whose resident pages are being tracked. */
static inline bool massif_resident_unlikely(const struct mm_struct *mm)
{
	return likely(!atomic_read(massif_mm_filter_of(mm)));
}

struct massif_target *massif_resident_find(struct mm_struct *mm);
void massif_mm_filter(struct mm_struct *mm, int by);

/*
 * Looks for a difference between the kernel's counters and the reported sums. Called under RCU, with resident.lock
 * held.
 */
void massif_resident_look_for_drift(struct massif_target *target, struct mm_struct *mm);

#endif
