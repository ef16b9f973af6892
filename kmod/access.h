/* SPDX-License-Identifier: GPL-2.0 */
/* May a session look into a process? The rules of ptrace. */
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

/*
 * Of what current does to target: may the session not be told any more? Asked for each record, so what
 * was found is kept for as long as the thread has the same credentials. What others do to a target, the
 * kernel's threads too, tells of it only where it is; that is as secret as it was at its own last record.
 * A RESYNC that the consumer asks for tells more: massif_access_asked().
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
