// SPDX-License-Identifier: GPL-2.0
// A higher priority for the thread that reads what massif.ko records.

#include "priority.h"

#include <sys/resource.h>

/* How much the nice value is lowered. */
#define RAISED_BY 5

void mf_priority_raise(struct mf_priority *priority)
{
	if (priority->is_raised || priority->is_refused)
		return;
	priority->nice = getpriority(PRIO_PROCESS, 0);
	priority->is_refused = setpriority(PRIO_PROCESS, 0, priority->nice - RAISED_BY);
	priority->is_raised = !priority->is_refused;
}

void mf_priority_restore(struct mf_priority *priority)
{
	if (priority->is_raised)
		(void)setpriority(PRIO_PROCESS, 0, priority->nice);
	priority->is_raised = false;
}
