// SPDX-License-Identifier: GPL-2.0
// The memory that a session takes from the system, counted against its user's limit.
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/resource.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>

#include "charge.h"
#include "session.h"

/*
 * As for the rings of perf and io_uring: it is memory that cannot be swapped out, so all that a user has of
 * it, of whatever kind, is to stay below RLIMIT_MEMLOCK, unless CAP_IPC_LOCK says otherwise. The pages
 * themselves are the memory cgroup's as well, which alone would not keep the OOM killer from others.
 * Targets and members need no limit of their own: each is of a process that runs, and these have one.
 */

/* Both who opened the device and who calls must be above the limit, or the descriptor would pass it on. */
static bool unlimited(const struct massif_session *session)
{
	return session->may_lock && capable(CAP_IPC_LOCK);
}

/* Charges the opener's user. -EDQUOT: more than the caller's limit. massif_uncharge() gives all back. */
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

void massif_uncharge(struct massif_session *session)
{
	atomic_long_sub(session->charged, &session->cred->user->locked_vm);
	session->charged = 0;
}
