// SPDX-License-Identifier: GPL-2.0
// Compiles if the kernel's ftrace supports direct calls from several functions through one ftrace_ops, under the names
// that the older interface for a single function had (since 6.4, commit da8bdfbd422f).
#include <linux/ftrace.h>

int probe(struct ftrace_ops *ops, unsigned long addr);
int probe(struct ftrace_ops *ops, unsigned long addr)
{
	int err = register_ftrace_direct(ops, addr);

	return err ?: unregister_ftrace_direct(ops, addr, true);
}
