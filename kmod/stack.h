/* SPDX-License-Identifier: GPL-2.0 */
/* Attaches a stack to a record, and writes the STACK record of the current thread. */
#ifndef MASSIF_STACK_H
#define MASSIF_STACK_H

#include <linux/types.h>

struct massif_record;
struct massif_target;

/* A stack copy that a hook has queued. */
struct massif_stack_copy {
	u32 number;
	u32 known;	/* cached stack that the hook has recognised; 0: none */
	u32 code_gen;	/* value of target->code_gen (unmappings of executable code) when the hook ran */
};

void massif_stack_explain(struct massif_record *rec, struct massif_target *target, bool own);
void massif_stack_capture(struct massif_target *target, const struct massif_stack_copy *capture);
void massif_stack_gone(struct massif_target *target, const struct massif_stack_copy *capture);

#endif
