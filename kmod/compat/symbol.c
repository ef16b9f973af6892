// SPDX-License-Identifier: GPL-2.0
// Finds kernel functions by name, exported or not.
#include <linux/kprobes.h>

#include "symbol.h"

int massif_symbol_find(const char *name, unsigned long *at, bool *owned)
{
	/* The kprobe serves only to find the address. It is never armed, so it needs no handler and costs nothing. */
	struct kprobe probe = { .symbol_name = name, .flags = KPROBE_FLAG_DISABLED };
	int err = register_kprobe(&probe);

	if (err)
		return err;
	*at = (unsigned long)probe.addr;
	*owned = probe.flags & KPROBE_FLAG_FTRACE;
	unregister_kprobe(&probe);
	return 0;
}
