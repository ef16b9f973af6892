// SPDX-License-Identifier: GPL-2.0
// A table with one row for each hook: its kernel function, and how to decode the arguments of that function.
#include <linux/mm.h>

#include "compat/hookpoint.h"

#define ARG(n)	(arg[n])

/*
 * Arguments of mmap_region(file, addr, len, flags, ...). Since Linux 7.3, flags is a struct, which is also passed in a
 * register.
 */
static void decode_mmap(const unsigned long *arg, struct massif_change *change)
{
	change->mm = current->mm;
	change->file = (const struct file *)ARG(0);
	change->addr = ARG(1);
	change->len = ARG(2);
	change->vm_flags = ARG(3);
}

/*
 * Arguments of __do_munmap(mm, start, len, ...), on kernels without the maple tree. When the hook runs, the function
 * has not validated them yet.
 */
static __maybe_unused void decode_unmap_mm(const unsigned long *arg, struct massif_change *change)
{
	change->mm = (struct mm_struct *)ARG(0);
	change->addr = ARG(1);
	change->len = PAGE_ALIGN(ARG(2));
}

/* Arguments of do_mas_align_munmap(mas, vma, mm, start, end, ...), in later kernels do_vmi_align_munmap(vmi, ...). */
static __maybe_unused void decode_unmap(const unsigned long *arg, struct massif_change *change)
{
	change->mm = (struct mm_struct *)ARG(2);
	change->vma = (struct vm_area_struct *)ARG(1);
	change->addr = ARG(3);
	change->len = ARG(4) - ARG(3);
}

/*
 * The hook on vms_complete_munmap_vmas(vms, mas_detach) uses neither argument, because the function always changes
 * current's address space.
 */
static __maybe_unused void decode_remove(const unsigned long *arg, struct massif_change *change)
{
	change->mm = current->mm;
}

/* Arguments of do_brk_flags(addr, len, flags, ...), on kernels without the maple tree. */
static __maybe_unused void decode_brk_addr(const unsigned long *arg, struct massif_change *change)
{
	change->mm = current->mm;
	change->addr = ARG(0);
	change->len = ARG(1);
	change->vm_flags = VM_READ | VM_WRITE | ARG(2);
}

/*
 * Arguments of do_brk_flags(iterator, vma, addr, len, flags). Since Linux 7.2, flags is a struct, which is also passed
 * in a register.
 */
static __maybe_unused void decode_brk(const unsigned long *arg, struct massif_change *change)
{
	change->mm = current->mm;
	change->addr = ARG(2);
	change->len = ARG(3);
	change->vm_flags = VM_READ | VM_WRITE | ARG(4);
}

static void decode_vma(struct massif_change *change, struct vm_area_struct *vma)
{
	change->mm = vma->vm_mm;
	change->vma = vma;
	change->vm_flags = vma->vm_flags;
	change->file = vma->vm_file;
}

/*
 * Arguments of expand_downwards(vma, address). change->addr is set to the start of the mapping before the call; the
 * leave handler uses it to compute how much the mapping has grown.
 */
static void decode_stack(const unsigned long *arg, struct massif_change *change)
{
	decode_vma(change, (struct vm_area_struct *)ARG(0));
	change->addr = change->vma->vm_start;
}

/*
 * Arguments of __vma_adjust(vma, start, end, ...), which is called for every change to a mapping's bounds. The
 * arguments of the system call show whether mremap is the caller, and which range it changes.
 */
static __maybe_unused void decode_grow(const unsigned long *arg, struct massif_change *change)
{
	decode_vma(change, (struct vm_area_struct *)ARG(0));
}

/* Arguments of vma_merge_extend(iterator, vma, delta), which mremap uses to extend a mapping at its end. */
static __maybe_unused void decode_extend(const unsigned long *arg, struct massif_change *change)
{
	decode_vma(change, (struct vm_area_struct *)ARG(1));
	change->addr = change->vma->vm_end;
	change->len = ARG(2);
}

/* Arguments of copy_vma(&vma, addr, len, ...). */
static void decode_copy(const unsigned long *arg, struct massif_change *change)
{
	decode_vma(change, *(struct vm_area_struct **)ARG(0));
	change->addr = ARG(1);
	change->len = ARG(2);
}

