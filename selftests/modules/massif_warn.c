// SPDX-License-Identifier: GPL-2.0
// Causes kernel warnings on purpose, to check that the test runner notices them.
#include <linux/module.h>
#include <linux/refcount.h>

static char *what = "nothing";
module_param(what, charp, 0);

static int __init warn_init(void)
{
	refcount_t users = REFCOUNT_INIT(1);

	WARN(!strcmp(what, "warn"), "massif_warn: on purpose\n");
	if (!strcmp(what, "refcount")) {
		refcount_dec(&users);
		refcount_inc(&users);
	}
	return 0;
}

static void __exit warn_exit(void)
{
}

module_init(warn_init);
module_exit(warn_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Kernel warnings for the tests of massif");
