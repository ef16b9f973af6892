/* SPDX-License-Identifier: GPL-2.0 */
/* The hooks on functions that change an address space. */
#ifndef MASSIF_MAPPING_H
#define MASSIF_MAPPING_H

#include <linux/types.h>

struct file;
struct mm_struct;
struct vm_area_struct;

/*
 * The hooks, most frequently called first. The function that a hook is placed on depends on the kernel version
 * (compat/hookpoint.c). REMOVE is used only on kernels where UNMAP does not see all removals, or where its function
 * returns after the lock has been dropped. Each kernel has either GROW or EXTEND.
 */
#define MASSIF_EACH_HOOK(DO)						\
	DO(MASSIF_HOOK_MMAP)	/* a mapping is created */		\
	DO(MASSIF_HOOK_UNMAP)	/* mappings are removed */		\
	DO(MASSIF_HOOK_REMOVE)	/* a removal of mappings has reached the point where it can no longer fail */ \
	DO(MASSIF_HOOK_GROW)	/* a mapping's start or end changes */	\
	DO(MASSIF_HOOK_EXTEND)	/* mremap grows a mapping in place */	\
	DO(MASSIF_HOOK_BRK)	/* the heap grows */			\
	DO(MASSIF_HOOK_STACK)	/* a stack grows */			\
	DO(MASSIF_HOOK_COPY)	/* mremap maps the destination of a move */ \
	DO(MASSIF_HOOK_SPECIAL)	/* the kernel maps a vdso or the uprobes page */ \
	DO(MASSIF_HOOK_EXIT)	/* the address space has lost its last user; teardown has not begun */

#define MASSIF_HOOK_NUMBER(HOOK)	HOOK,
enum massif_hook {
	MASSIF_EACH_HOOK(MASSIF_HOOK_NUMBER)
	MASSIF_HOOK_COUNT
};

/* Arguments of a hooked function. Fields that do not apply are zero. Lengths are in bytes, page-aligned. */
struct massif_change {
	struct mm_struct *mm;
	struct vm_area_struct *vma;	/* the mapping that grows or is copied, or the first to be unmapped */
	unsigned long addr;
	unsigned long len;
	unsigned long vm_flags;
	const struct file *file;
};

/*
 * One call of a hooked function, from the enter handler to the leave handler. In between, the function may sleep and
 * the hooks may be disarmed. So the leave handler may dereference only objects that the call itself keeps alive.
 */
struct massif_call {
	unsigned long arg[6];
	struct massif_change change;
	u64 target;			/* serial number of the target */
	unsigned long total;		/* total_vm when the hooked function was entered, in pages */
};

bool massif_mapping_enter(enum massif_hook hook, struct massif_call *call);
void massif_mapping_leave(enum massif_hook hook, struct massif_call *call, unsigned long result);

#endif
