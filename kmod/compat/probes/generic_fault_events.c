// SPDX-License-Identifier: GPL-2.0
// Compiles if the tracepoints on page faults are declared for all architectures together, not by x86.
#include <linux/mm_types.h>
#include <trace/events/exceptions.h>

void probe(void (*callback)(void *, unsigned long, struct pt_regs *, unsigned long));
void probe(void (*callback)(void *, unsigned long, struct pt_regs *, unsigned long))
{
	check_trace_callback_type_page_fault_user(callback);
}
