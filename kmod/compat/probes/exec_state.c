// SPDX-License-Identifier: GPL-2.0
// Compiles if the kernel stores dumpability in the state of the thread's last exec (since 7.2), not in the address
// space.
#include <linux/sched.h>
#include <linux/sched/exec_state.h>

int probe(struct task_struct *task);
int probe(struct task_struct *task)
{
	return rcu_dereference(task->exec_state)->dumpable == TASK_DUMPABLE_OWNER;
}
