/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Writes RESIDENT records, which report that pages were added or removed. The functions are defined in a header, so
 * that they can be inlined for speed: each page fault writes such a record.
 */
#ifndef MASSIF_RSS_RECORD_H
#define MASSIF_RSS_RECORD_H

#include <linux/massif.h>
#include <linux/minmax.h>

#include "record.h"
#include "resident.h"
#include "stack.h"
#include "target.h"

/* The kernel's counters in the order of the fields of a RESIDENT record. */
static const int massif_rss_record_members[MASSIF_RSS_COUNT] = {
	[MASSIF_RSS_ANON]  = MM_ANONPAGES,
	[MASSIF_RSS_FILE]  = MM_FILEPAGES,
	[MASSIF_RSS_SHMEM] = MM_SHMEMPAGES,
	[MASSIF_RSS_SWAP]  = MM_SWAPENTS,
};

/*
 * Fills in a RESIDENT record. Leaves out the number of its stack, and the counters, which massif_rss_record_write()
 * adds.
 */
static inline void massif_rss_record_fill(struct massif_rec_resident *rec, struct massif_target *target,
				    const struct massif_place *place)
{
	rec->addr = place->addr;
	rec->len = place->len;
	rec->cause = place->cause;
	rec->__pad = 0;
	massif_record_init(&rec->h, MASSIF_REC_RESIDENT, sizeof(*rec), target->session, target);
}

/*
 * Adds @change (NULL: none), in pages, to the target's reported sums, and writes a RESIDENT record with the change and
 * the new sums.
 */
static __always_inline void massif_rss_record_write(struct massif_target *target,
					      struct massif_rec_resident *rec, const long *change)
{
	struct massif_resident *resident = &target->resident;
	int i;

	lockdep_assert_held(&resident->lock);
	massif_each(i, MASSIF_RSS_COUNT) {
		long *reported = &resident->reported[massif_rss_record_members[i]];

		if (change)
			*reported += change[massif_rss_record_members[i]];
		rec->change[i] = change ? change[massif_rss_record_members[i]] : 0;
		/*
		 * The sum can briefly be negative: one thread can report a removal before another thread reports the
		 * arrival of the same pages.
		 */
		rec->rss[i] = max(*reported, 0L);
	}
	massif_record_write_irqsoff(target->session, target, &rec->h, false);
}

static inline bool massif_rss_record_nothing(const long *change)
{
	long any = 0;
	int i;

	massif_each(i, NR_MM_COUNTERS)
		any |= change[i];
	return !any;
}

/*
 * Called at the end of each span (an interval in which one task may change the resident set; see rss_span.h) in which a
 * counter has changed. Counts resident.until_drift down to 0, and then compares the kernel's counters of resident pages
 * with the sums of all changes reported so far. Kept short, because it runs in every page fault that changes a counter.
 */
static inline void massif_rss_record_ended(struct massif_target *target)
{
	struct massif_resident *resident = &target->resident;

	lockdep_assert_held(&resident->lock);
	if (!resident->until_drift || !--resident->until_drift)
		massif_resident_look_for_drift(target, target->mm);
}

/*
 * Writes a RESIDENT record for a change made by current. @ends: true if the change ends a span (rss_span.h); the span
 * must already have been removed from its list. @always: write the record even if the change is 0.
 */
static __always_inline void massif_rss_record_change(struct massif_target *target,
					       const struct massif_place *place, const long *change,
					       bool ends, bool always)
{
	struct massif_resident *resident = &target->resident;
	struct massif_rec_resident rec MASSIF_RAW;
	unsigned long irq;

	if (!always && massif_rss_record_nothing(change))
		return;
	massif_rss_record_fill(&rec, target, place);
	/*
	 * Like an UNMAP record, a GONE record (removed pages) has no stack: the pages are subtracted from the stacks to
	 * which they were charged when they became resident.
	 */
	if (place->cause != MASSIF_RESIDENT_GONE)
		massif_stack_explain(&rec.h, target, false);
	raw_spin_lock_irqsave(&resident->lock, irq);
	massif_rss_record_write(target, &rec, change);
	if (ends)
		massif_rss_record_ended(target);
	raw_spin_unlock_irqrestore(&resident->lock, irq);
}

#endif
