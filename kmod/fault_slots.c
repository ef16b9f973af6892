// SPDX-License-Identifier: GPL-2.0
// Fault slots: a table of the page faults that are in progress. Tasks update it without taking a lock.
#include <linux/kernel.h>
#include <linux/module.h>

#include "fault_slots.h"

struct massif_fault_slot massif_fault_slots[1 << MASSIF_FAULT_SLOT_BITS] ____cacheline_aligned;

/**
 * massif_fault_slot_served() - check whether any other task holds a fault slot for @mm, or may be about to store @mm in
 * the slot that it holds. A task holds a fault slot while it handles a page fault.
 * Context: any; takes no lock.
 */
bool massif_fault_slot_served(const struct mm_struct *mm)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(massif_fault_slots); i++) {
		const struct massif_fault_slot *slot = &massif_fault_slots[i];
		const struct mm_struct *whose;

		if (!READ_ONCE(slot->task) || massif_fault_slot_is_mine(slot))
			continue;
		whose = READ_ONCE(slot->mm);
		if (!whose || whose == mm)
			return true;
	}
	return false;
}

/**
 * massif_fault_slot_adopt() - give each task that is still handling a fault a reference to the module.
 *
 * Called after the fault hook was disarmed. If it has been armed again since, tasks that take new slots meanwhile may get a
 * reference that they do not need.
 *
 * Context: process context; the caller holds a reference to the module.
 */
void massif_fault_slot_adopt(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(massif_fault_slots); i++) {
		struct massif_fault_slot *slot = &massif_fault_slots[i];
		unsigned long task = READ_ONCE(slot->task);

		if (!task || task & MASSIF_FAULT_SLOT_ADOPTED)
			continue;
		/* __module_get() is safe: the caller holds a reference to the module. */
		__module_get(THIS_MODULE);
		if (cmpxchg(&slot->task, task, task | MASSIF_FAULT_SLOT_ADOPTED) != task)
			module_put(THIS_MODULE);
	}
}
