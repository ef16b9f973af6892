// SPDX-License-Identifier: GPL-2.0
// Which kernel function each hook sits on, and what its arguments mean: one row a hook.
#include <linux/mm.h>
#include <linux/ptrace.h>

#include "compat/hookpoint.h"

#define ARG(n)	regs_get_kernel_argument(regs, n)

/* mmap_region(file, addr, len, vm_flags, ...) */
static void decode_mmap(struct pt_regs *regs, struct massif_change *change)
{
	change->mm = current->mm;
	change->file = (const struct file *)ARG(0);
	change->addr = ARG(1);
	change->len = ARG(2);
	change->vm_flags = ARG(3);
}

/* do_mas_align_munmap(mas, vma, mm, start, end, ...) */
static void decode_unmap(struct pt_regs *regs, struct massif_change *change)
{
	change->mm = (struct mm_struct *)ARG(2);
	change->addr = ARG(3);
	change->len = ARG(4) - ARG(3);
}

/* do_brk_flags(mas, brkvma, addr, len, flags) */
static void decode_brk(struct pt_regs *regs, struct massif_change *change)
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

/* expand_downwards(vma, address): where it begins now, to see by how much it grew */
static void decode_stack(struct pt_regs *regs, struct massif_change *change)
{
	decode_vma(change, (struct vm_area_struct *)ARG(0));
	change->addr = change->vma->vm_start;
}

/*
 * __vma_adjust(vma, start, end, ...): all changes of a mapping's bounds come through here. Whether
 * it is an mremap, and of what, must be seen from the system call.
 */
static void decode_grow(struct pt_regs *regs, struct massif_change *change)
{
	decode_vma(change, (struct vm_area_struct *)ARG(0));
}

/* copy_vma(&vma, addr, len, ...) */
static void decode_copy(struct pt_regs *regs, struct massif_change *change)
{
	decode_vma(change, *(struct vm_area_struct **)ARG(0));
	change->addr = ARG(1);
	change->len = ARG(2);
}

/* _install_special_mapping(mm, addr, len, vm_flags, spec) */
static void decode_special(struct pt_regs *regs, struct massif_change *change)
{
	change->mm = (struct mm_struct *)ARG(0);
	change->addr = ARG(1);
	change->len = ARG(2);
	change->vm_flags = ARG(3);
}

/* The rows for kernels with the maple tree, as 6.1 has them. */
#ifndef MASSIF_HAVE_vma_iterator
#error "massif: no hooks for a kernel of before the maple tree yet"
#endif

const struct massif_hookpoint massif_hookpoints[MASSIF_HOOK_COUNT] = {
	[MASSIF_HOOK_MMAP]	= { "mmap_region", decode_mmap },
	[MASSIF_HOOK_UNMAP]	= { "do_mas_align_munmap", decode_unmap },
	[MASSIF_HOOK_BRK]	= { "do_brk_flags", decode_brk },
	[MASSIF_HOOK_STACK]	= { "expand_downwards", decode_stack },
	[MASSIF_HOOK_GROW]	= { "__vma_adjust", decode_grow },
	[MASSIF_HOOK_COPY]	= { "copy_vma", decode_copy },
	[MASSIF_HOOK_SPECIAL]	= { "_install_special_mapping", decode_special },
};

/* exit_mmap(mm) */
const char massif_hookpoint_exit[] = "exit_mmap";
