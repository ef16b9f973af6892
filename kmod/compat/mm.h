/* SPDX-License-Identifier: GPL-2.0 */
/* Hides differences between kernel versions in the handling of address spaces. */
#ifndef MASSIF_COMPAT_MM_H
#define MASSIF_COMPAT_MM_H

#include <linux/mm.h>

/*
 * Since 6.3 (commit 1c71222e5f23), a mapping's flags must be changed through wrapper functions, which check the lock.
 */
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

/**
 * massif_vma_map() - map an array of pages, beginning with pages[vma->vm_pgoff].
 * @nr: number of pages in @pages.
 *
 * If vm_map_pages() accepts pages that are charged to a memory cgroup, the page tables hold references to the pages. On
 * older kernels, the mapping's file must keep the pages alive.
 *
 * Context: mmap_lock is held for writing.
 * Return: 0; -ENXIO if the mapping is longer than the pages; or another error from the kernel.
 */
static inline int massif_vma_map(struct vm_area_struct *vma, struct page **pages, unsigned long nr)
{
#ifdef MASSIF_HAVE_page_kmemcg
	unsigned long i, count = vma_pages(vma);
	int err = 0;

	if (vma->vm_pgoff >= nr || count > nr - vma->vm_pgoff)
		return -ENXIO;
	for (i = 0; i < count && !err; i++)
		err = remap_pfn_range(vma, vma->vm_start + i * PAGE_SIZE,
				      page_to_pfn(pages[vma->vm_pgoff + i]), PAGE_SIZE, vma->vm_page_prot);
	return err;
#else
	return vm_map_pages(vma, pages, nr);
#endif
}

/*
 * True if stacks grow with mmap_lock held for reading: before commit 8d7071af8907, which came with 6.5 and
 * was backported to the stable series.
 */
#ifdef MASSIF_HAVE_lock_mm_and_find_vma
#define massif_mm_shared_growth	false
#else
#define massif_mm_shared_growth	true
#endif

/*
 * Returns a thread of a process that uses the address space: the one that the kernel has chosen to own it. NULL if no
 * process uses it, or if this kernel keeps no owner. Called under RCU, which keeps the result valid.
 */
static inline struct task_struct *massif_mm_owner(struct mm_struct *mm)
{
#ifdef CONFIG_MEMCG
	struct task_struct *owner = rcu_dereference(mm->owner);

	return owner && READ_ONCE(owner->mm) == mm ? owner : NULL;
#else
	return NULL;
#endif
}

/*
 * True if the address space has been torn down: it has no users any more, and the kernel has dropped its executable,
 * which it does after exit_mmap(). The caller has a reference to the struct (mm_count).
 */
static inline bool massif_mm_gone(struct mm_struct *mm)
{
	return !atomic_read(&mm->mm_users) && !rcu_access_pointer(mm->exe_file);
}

#endif
