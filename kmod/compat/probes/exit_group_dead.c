// SPDX-License-Identifier: GPL-2.0
// Compiles if the tracepoint sched_process_exit also tells whether the thread is the last of its process (since 6.16).
#include <linux/sched.h>
#include <trace/events/sched.h>

void probe(void (*callback)(void *, struct task_struct *, bool));
void probe(void (*callback)(void *, struct task_struct *, bool))
{
	check_trace_callback_type_sched_process_exit(callback);
}
