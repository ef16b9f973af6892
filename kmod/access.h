/* SPDX-License-Identifier: GPL-2.0 */
/* Decides whether a session may observe a process, according to the access rules of ptrace. */
#ifndef MASSIF_ACCESS_H
#define MASSIF_ACCESS_H

#include <linux/cred.h>
#include <linux/sched.h>
#include <linux/types.h>

#include "compat/task.h"
#include "session.h"
#include "target.h"

struct mm_struct;

bool massif_access_attach(const struct massif_session *session, struct task_struct *task,
			  struct mm_struct *mm);
bool massif_access_self(const struct massif_session *session);
bool massif_access_asked(struct massif_session *session, struct massif_target *target, struct mm_struct *mm);
bool massif_access_judge(struct massif_session *session, struct massif_target *target);

/**
 * massif_access_lost() - check whether the session has lost the right to observe what current does to target.
 *
 * Called for each record, so the result is cached until the thread's credentials change. If the change is made by
 * another process or by a kernel thread, the record reveals nothing but addresses in the target, so the result of the
 * most recent check of one of the target's own threads is good enough. A resync requested by the consumer reveals more;
 * massif_access_asked() does the check for it.
 *
 * Context: hook, with any lock held; takes no lock and does not sleep.
 */
static inline bool massif_access_lost(struct massif_session *session, struct massif_target *target)
{
	if (likely(session->privileged))
		return false;
	if (READ_ONCE(target->hidden))
		return true;
	if (current->mm != target->mm || current->flags & PF_KTHREAD)
		return false;
	if (likely(READ_ONCE(target->judged) == current_real_cred() &&
		   massif_task_dumpable(current, current->mm)))
		return false;
	return massif_access_judge(session, target);
}

#endif
