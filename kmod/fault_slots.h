/* SPDX-License-Identifier: GPL-2.0 */
/* Fault slots: a table of the page faults that are in progress. Tasks update it without taking a lock. */
#ifndef MASSIF_FAULT_SLOTS_H
#define MASSIF_FAULT_SLOTS_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/cache.h>
#include <linux/compiler.h>
#include <linux/hash.h>
#include <linux/sched.h>

struct massif_rss_span;
struct mm_struct;

/*
 * A table of fault slots. It allows a page fault to be handled without taking a lock or looking up the target until it
 * is known that the fault changes some counter. A task that handles a fault takes one of the two slots selected by its
 * hash, and stores the address space in the slot before it can change a counter. It frees the slot after reporting its
 * changes. The task field is changed only by cmpxchg(); the span field is accessed only by the slot's owner.
 *
 * The module must stay loaded during a fault, but taking a reference to it would cost as much as the slot itself.
 * References are therefore taken only when the hook is disarmed: disarming takes one for each task that still has a
 * slot, and marks the slot ADOPTED. The task drops the reference when it gives the slot back.
 */
#define MASSIF_FAULT_SLOT_ADOPTED	1UL
struct massif_fault_slot {
	unsigned long task;		/* owner's task_struct, plus the ADOPTED bit; 0: free */
	struct mm_struct *mm;		/* address space of the fault; NULL: not stored yet */
	struct massif_rss_span *span;
	/*
	 * Number of spans (rss_span.h), of any target, that end when a task that hashes to this fault slot returns to
	 * user mode.
	 */
	atomic_long_t queued;
};

#define MASSIF_FAULT_SLOT_BITS	6
extern struct massif_fault_slot massif_fault_slots[1 << MASSIF_FAULT_SLOT_BITS];

bool massif_fault_slot_served(const struct mm_struct *mm);
void massif_fault_slot_adopt(void);

/*
 * While current handles a page fault, it may occupy one of two fault slots (entries of massif_fault_slots). Returns the
 * one that the hash of current selects; massif_fault_slot_neighbour() returns the other one.
 */
static __always_inline struct massif_fault_slot *massif_fault_slot_of_current(void)
{
	return &massif_fault_slots[hash_ptr(current, MASSIF_FAULT_SLOT_BITS)];
}

static __always_inline struct massif_fault_slot *massif_fault_slot_neighbour(struct massif_fault_slot *slot)
{
	return &massif_fault_slots[(slot - massif_fault_slots) ^ 1];
}

static __always_inline bool massif_fault_slot_is_mine(const struct massif_fault_slot *slot)
{
	return (READ_ONCE(slot->task) & ~MASSIF_FAULT_SLOT_ADOPTED) == (unsigned long)current;
}

/*
 * If current is handling a page fault of @mm, returns the struct massif_rss_span that counts the pages changed by this
 * fault. Otherwise returns NULL.
 */
static __always_inline struct massif_rss_span *massif_fault_slot_serving(const struct mm_struct *mm)
{
	struct massif_fault_slot *slot = massif_fault_slot_of_current();

	if (!massif_fault_slot_is_mine(slot))
		slot = massif_fault_slot_neighbour(slot);
	return massif_fault_slot_is_mine(slot) && slot->mm == mm ? slot->span : NULL;
}

/*
 * Takes a fault slot for current. Returns NULL if current has a slot already, or if both slots that current may use are
 * taken.
 */
static __always_inline struct massif_fault_slot *massif_fault_slot_take(void)
{
	struct massif_fault_slot *slot = massif_fault_slot_of_current();

	if (massif_fault_slot_is_mine(slot) || massif_fault_slot_is_mine(massif_fault_slot_neighbour(slot)))
		return NULL;
	if (!cmpxchg(&slot->task, 0, (unsigned long)current))
		return slot;
	slot = massif_fault_slot_neighbour(slot);
	return cmpxchg(&slot->task, 0, (unsigned long)current) ? NULL : slot;
}

/*
 * Stores the page fault's span and its address space, @mm, in current's fault slot. Must be called before current
 * changes @mm's counters of resident pages, because other tasks read the slots to find out whether a fault may be
 * changing them.
 */
static __always_inline void massif_fault_slot_serve(struct massif_fault_slot *slot, struct mm_struct *mm,
					      struct massif_rss_span *span)
{
	slot->span = span;
	WRITE_ONCE(slot->mm, mm);
}

/*
 * Frees current's slot. Returns true if current has been given a reference to the module, and must drop it as
 * its last action.
 */
static __always_inline bool massif_fault_slot_give_back(struct massif_fault_slot *slot)
{
	bool adopted;

	WRITE_ONCE(slot->mm, NULL);
	/*
	 * The cmpxchg() orders the changes made in this fault before the slot becomes free. It pairs with the cmpxchg()
	 * of the task that takes the slot next, and with the read of the slot in massif_fault_slot_served().
	 */
	adopted = cmpxchg(&slot->task, (unsigned long)current, 0) != (unsigned long)current;
	if (unlikely(adopted))
		smp_store_release(&slot->task, 0);
	return adopted;
}

#endif
