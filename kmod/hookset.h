/* SPDX-License-Identifier: GPL-2.0 */
/* A set of hooks that are armed with the first who needs them, and disarmed with the last. */
#ifndef MASSIF_HOOKSET_H
#define MASSIF_HOOKSET_H

#include <linux/mutex.h>
#include <linux/types.h>

struct massif_hookset {
	struct mutex lock;	/* serialises arming and disarming; protects users */
	unsigned int users;
	/* All of them, or none: an error, and in dead the name of the hook, if it is one's fault. */
	int (*arm)(const char **dead);
	/* When it returns, no handler is running or will. */
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
