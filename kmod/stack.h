/* SPDX-License-Identifier: GPL-2.0 */
/* A STACK record of the current thread. */
#ifndef MASSIF_STACK_H
#define MASSIF_STACK_H

#include <linux/types.h>

struct massif_target;

void massif_stack_capture(struct massif_target *target, u32 capture);
void massif_stack_gone(struct massif_target *target, u32 capture);

#endif
