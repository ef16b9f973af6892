/* SPDX-License-Identifier: GPL-2.0 */
/* Who is handling a fault of a target: a table that is entered without a lock. */
#ifndef MASSIF_FAULT_SLOT_H
#define MASSIF_FAULT_SLOT_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/cache.h>
#include <linux/compiler.h>
#include <linux/hash.h>
#include <linux/sched.h>

struct massif_rss_span;
struct mm_struct;

/*
 * So that a fault need not take a lock, nor find its target, before it is known that it changes
 * anything. A task takes one of two desks, writes who is served, and after that counters can change;
 * it gives it back when all is told. task is changed by cmpxchg() only; span is the owner's alone, and
 * the others are not to look at it.
 *
 * Each fault has the module in use, but a reference would cost as much as the desk. So whoever sits at
 * one when the hook has been disarmed gets a reference then (ADOPTED), and puts it.
 */
#define MASSIF_FAULT_SLOT_ADOPTED	1UL
struct massif_fault_slot {
	unsigned long task;		/* 0: free; bit ADOPTED */
	struct mm_struct *mm;		/* NULL: not written yet */
	struct massif_rss_span *span;
	unsigned long __pad;		/* two are a cache line */
};

#define MASSIF_FAULT_SLOT_BITS	6
extern struct massif_fault_slot massif_fault_slots[1 << MASSIF_FAULT_SLOT_BITS];

bool massif_fault_slot_served(const struct mm_struct *mm);
void massif_fault_slot_adopt(void);

/* Current's desk, or the one it would have: the other is next to it. */
static __always_inline struct massif_fault_slot *massif_fault_slot_of_current(void)
{
	return &massif_fault_slots[hash_ptr(current, MASSIF_FAULT_SLOT_BITS)];
}

static __always_inline struct massif_fault_slot *massif_fault_slot_neighbour(struct massif_fault_slot *desk)
{
	return &massif_fault_slots[(desk - massif_fault_slots) ^ 1];
}

static __always_inline bool massif_fault_slot_is_mine(const struct massif_fault_slot *desk)
{
	return (READ_ONCE(desk->task) & ~MASSIF_FAULT_SLOT_ADOPTED) == (unsigned long)current;
}

/* The span of current, if it handles a fault of mm. */
static __always_inline struct massif_rss_span *massif_fault_slot_serving(const struct mm_struct *mm)
{
	struct massif_fault_slot *desk = massif_fault_slot_of_current();

	if (!massif_fault_slot_is_mine(desk))
		desk = massif_fault_slot_neighbour(desk);
	return massif_fault_slot_is_mine(desk) && desk->mm == mm ? desk->span : NULL;
}

/* NULL: both are taken, or current has one. */
static __always_inline struct massif_fault_slot *massif_fault_slot_take(void)
{
	struct massif_fault_slot *desk = massif_fault_slot_of_current();

	if (massif_fault_slot_is_mine(desk) || massif_fault_slot_is_mine(massif_fault_slot_neighbour(desk)))
		return NULL;
	if (!cmpxchg(&desk->task, 0, (unsigned long)current))
		return desk;
	desk = massif_fault_slot_neighbour(desk);
	return cmpxchg(&desk->task, 0, (unsigned long)current) ? NULL : desk;
}

/* From here on counters can change. */
static __always_inline void massif_fault_slot_serve(struct massif_fault_slot *desk, struct mm_struct *mm,
					      struct massif_rss_span *span)
{
	desk->span = span;
	WRITE_ONCE(desk->mm, mm);
}

/* True: current has a reference to the module, which is to be put last. */
static __always_inline bool massif_fault_slot_give_back(struct massif_fault_slot *desk)
{
	bool adopted;

	WRITE_ONCE(desk->mm, NULL);
	/* With cmpxchg() of the next, and massif_fault_slot_served(). */
	adopted = cmpxchg(&desk->task, (unsigned long)current, 0) != (unsigned long)current;
	if (unlikely(adopted))
		smp_store_release(&desk->task, 0);
	return adopted;
}

#endif
