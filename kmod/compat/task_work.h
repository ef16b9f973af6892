/* SPDX-License-Identifier: GPL-2.0 */
/* Takes back work that is queued for a thread. */
#ifndef MASSIF_COMPAT_TASK_WORK_H
#define MASSIF_COMPAT_TASK_WORK_H

#include <linux/init.h>
#include <linux/types.h>

struct callback_head;
struct task_struct;

/**
 * massif_task_work_init() - find task_work_cancel_match(), after massif_prototype_init().
 * Context: process context, when the module is loaded; may sleep.
 */
void __init massif_task_work_init(void);

/**
 * massif_task_work_cancel() - take back work that was queued with task_work_add().
 * @task: the thread, to which the caller holds a reference.
 * @work: the work, which the caller has not freed.
 * Context: any; takes the thread's pi_lock.
 * Return: true if the thread will not run the work. False if it has run the work or is about to, or if this kernel's
 *	function for this cannot be found.
 */
bool massif_task_work_cancel(struct task_struct *task, struct callback_head *work);

#endif
