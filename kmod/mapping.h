/* SPDX-License-Identifier: GPL-2.0 */
/* The hooks that see an address space change. */
#ifndef MASSIF_MAPPING_H
#define MASSIF_MAPPING_H

#include <linux/types.h>

struct file;
struct mm_struct;
struct vm_area_struct;

/*
 * What is hooked, the ones most often called first; which function that is depends on the kernel
 * (compat/hookpoint.c). REMOVE is only there where UNMAP does not see all that is removed, or
 * returns without the lock; there is either GROW or EXTEND.
 */
#define MASSIF_EACH_HOOK(DO)						\
	DO(MASSIF_HOOK_MMAP)	/* a mapping is made */			\
	DO(MASSIF_HOOK_UNMAP)	/* the one place through which all are removed */ \
	DO(MASSIF_HOOK_REMOVE)	/* the moment at which they are */	\
	DO(MASSIF_HOOK_GROW)	/* bounds of a mapping change */	\
	DO(MASSIF_HOOK_EXTEND)	/* mremap makes a mapping longer where it is */ \
	DO(MASSIF_HOOK_BRK)	/* the heap grows */			\
	DO(MASSIF_HOOK_STACK)	/* a stack grows */			\
	DO(MASSIF_HOOK_COPY)	/* mremap makes the destination of a move */ \
	DO(MASSIF_HOOK_SPECIAL)	/* vdso, uprobes */			\
	DO(MASSIF_HOOK_EXIT)	/* the last user has gone, nothing is torn down yet */

#define MASSIF_HOOK_NUMBER(HOOK)	HOOK,
enum massif_hook {
	MASSIF_EACH_HOOK(MASSIF_HOOK_NUMBER)
	MASSIF_HOOK_COUNT
};

/* The arguments of a hooked function, as far as they apply. Lengths in bytes, page-aligned. */
struct massif_change {
	struct mm_struct *mm;
	struct vm_area_struct *vma;	/* that grows, is copied, or is the first to be unmapped */
	unsigned long addr;
	unsigned long len;
	unsigned long vm_flags;
	const struct file *file;
};

/*
 * One call of a hooked function, from enter to leave. The function may sleep, and the hooks may be
 * disarmed, in between: so nothing in it may be followed in leave but what the call itself holds.
 */
struct massif_call {
	unsigned long arg[6];
	struct massif_change change;
	u64 target;			/* its serial */
	unsigned long total;		/* pages, at enter */
};

bool massif_mapping_enter(enum massif_hook hook, struct massif_call *call);
void massif_mapping_leave(enum massif_hook hook, struct massif_call *call, unsigned long result);

#endif
