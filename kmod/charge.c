// SPDX-License-Identifier: GPL-2.0
// Charges the memory of a session to its user, against RLIMIT_MEMLOCK.
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/resource.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>

#include "charge.h"
#include "session.h"

#ifndef CONFIG_NET
#error "massif: this kernel has no CONFIG_NET, so it may not count how much memory a user has locked"
#endif

/*
 * The memory of a session cannot be swapped out. As with the rings of perf and io_uring, it therefore counts as locked
 * memory, and the total locked memory of a user must stay below RLIMIT_MEMLOCK, unless CAP_IPC_LOCK lifts the limit.
 * The pages are also charged to the memory cgroup, but that alone would not protect other users from the OOM killer.
 * Targets and members need no limit of their own: there is at most one of each per running process, and the number of
 * processes is already limited.
 */

/*
 * Both the opener of the device and the caller must have CAP_IPC_LOCK, because the file descriptor can be passed to
 * another process.
 */
static bool unlimited(const struct massif_session *session)
{
	return session->may_lock && capable(CAP_IPC_LOCK);
}

/**
 * massif_charge() - charge pages to the user who opened the device.
 * @pages: number of pages that the session needs in total.
 * Context: any; takes no lock.
 * Return: 0, or -EDQUOT if that user's total would exceed the caller's RLIMIT_MEMLOCK.
 */
int massif_charge(struct massif_session *session, unsigned long pages)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	atomic_long_t *locked = &session->cred->user->locked_vm;
	unsigned long now = atomic_long_add_return(pages, locked);

	if (now > limit && !unlimited(session)) {
		atomic_long_sub(pages, locked);
		return -EDQUOT;
	}
	session->charged = pages;
	return 0;
}

/**
 * massif_uncharge() - undo massif_charge().
 * Context: any; takes no lock.
 */
void massif_uncharge(struct massif_session *session)
{
	atomic_long_sub(session->charged, &session->cred->user->locked_vm);
	session->charged = 0;
}
