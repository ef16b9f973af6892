// SPDX-License-Identifier: GPL-2.0
// Compiles if the kernel's ftrace supports direct calls from several functions through one ftrace_ops (since 6.4,
// commit da8bdfbd422f). This interface has the names of an older one, which supported only a single function.
#include <linux/ftrace.h>

int probe(struct ftrace_ops *ops, unsigned long addr);
int probe(struct ftrace_ops *ops, unsigned long addr)
{
	int err = register_ftrace_direct(ops, addr);

	return err ?: unregister_ftrace_direct(ops, addr, true);
}
