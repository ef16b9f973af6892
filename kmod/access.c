// SPDX-License-Identifier: GPL-2.0
// Decides whether a session may observe a process. Applies the access rules of ptrace when the process is attached, and
// again while it is followed.
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/mm_types.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/user_namespace.h>

#include "access.h"
#include "compat/mm.h"
#include "compat/ptrace.h"
#include "process.h"

/*
 * True if these credentials have CAP_SYS_PTRACE over ns. Also called in hooks, so it does not consult security modules.
 */
static bool holds(const struct cred *cred, const struct user_namespace *ns)
{
	for (; ns->level > cred->user_ns->level; ns = ns->parent)
		/* The creator of a user namespace has all capabilities in it. */
		if (ns->parent == cred->user_ns && uid_eq(ns->owner, cred->euid))
			return true;
	return ns == cred->user_ns && cap_raised(cred->cap_effective, CAP_SYS_PTRACE);
}

/*
 * True if the subject's real ids equal all ids of the target. ptrace uses real ids (PTRACE_MODE_REALCREDS) for all
 * requests that read memory.
 */
static bool same_ids(const struct cred *subject, const struct cred *target)
{
	return uid_eq(subject->uid, target->uid) && uid_eq(subject->uid, target->euid) &&
	       uid_eq(subject->uid, target->suid) && gid_eq(subject->gid, target->gid) &&
	       gid_eq(subject->gid, target->egid) && gid_eq(subject->gid, target->sgid);
}

/* True if both credentials belong to the same user namespace, and target has no capability that subject lacks. */
static bool same_rights(const struct cred *subject, const struct cred *target)
{
	return subject->user_ns == target->user_ns &&
	       cap_issubset(target->cap_permitted, subject->cap_permitted);
}

/*
 * Applies the rules of ptrace_may_access(PTRACE_MODE_ATTACH_REALCREDS), which hooks cannot call. The rules concern ids,
 * the dumpable flag, capabilities and user namespaces. CAP_SYS_PTRACE is required over the user namespace of the
 * process, and over that of the program that it executes.
 */
static bool may_look(const struct cred *subject, const struct cred *target, bool dumpable,
		     const struct user_namespace *image_ns)
{
	if (!(same_ids(subject, target) && same_rights(subject, target)) &&
	    !holds(subject, target->user_ns))
		return false;
	return dumpable || holds(subject, image_ns);
}

/*
 * True if the ptrace rules (may_look()) allow subject to observe task, whose address space is mm. Neither sleeps nor
 * takes a lock.
 */
static bool may_look_into(const struct cred *subject, struct task_struct *task, struct mm_struct *mm)
{
	struct user_namespace *ns = massif_task_image_ns(task, mm);
	const struct cred *cred = get_task_cred(task);
	bool ok = may_look(subject, cred, massif_task_dumpable(task, mm), ns);

	put_cred(cred);
	put_user_ns(ns);
	return ok;
}

/**
 * massif_access_attach() - check whether the session may attach to a task.
 * @mm: the task's address space.
 *
 * The file descriptor can be passed to another process, so both the process that opened it and the caller must have
 * permission. As with ptrace, security modules are consulted when the session attaches, but not later.
 *
 * Context: process context.
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

/**
 * massif_access_self() - check whether the session may follow current, which has enrolled itself or has
 * executed a new program.
 * Context: any; neither sleeps nor takes a lock.
 */
bool massif_access_self(const struct massif_session *session)
{
	return may_look_into(session->cred, current, current->mm);
}

/* Returns a thread of the process that uses mm, or NULL if there is none. process may be NULL. Called under RCU. */
static struct task_struct *thread_of(const struct massif_process *process, const struct mm_struct *mm)
{
	struct task_struct *leader = process ? pid_task(process->pid, PIDTYPE_TGID) : NULL, *thread;

	if (leader)
		for_each_thread(leader, thread)
			if (READ_ONCE(thread->mm) == mm)
				return thread;
	return NULL;
}

/*
 * Returns a thread that uses mm, with a reference: one of the target's first member, or else of the process that owns
 * mm. A process that is not a member can use mm (CLONE_VM, vfork), and go on when the last member has ended. Returns
 * NULL if there is no such thread; *member is whether the target has a member.
 */
static struct task_struct *get_thread(struct massif_target *target, struct mm_struct *mm, bool *member)
{
	struct massif_process *process;
	struct task_struct *thread;

	rcu_read_lock();
	process = massif_process_first(target);
	*member = process;
	thread = thread_of(process, mm) ?: massif_mm_owner(mm);
	if (thread)
		get_task_struct(thread);
	rcu_read_unlock();
	return thread;
}

/**
 * massif_access_asked() - check whether a resync of the target, requested by the consumer, is allowed.
 * @mm: the target's address space; the caller holds a reference to it.
 *
 * The credentials of the target's threads may have changed since the last record, so check them again. If the target's
 * first member is about to end and no longer uses @mm, and nobody else does, the result of the last check still applies.
 * A target without members is not listed unless the owner of @mm can be checked.
 *
 * A thread can execute another program at any time, and since Linux 7.2 the dumpable flag and the user namespace are the
 * thread's, not @mm's. So they are only read while the thread cannot replace its address space; the kernel replaces them
 * together. If the thread no longer uses @mm, nothing can be said about @mm, and the consumer has to ask again.
 *
 * Context: process context; mmap_lock may be held; takes the thread's alloc_lock (task_lock()); does not sleep.
 * Return: true if the resync is allowed. If not, either the target is hidden, or the consumer may try again later.
 */
bool massif_access_asked(struct massif_session *session, struct massif_target *target, struct mm_struct *mm)
{
	struct task_struct *thread;
	bool member, same, ok;

	if (session->privileged)
		return true;
	thread = get_thread(target, mm, &member);
	if (!thread)
		return member && !READ_ONCE(target->hidden);
	task_lock(thread);
	same = thread->mm == mm;
	ok = same && may_look_into(session->cred, thread, mm);
	task_unlock(thread);
	put_task_struct(thread);
	if (same && !ok)
		WRITE_ONCE(target->hidden, true);
	return ok;
}

/**
 * massif_access_judge() - check again whether the session may observe current, after current's credentials or dumpable
 * flag have changed.
 *
 * If the session may no longer observe current, the target is hidden permanently. The consumer gets only END and EXIT,
 * which massif_session_tend() writes.
 *
 * Context: hook, with any lock held; takes no lock and does not sleep.
 * Return: true if the session may not observe current.
 */
bool massif_access_judge(struct massif_session *session, struct massif_target *target)
{
	if (massif_access_self(session)) {
		/* Replace the credentials with xchg(), because several threads may do so at the same time. */
		put_cred(xchg(&target->judged, get_cred(current_real_cred())));
		return false;
	}
	WRITE_ONCE(target->hidden, true);
	massif_session_wake(session);
	return true;
}
