/* SPDX-License-Identifier: GPL-2.0 */
/* The hooks that see pages become resident: armed while a session wants to know. */
#ifndef MASSIF_FAULT_H
#define MASSIF_FAULT_H

#include <linux/sched.h>
#include <linux/types.h>

extern struct task_struct *massif_fault_tester;

int massif_fault_get(char *dead, size_t size);
void massif_fault_put(void);

void massif_fault_touch(unsigned long addr);
void massif_fault_seen(void);

/* Is the fault current's own, about a page of mm? And it is noted while the hooks are tried. */
static inline bool massif_fault_own(const struct mm_struct *mm)
{
	if (unlikely(READ_ONCE(massif_fault_tester) == current))
		massif_fault_seen();
	return current->mm == mm && !(current->flags & (PF_KTHREAD | PF_IO_WORKER | PF_EXITING));
}

#endif
