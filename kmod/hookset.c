// SPDX-License-Identifier: GPL-2.0
// Sets of hooks and their users.
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/string.h>

#include "hookset.h"

/**
 * massif_hookset_get() - add a user to a set of hooks, and arm the hooks if it is the first user.
 * @dead: on -ENODEV, set to the name of the hook that cannot be armed.
 * @size: size of @dead in bytes.
 * Context: process context; sleeps. Never handles a fault on user memory or takes mmap_lock: either could take
 * arbitrarily long, and all sessions need set->lock.
 * Return: 0; -ENODEV; -EINTR after a fatal signal; or an error that is not caused by a particular hook, such as
 *	-ENOMEM.
 */
int massif_hookset_get(struct massif_hookset *set, char *dead, size_t size)
{
	const char *name = NULL;
	int err = 0;

	if (mutex_lock_killable(&set->lock))
		return -EINTR;
	if (!set->users)
		err = set->arm(&name);
	if (!err)
		set->users++;
	mutex_unlock(&set->lock);

	if (err && err != -ENOMEM && name) {
		pr_warn_ratelimited("%s: hook %s cannot be used (%d)\n", KBUILD_MODNAME, name, err);
		strscpy(dead, name, size);
		err = -ENODEV;
	}
	return err;
}

/**
 * massif_hookset_put() - remove a user from a set of hooks, and disarm the hooks if it was the last user.
 * Context: process context; sleeps.
 */
void massif_hookset_put(struct massif_hookset *set)
{
	mutex_lock(&set->lock);
	if (!--set->users)
		set->disarm();
	mutex_unlock(&set->lock);
}
