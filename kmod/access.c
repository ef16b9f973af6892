// SPDX-License-Identifier: GPL-2.0
// May a session look into a process? The rules of ptrace, when it begins and for as long as it lasts.
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/mm_types.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/user_namespace.h>

#include "access.h"
#include "compat/ptrace.h"

/* Has who is of these credentials CAP_SYS_PTRACE over ns? Asked in hooks, too, so no security module is. */
static bool holds(const struct cred *cred, const struct user_namespace *ns)
{
	for (; ns->level > cred->user_ns->level; ns = ns->parent)
		/* Who makes a user namespace has all rights over it. */
		if (ns->parent == cred->user_ns && uid_eq(ns->owner, cred->euid))
			return true;
	return ns == cred->user_ns && cap_raised(cred->cap_effective, CAP_SYS_PTRACE);
}

/* The real ones of who looks, as for everything that copies memory. */
static bool same_ids(const struct cred *subject, const struct cred *target)
{
	return uid_eq(subject->uid, target->uid) && uid_eq(subject->uid, target->euid) &&
	       uid_eq(subject->uid, target->suid) && gid_eq(subject->gid, target->gid) &&
	       gid_eq(subject->gid, target->egid) && gid_eq(subject->gid, target->sgid);
}

/* Has the target no capability that the subject could not have, in the same user namespace? */
static bool same_rights(const struct cred *subject, const struct cred *target)
{
	return subject->user_ns == target->user_ns &&
	       cap_issubset(target->cap_permitted, subject->cap_permitted);
}

/*
 * The rules of ptrace_may_access(PTRACE_MODE_ATTACH_REALCREDS), which hooks cannot call: ids, dumpable,
 * capabilities, user namespace. CAP_SYS_PTRACE is asked for over whose the process is, and over what it
 * executes.
 */
static bool may_look(const struct cred *subject, const struct cred *target, bool dumpable,
		     const struct user_namespace *image_ns)
{
	if (!(same_ids(subject, target) && same_rights(subject, target)) &&
	    !holds(subject, target->user_ns))
		return false;
	return dumpable || holds(subject, image_ns);
}

/* The same of task, which executes in mm. Neither sleeps nor takes a lock. */
static bool may_look_into(const struct cred *subject, struct task_struct *task, struct mm_struct *mm)
{
	struct user_namespace *ns = massif_task_image_ns(task, mm);
	const struct cred *cred = get_task_cred(task);
	bool ok = may_look(subject, cred, massif_task_dumpable(task, mm), ns);

	put_cred(cred);
	put_user_ns(ns);
	return ok;
}

/*
 * A descriptor can be passed on: both who opened it and who uses it must have the right. Security modules have a say
 * here, as in ptrace, and not while the session lasts, as in ptrace.
 */
bool massif_access_attach(const struct massif_session *session, struct task_struct *task,
			  struct mm_struct *mm)
{
	const struct cred *cred[] = { session->cred, current_cred() };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cred); i++)
		if (!may_look_into(cred[i], task, mm) || !massif_ptrace_allows(cred[i], task))
			return false;
	return true;
}

/* May the session follow current, which agrees, or has just become another program? */
bool massif_access_self(const struct massif_session *session)
{
	return may_look_into(session->cred, current, current->mm);
}

/* A reference to a thread of the process that target was made for, which still has its address space mm; or NULL. */
static struct task_struct *get_thread(const struct massif_session *session, const struct massif_target *target,
				      const struct mm_struct *mm)
{
	struct task_struct *leader, *thread, *found = NULL;

	rcu_read_lock();
	leader = pid_task(find_pid_ns(target->tgid, session->pid_ns), PIDTYPE_TGID);
	if (leader) {
		for_each_thread(leader, thread) {
			if (READ_ONCE(thread->mm) == mm) {
				get_task_struct(thread);
				found = thread;
				break;
			}
		}
	}
	rcu_read_unlock();
	return found;
}

/*
 * The consumer asks for all mappings of target, whose address space is mm. Its threads may have done nothing that
 * makes a record since they changed, so ask for them. If the process has ended and another one shares mm, what was
 * found at the last record holds.
 */
bool massif_access_asked(struct massif_session *session, struct massif_target *target, struct mm_struct *mm)
{
	struct task_struct *thread;
	bool ok;

	if (session->privileged)
		return true;
	thread = get_thread(session, target, mm);
	if (!thread)
		return !READ_ONCE(target->hidden);
	ok = may_look_into(session->cred, thread, mm);
	put_task_struct(thread);
	if (!ok)
		WRITE_ONCE(target->hidden, true);
	return ok;
}

/*
 * A record of what current does to target is due, and current is not as it was. False: it still may be
 * looked at. If not, that is for good: the consumer hears of nothing more but that it has left, which
 * massif_session_tend() says. In hooks, with any lock held.
 */
bool massif_access_judge(struct massif_session *session, struct massif_target *target)
{
	if (massif_access_self(session)) {
		/* Threads may do this at the same time. */
		put_cred(xchg(&target->judged, get_cred(current_real_cred())));
		return false;
	}
	WRITE_ONCE(target->hidden, true);
	massif_session_wake(session);
	return true;
}