/* Arguments of _install_special_mapping(mm, addr, len, vm_flags, spec). */
static void decode_special(const unsigned long *arg, struct massif_change *change)
{
	change->mm = (struct mm_struct *)ARG(0);
	change->addr = ARG(1);
	change->len = ARG(2);
	change->vm_flags = ARG(3);
}

/* Arguments of exit_mmap(mm). */
static void decode_exit(const unsigned long *arg, struct massif_change *change)
{
	change->mm = (struct mm_struct *)ARG(0);
}

/* detour_64.S hard-codes which argument of each of these functions identifies the address space. */
const struct massif_hookpoint massif_hookpoints[MASSIF_HOOK_COUNT] = {
	[MASSIF_HOOK_MMAP]	= { "mmap_region", decode_mmap,
				    "long(file *, long, long, flags, ...)" },
#if !defined(MASSIF_HAVE_vma_iterator)
	[MASSIF_HOOK_UNMAP]	= { "__do_munmap", decode_unmap_mm,
				    "int(mm_struct *, long, long, ...)" },
	[MASSIF_HOOK_GROW]	= { "__vma_adjust", decode_grow,
				    "int(vm_area_struct *, ...)" },
	[MASSIF_HOOK_BRK]	= { "do_brk_flags", decode_brk_addr,
				    "int(long, long, long, ...)" },
#elif defined(MASSIF_HAVE_mas_munmap)
	[MASSIF_HOOK_UNMAP]	= { "do_mas_align_munmap", decode_unmap,
				    "int(*, vm_area_struct *, mm_struct *, long, long, ...)" },
	[MASSIF_HOOK_GROW]	= { "__vma_adjust", decode_grow,
				    "int(vm_area_struct *, ...)" },
	[MASSIF_HOOK_BRK]	= { "do_brk_flags", decode_brk,
				    "int(*, vm_area_struct *, long, long, flags)" },
#else
	[MASSIF_HOOK_UNMAP]	= { "do_vmi_align_munmap", decode_unmap,
				    "int(*, vm_area_struct *, mm_struct *, long, long, ...)" },
	[MASSIF_HOOK_REMOVE]	= { "vms_complete_munmap_vmas", decode_remove,
				    "void(*, ...)" },
	[MASSIF_HOOK_EXTEND]	= { "vma_merge_extend", decode_extend,
				    "vm_area_struct *(*, vm_area_struct *, long)" },
	[MASSIF_HOOK_BRK]	= { "do_brk_flags", decode_brk,
				    "int(*, vm_area_struct *, long, long, flags)" },
#endif
	[MASSIF_HOOK_STACK]	= { "expand_downwards", decode_stack,
				    "int(vm_area_struct *, long)" },
	[MASSIF_HOOK_COPY]	= { "copy_vma", decode_copy,
				    "vm_area_struct *(vm_area_struct **, long, long, ...)" },
	[MASSIF_HOOK_SPECIAL]	= { "_install_special_mapping", decode_special,
				    "vm_area_struct *(mm_struct *, long, long, long, ...)" },
	[MASSIF_HOOK_EXIT]	= { "exit_mmap", decode_exit,
				    "void(mm_struct *)" },
};

/* Arguments of __mm_populate(start, len, ...), for MAP_POPULATE, MAP_LOCKED, mlock, and growth of locked mappings. */
static void decode_populate(const unsigned long *arg, struct massif_change *change)
{
	change->mm = current->mm;
	change->addr = ARG(0);
	change->len = ARG(1);
}

/*
 * Arguments of faultin_vma_page_range(vma, start, end, ...), in later kernels faultin_page_range(mm, start, end, ...),
 * for MADV_POPULATE_*. Always concerns current's address space, because process_madvise() does not accept
 * MADV_POPULATE_*.
 */
static void decode_faultin(const unsigned long *arg, struct massif_change *change)
{
	change->mm = current->mm;
	change->addr = ARG(1);
	change->len = ARG(2) - ARG(1);
}

/*
 * The functions that populate whole address ranges with pages. The second and third rows are the old and new names of
 * the same function; a kernel that has neither does not support MADV_POPULATE_*.
 */
const struct massif_hookpoint massif_populatepoints[MASSIF_POPULATE_COUNT] = {
	{ "__mm_populate", decode_populate, "int(long, long, ...)" },
	{ "faultin_vma_page_range", decode_faultin, "long(*, long, long, ...)" },
	{ "faultin_page_range", decode_faultin, "long(*, long, long, ...)" },
};
