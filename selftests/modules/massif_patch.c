// SPDX-License-Identifier: GPL-2.0
// Hooks a function as a live patch does: with an ftrace callback that may redirect the call. The callback does
// nothing.
#include <linux/ftrace.h>
#include <linux/module.h>

static char *function = "exit_mmap";
module_param(function, charp, 0);

#ifdef CONFIG_LIVEPATCH

/* The type of the last argument depends on the kernel version. */
static void notrace on_call(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *ops, void *regs)
{
}

static struct ftrace_ops patch = {
	.func	= (ftrace_func_t)on_call,
	.flags	= FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_IPMODIFY,
};

static void free_filter(struct ftrace_ops *ops)
{
#ifdef HAVE_FREE_FILTER
	ftrace_free_filter(ops);
#else
	/* Its memory stays allocated. */
	ftrace_set_filter(ops, NULL, 0, 1);
#endif
}

static int __init patch_init(void)
{
	int err = ftrace_set_filter(&patch, function, strlen(function), 0) ?: register_ftrace_function(&patch);

	if (err)
		free_filter(&patch);
	return err;
}

static void __exit patch_exit(void)
{
	unregister_ftrace_function(&patch);
	free_filter(&patch);
}

#else

static int __init patch_init(void)
{
	return -EINVAL;
}

static void __exit patch_exit(void)
{
}

#endif

module_init(patch_init);
module_exit(patch_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A live patch that changes nothing, for the tests of massif");
