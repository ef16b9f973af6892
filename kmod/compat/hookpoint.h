/* SPDX-License-Identifier: GPL-2.0 */
/* Which kernel function each hook sits on, and what its arguments mean. */
#ifndef MASSIF_COMPAT_HOOKPOINT_H
#define MASSIF_COMPAT_HOOKPOINT_H

#include "mapping.h"

struct file;
struct mm_struct;
struct pt_regs;
struct vm_area_struct;

/* The arguments of a hooked function, as far as they apply. Lengths in bytes, page-aligned. */
struct massif_change {
	struct mm_struct *mm;
	struct vm_area_struct *vma;	/* the one that grows, or is copied */
	unsigned long addr;
	unsigned long len;
	unsigned long vm_flags;
	const struct file *file;
};

struct massif_hookpoint {
	const char *symbol;
	void (*decode)(struct pt_regs *regs, struct massif_change *change);
};

extern const struct massif_hookpoint massif_hookpoints[MASSIF_HOOK_COUNT];
extern const char massif_hookpoint_exit[];

#endif
