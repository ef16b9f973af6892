// SPDX-License-Identifier: GPL-2.0
// Delays massif.ko for 20 ms each time it is about to write a target's EXIT record, and each time it is about to remove a
// target from its table, so that tests can see what other tasks do in the meantime.
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/module.h>

static int on_call(struct kprobe *probe, struct pt_regs *regs)
{
	mdelay(20);
	return 0;
}

static struct kprobe writes = {
	.symbol_name	= "massif:massif_record_write_exit",
	.pre_handler	= on_call,
};

static struct kprobe removes = {
	.symbol_name	= "massif:massif_target_remove",
	.pre_handler	= on_call,
};

static struct kprobe *slow[] = { &writes, &removes };

static int __init slow_init(void)
{
	return register_kprobes(slow, ARRAY_SIZE(slow));
}

static void __exit slow_exit(void)
{
	unregister_kprobes(slow, ARRAY_SIZE(slow));
}

module_init(slow_init);
module_exit(slow_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Delays the end of a target, for the tests of massif");
