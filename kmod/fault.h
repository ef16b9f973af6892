/* SPDX-License-Identifier: GPL-2.0 */
/* The hooks on page faults and on the counters of resident pages, armed while a session tracks resident pages. */
#ifndef MASSIF_FAULT_H
#define MASSIF_FAULT_H

#include <linux/atomic.h>
#include <linux/sched.h>
#include <linux/types.h>

int massif_fault_get(char *dead, size_t size);
void massif_fault_put(void);

void massif_fault_touch(unsigned long addr);

/*
 * For hook tests (hooktest.c): the number of tests currently running, and functions that begin or end a test, find a
 * hook that has not fired, and note that a page fault has occurred.
 */
extern atomic_t massif_fault_tests;
void massif_fault_test(struct mm_struct *mm, int by);
int massif_fault_missing(const char **dead);
void massif_fault_seen(struct mm_struct *mm);

/*
 * True if current is handling a fault on a page of its own address space, @mm. current may also be a kernel worker
 * using the program's address space. While hook tests are running, also notes the fault for those tests.
 */
static inline bool massif_fault_own(struct mm_struct *mm)
{
	if (unlikely(atomic_read(&massif_fault_tests)))
		massif_fault_seen(mm);
	return current->mm == mm && !(current->flags & PF_EXITING);
}

#endif
