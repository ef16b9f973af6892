/* SPDX-License-Identifier: GPL-2.0 */
/* The hooks that see pages become resident: armed while a session wants to know. */
#ifndef MASSIF_FAULT_H
#define MASSIF_FAULT_H

#include <linux/types.h>

struct massif_span;
struct mm_struct;
struct pt_regs;

int massif_fault_get(char *dead, size_t size);
void massif_fault_put(void);

bool massif_fault_begin(struct massif_span *span, struct mm_struct *mm, unsigned long addr,
			struct pt_regs *regs);

#endif
