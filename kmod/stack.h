/* SPDX-License-Identifier: GPL-2.0 */
/* By which stack a record is explained; a STACK record of the current thread. */
#ifndef MASSIF_STACK_H
#define MASSIF_STACK_H

#include <linux/types.h>

struct massif_record;
struct massif_target;

/* A capture that a hook has asked for. */
struct massif_stack_copy {
	u32 number;
	u32 known;	/* stack that was recognised then; 0: none */
	u32 code_gen;	/* the target's, then */
};

void massif_stack_explain(struct massif_record *rec, struct massif_target *target, bool own);
void massif_stack_capture(struct massif_target *target, const struct massif_stack_copy *capture);
void massif_stack_gone(struct massif_target *target, const struct massif_stack_copy *capture);

#endif
