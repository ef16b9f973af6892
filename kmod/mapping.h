/* SPDX-License-Identifier: GPL-2.0 */
/* The hooks that see an address space change. */
#ifndef MASSIF_MAPPING_H
#define MASSIF_MAPPING_H

#include <linux/kprobes.h>

/* What is hooked; which function that is depends on the kernel (compat/hookpoint.c). */
enum massif_hook {
	MASSIF_HOOK_MMAP,	/* a mapping is made */
	MASSIF_HOOK_UNMAP,	/* the one place through which all are removed */
	MASSIF_HOOK_BRK,	/* the heap grows */
	MASSIF_HOOK_STACK,	/* a stack grows */
	MASSIF_HOOK_GROW,	/* mremap makes a mapping longer where it is */
	MASSIF_HOOK_COPY,	/* mremap makes the destination of a move */
	MASSIF_HOOK_SPECIAL,	/* vdso, uprobes */
	MASSIF_HOOK_COUNT
};

struct massif_mapping_hook {
	kretprobe_handler_t enter;	/* nonzero: leave is not wanted */
	kretprobe_handler_t leave;
};

extern const struct massif_mapping_hook massif_mapping_hooks[MASSIF_HOOK_COUNT];
extern const size_t massif_mapping_data_size;

int massif_mapping_exit(struct kprobe *probe, struct pt_regs *regs);

#endif
