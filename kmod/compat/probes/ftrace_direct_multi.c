// SPDX-License-Identifier: GPL-2.0
// Compiles if the kernel's ftrace allows one ftrace_ops to register direct calls for several functions (since 5.16,
// commit f64dd4627ec6; under other names since 6.4).
#include <linux/ftrace.h>

int probe(struct ftrace_ops *ops, unsigned long addr);
int probe(struct ftrace_ops *ops, unsigned long addr)
{
	return register_ftrace_direct_multi(ops, addr);
}
