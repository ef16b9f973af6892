// SPDX-License-Identifier: GPL-2.0
// Probes that the kernel was asked to let go of.
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/slab.h>

#include "kprobe.h"

/*
 * Frees memory, in which the probe is, after the probe was unregistered. That can have failed for want of
 * memory: ftrace needs some to take a function out of its filter. The kernel says so only by the address
 * that it takes away, and has the probe in its lists for ever. Then it is not freed, nor may it be used
 * again; and the module, to which its handler belongs, stays.
 */
void massif_kprobe_free(const struct kprobe *probe, void *memory)
{
	if (likely(probe->addr)) {
		kfree(memory);
		return;
	}
	pr_warn_ratelimited("%s: the kernel cannot let go of the probe on %s, so the module stays\n",
			    KBUILD_MODNAME, probe->symbol_name);
	__module_get(THIS_MODULE);
}
