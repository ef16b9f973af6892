// SPDX-License-Identifier: GPL-2.0
// Compiles if the kernel takes mmap_lock for writing in a page fault that grows a stack (since 6.5, commit
// c2508ec5a58d, and in stable series from 6.1 on).
#include <linux/mm.h>

void *probe(struct mm_struct *mm);
void *probe(struct mm_struct *mm)
{
	return lock_mm_and_find_vma(mm, 0, NULL);
}
