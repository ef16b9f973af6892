/* SPDX-License-Identifier: GPL-2.0 */
/* The hooks that see pages become resident: armed while a session wants to know. */
#ifndef MASSIF_FAULT_H
#define MASSIF_FAULT_H

#include <linux/atomic.h>
#include <linux/sched.h>
#include <linux/types.h>

int massif_fault_get(char *dead, size_t size);
void massif_fault_put(void);

void massif_fault_touch(unsigned long addr);

/* Do the armed hooks fire? */
extern atomic_t massif_fault_tests;
void massif_fault_test(struct mm_struct *mm, int by);
int massif_fault_missing(const char **dead);
void massif_fault_seen(struct mm_struct *mm);

/*
 * Is the fault current's own, about a page of mm? That may be a worker of the kernel that has the program's
 * address space. And it is noted while the hooks are tried.
 */
static inline bool massif_fault_own(struct mm_struct *mm)
{
	if (unlikely(atomic_read(&massif_fault_tests)))
		massif_fault_seen(mm);
	return current->mm == mm && !(current->flags & PF_EXITING);
}

#endif
