/* SPDX-License-Identifier: GPL-2.0 */
/* Work queued for a thread, which runs it before returning to user mode: stack copies, file names, resyncs. */
#ifndef MASSIF_RETURN_WORK_H
#define MASSIF_RETURN_WORK_H

#include <linux/types.h>

struct massif_target;
struct task_struct;

u32 massif_return_work_capture(struct massif_target *target, u32 known);
void massif_return_work_name(struct massif_target *target, unsigned long addr, unsigned long len);
bool massif_return_work_resync(struct massif_target *target, struct task_struct *task, u32 reason);

void massif_return_work_init(void);
void massif_return_work_exit(void);

#endif
