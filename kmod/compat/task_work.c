// SPDX-License-Identifier: GPL-2.0
// Calls the kernel's task_work_cancel_match(), which is not exported to modules. ptrace.c explains the static call.
#include <linux/sched.h>
#include <linux/task_work.h>

#include "compat/task_work.h"

#ifdef CONFIG_HAVE_STATIC_CALL
#include <linux/static_call.h>

#include "compat/prototype.h"
#include "symbol.h"

/* Takes no work back if task_work_cancel_match() cannot be found. */
static struct callback_head *cannot_cancel(struct task_struct *task, bool (*match)(struct callback_head *, void *),
					   void *data)
{
	return NULL;
}

DEFINE_STATIC_CALL(massif_task_work_cancel_match, cannot_cancel);

void __init massif_task_work_init(void)
{
	unsigned long at;
	bool owned;

	if (massif_prototype_other() || massif_symbol_find("task_work_cancel_match", &at, &owned))
		return;
	static_call_update(massif_task_work_cancel_match, (typeof(&cannot_cancel))at);
}

static bool is_it(struct callback_head *work, void *data)
{
	return work == data;
}

bool massif_task_work_cancel(struct task_struct *task, struct callback_head *work)
{
	return static_call(massif_task_work_cancel_match)(task, is_it, work);
}

#else

void __init massif_task_work_init(void)
{
}

bool massif_task_work_cancel(struct task_struct *task, struct callback_head *work)
{
	return false;
}

#endif
