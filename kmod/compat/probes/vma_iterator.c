// SPDX-License-Identifier: GPL-2.0
// Compiles if the kernel keeps mappings in a maple tree, which has an iterator (since 6.1, commit 524e00b36e8c); before
// that, they were in a linked list.
#include <linux/mm.h>

unsigned long probe(struct mm_struct *mm);
unsigned long probe(struct mm_struct *mm)
{
	struct vm_area_struct *vma;
	unsigned long end = 0;
	VMA_ITERATOR(iter, mm, 0);

	for_each_vma(iter, vma)
		end = vma->vm_end;
	return end;
}
