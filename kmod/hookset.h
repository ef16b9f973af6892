/* SPDX-License-Identifier: GPL-2.0 */
/* A set of hooks that is armed for its first user and disarmed after its last. */
#ifndef MASSIF_HOOKSET_H
#define MASSIF_HOOKSET_H

#include <linux/mutex.h>
#include <linux/types.h>

struct massif_hookset {
	struct mutex lock;	/* serialises arming and disarming; protects the number of users */
	unsigned int users;
	/* Arms all hooks or none. On an error caused by one hook, sets dead to its name. */
	int (*arm)(const char **dead);
	/* Disarms all hooks, but possibly leaves detours for later (compat/direct.c), which then find no target. */
	void (*disarm)(void);
};

#define MASSIF_HOOKSET(set, arm_all, disarm_all)			\
	static struct massif_hookset set = {				\
		.lock = __MUTEX_INITIALIZER((set).lock),		\
		.arm = (arm_all),					\
		.disarm = (disarm_all),					\
	}

int massif_hookset_get(struct massif_hookset *set, char *dead, size_t size);
void massif_hookset_put(struct massif_hookset *set);

#endif
