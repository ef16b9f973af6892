// SPDX-License-Identifier: GPL-2.0
// Compiles if each thread batches changes of up to 64 pages before it adds them to the address space's RSS counters
// (before 6.2).
#include <linux/sched.h>

int probe(struct task_struct *task);
int probe(struct task_struct *task)
{
	return task->rss_stat.count[0];
}
