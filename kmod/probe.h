/* SPDX-License-Identifier: GPL-2.0 */
/* Hooks based on kretprobes, for kernels without detours. */
#ifndef MASSIF_PROBE_H
#define MASSIF_PROBE_H

#include <linux/types.h>

struct pt_regs;

void massif_probe_arguments(struct pt_regs *regs, unsigned long arg[6]);
int massif_probe_arm(const char **dead);
void massif_probe_disarm(void);
u64 massif_probe_missed(void);

#endif
