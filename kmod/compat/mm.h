/* SPDX-License-Identifier: GPL-2.0 */
/* Address spaces: what differs between kernels. */
#ifndef MASSIF_COMPAT_MM_H
#define MASSIF_COMPAT_MM_H

#include <linux/mm.h>

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

/*
 * Maps pages[], nr in all, from the one that vma's offset names on. Without a type that forbids it each page is
 * referred to by its page tables; otherwise vma's file must keep the pages. 0, -ENXIO (there are not so many), or another error.
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
 * Do stacks grow with mmap_lock held for reading only? Not since 6.5, commit 8d7071af8907, which went
 * to older series, too.
 */
#ifdef MASSIF_HAVE_lock_mm_and_find_vma
#define massif_mm_shared_growth	false
#else
#define massif_mm_shared_growth	true
#endif

/*
 * Makes [addr, addr + len) part of current's heap, whatever was there before. -EOPNOTSUPP where only
 * programs can do that (since 7.0).
 */
static inline int massif_mm_brk(unsigned long addr, unsigned long len)
{
#ifdef MASSIF_EXPORTS_vm_brk_flags
	return vm_brk_flags(addr, len, 0);
#else
	return -EOPNOTSUPP;
#endif
}

#endif
