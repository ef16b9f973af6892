/* SPDX-License-Identifier: GPL-2.0 */
/* Address spaces: what differs between kernels. */
#ifndef MASSIF_COMPAT_MM_H
#define MASSIF_COMPAT_MM_H

#include <linux/mm.h>
#include <linux/sched/coredump.h>

/* Wrapped since 6.3, commit 1c71222e5f23, so that flags only change under the lock. */
static inline void massif_vma_flags_set(struct vm_area_struct *vma, unsigned long flags)
{
#ifdef MASSIF_HAVE_vm_flags_set
	vm_flags_set(vma, flags);
#else
	vma->vm_flags |= flags;
#endif
}

static inline void massif_vma_flags_clear(struct vm_area_struct *vma, unsigned long flags)
{
#ifdef MASSIF_HAVE_vm_flags_set
	vm_flags_clear(vma, flags);
#else
	vma->vm_flags &= ~flags;
#endif
}

/* May another process of the same user look at this address space (as ptrace asks)? */
static inline bool massif_mm_dumpable(struct mm_struct *mm)
{
	return __get_dumpable(mm->flags) == SUID_DUMP_USER;
}

#endif
