// SPDX-License-Identifier: GPL-2.0
// Delays massif.ko for 20 ms each time it is about to remove a target from its table, so that tests can see what other
// tasks do in the meantime.
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/module.h>

static int on_remove(struct kprobe *probe, struct pt_regs *regs)
{
	mdelay(20);
	return 0;
}

static struct kprobe slow = {
	.symbol_name	= "massif:massif_target_remove",
	.pre_handler	= on_remove,
};

static int __init slow_init(void)
{
	return register_kprobe(&slow);
}

static void __exit slow_exit(void)
{
	unregister_kprobe(&slow);
}

module_init(slow_init);
module_exit(slow_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Delays the end of a target, for the tests of massif");
