// SPDX-License-Identifier: GPL-2.0
// Compiles if the kernel has ftrace direct calls from several functions by one ftrace_ops, under the names of the older
// interface for a single function (since 6.4, commit da8bdfbd422f).
#include <linux/ftrace.h>

int probe(struct ftrace_ops *ops, unsigned long addr);
int probe(struct ftrace_ops *ops, unsigned long addr)
{
	int err = register_ftrace_direct(ops, addr);

	return err ?: unregister_ftrace_direct(ops, addr, true);
}
