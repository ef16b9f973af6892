// SPDX-License-Identifier: GPL-2.0
// Who is handling a fault of a target: a table that is entered without a lock.
#include <linux/kernel.h>
#include <linux/module.h>

#include "fault_slots.h"

struct massif_fault_slot massif_fault_slots[1 << MASSIF_FAULT_SLOT_BITS] ____cacheline_aligned;

/* Does any other than current handle a fault of mm, or could one? */
bool massif_fault_slot_served(const struct mm_struct *mm)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(massif_fault_slots); i++) {
		const struct massif_fault_slot *desk = &massif_fault_slots[i];
		const struct mm_struct *whose;

		if (!READ_ONCE(desk->task) || massif_fault_slot_is_mine(desk))
			continue;
		whose = READ_ONCE(desk->mm);
		if (!whose || whose == mm)
			return true;
	}
	return false;
}

/* No fault is entered any more: who is amid one shall hold the module. */
void massif_fault_slot_adopt(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(massif_fault_slots); i++) {
		struct massif_fault_slot *desk = &massif_fault_slots[i];
		unsigned long task = READ_ONCE(desk->task);

		if (!task || task & MASSIF_FAULT_SLOT_ADOPTED)
			continue;
		/* The session's file is open, so the module has a user already. */
		__module_get(THIS_MODULE);
		if (cmpxchg(&desk->task, task, task | MASSIF_FAULT_SLOT_ADOPTED) != task)
			module_put(THIS_MODULE);
	}
}
