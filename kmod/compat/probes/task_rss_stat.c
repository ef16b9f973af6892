// SPDX-License-Identifier: GPL-2.0
// Compiles if threads collect changes of up to 64 pages before they add them to the RSS counters of the address space
// (before 6.2).
#include <linux/sched.h>

int probe(struct task_struct *task);
int probe(struct task_struct *task)
{
	return task->rss_stat.count[0];
}
