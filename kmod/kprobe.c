// SPDX-License-Identifier: GPL-2.0
// Frees unregistered kprobes, but only those that the kernel has actually released.
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/slab.h>

#include "kprobe.h"

/**
 * massif_kprobe_free() - free the memory of an unregistered kprobe.
 * @probe: the probe inside @memory.
 * @memory: from kmalloc(), freed or leaked.
 *
 * Unregistering can fail because ftrace needs memory to remove a function from its filter. The kernel reports the
 * failure only by clearing probe->addr, and keeps the probe in its lists forever. Then the memory is neither freed nor
 * used again, and the module, which contains the probe's handler, stays loaded.
 *
 * Context: process context.
 */
void massif_kprobe_free(const struct kprobe *probe, void *memory)
{
	if (likely(probe->addr)) {
		kfree(memory);
		return;
	}
	pr_warn_ratelimited("%s: the kernel cannot remove the probe on %s, so the module stays loaded\n",
			    KBUILD_MODNAME, probe->symbol_name);
	__module_get(THIS_MODULE);
}
