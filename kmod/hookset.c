// SPDX-License-Identifier: GPL-2.0
// Sets of hooks, and who uses them.
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/string.h>

#include "hookset.h"

/*
 * Arms the hooks for the first user. -ENODEV with a hook's name in dead if one is not to be had; other
 * errors have no name (memory, a fatal signal). May sleep; nothing in here waits for a user's memory.
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

/* Disarms them for the last one. May sleep. */
void massif_hookset_put(struct massif_hookset *set)
{
	mutex_lock(&set->lock);
	if (!--set->users)
		set->disarm();
	mutex_unlock(&set->lock);
}
