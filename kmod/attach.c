// SPDX-License-Identifier: GPL-2.0
// A process that runs already becomes a member: may it, and how to begin while its threads go on.
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/massif.h>
#include <linux/mm.h>
#include <linux/pid_namespace.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/user_namespace.h>

#include "attach.h"
#include "compat/task.h"
#include "process.h"
#include "record.h"
#include "resync.h"
#include "session.h"
#include "target.h"

/*
 * Nothing is stopped. The tables come first: from then on the hooks report. A call that had begun
 * before holds mmap_lock, so taking that lock for writing once waits for the last change that was
 * not reported; and what a resync lists after that, with the records behind it, is the whole truth.
 */

/* Somebody who wants to look at a process: credentials, and for the opener the file that had them. */
struct subject {
	const struct cred *cred;
	const struct file *file;	/* NULL: the caller */
};

static bool capable_over(const struct subject *subject, struct user_namespace *ns)
{
	return subject->file ? file_ns_capable(subject->file, ns, CAP_SYS_PTRACE) :
			       ns_capable(ns, CAP_SYS_PTRACE);
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
 * The rules of ptrace_may_access(PTRACE_MODE_ATTACH_REALCREDS), which modules cannot call: ids, dumpable,
 * capabilities, user namespace. CAP_SYS_PTRACE is asked for over whose the process is, and over what it
 * executes.
 */
static bool may_look(const struct subject *subject, const struct cred *target, bool dumpable,
		     struct user_namespace *image_ns)
{
	if (!(same_ids(subject->cred, target) && same_rights(subject->cred, target)) &&
	    !capable_over(subject, target->user_ns))
		return false;
	return dumpable || capable_over(subject, image_ns);
}

/* A descriptor can be passed on: both who opened it and who uses it must have the right. */
static bool may_attach(const struct massif_session *session, struct task_struct *task,
		       struct mm_struct *mm)
{
	const struct subject opener = { .cred = session->file->f_cred, .file = session->file };
	const struct subject caller = { .cred = current_cred() };
	struct user_namespace *ns = massif_task_image_ns(task, mm);
	const struct cred *cred = get_task_cred(task);
	bool dumpable = massif_task_dumpable(task, mm);
	bool ok;

	ok = may_look(&opener, cred, dumpable, ns) && may_look(&caller, cred, dumpable, ns);
	put_cred(cred);
	put_user_ns(ns);
	return ok;
}

/* A reference to the first thread of the process of pid; NULL if there is none. */
static struct task_struct *get_leader(struct pid *pid)
{
	struct task_struct *task;

	rcu_read_lock();
	task = pid_task(pid, PIDTYPE_TGID);
	if (task)
		get_task_struct(task);
	rcu_read_unlock();
	return task;
}

static struct pid *get_pid_of(const struct massif_session *session, pid_t nr)
{
	struct pid *pid;

	rcu_read_lock();
	pid = get_pid(find_pid_ns(nr, session->pid_ns));
	rcu_read_unlock();
	return pid;
}

/* A reference to its address space; the first thread may have ended before others. */
static struct mm_struct *get_mm(struct task_struct *leader)
{
	struct mm_struct *mm = get_task_mm(leader);
	struct task_struct *thread;

	rcu_read_lock();
	for_each_thread(leader, thread) {
		if (mm)
			break;
		mm = get_task_mm(thread);
	}
	rcu_read_unlock();
	return mm;
}

/* What begin() made, until massif_attach() is done with it. All are references. */
struct beginning {
	struct pid *pid;
	struct mm_struct *mm;
	struct massif_target *target;
	bool shared;		/* the session had that one before (vfork, CLONE_VM) */
};

static bool write_attach(struct massif_process *process, struct massif_target *target,
			 const char *comm)
{
	struct massif_rec_enrol rec = { .tgid = process->tgid };

	strscpy(rec.comm, comm, sizeof(rec.comm));
	massif_record_init(&rec.h, MASSIF_REC_ATTACH, sizeof(rec), process->session, target);
	return massif_record_write(process->session, target, &rec.h, false);
}

/* Undoes enter(), for a process that is not followed after all. */
static void leave(struct beginning *b)
{
	struct massif_process *process;

	rcu_read_lock();
	process = massif_process_find(b->pid);
	if (process && process->session == b->target->session && massif_process_remove(process))
		massif_process_discount(b->target->session);
	rcu_read_unlock();
	if (!b->shared)
		massif_target_remove(b->target);
	massif_target_put(b->target);
}

/* Enters process and target into the tables, and says so. Frees what it did not use. */
static int enter(struct massif_session *session, struct task_struct *leader, struct beginning *b)
{
	struct massif_process *process;
	struct massif_target *target, *shared;
	char comm[TASK_COMM_LEN];
	unsigned long irq;
	int err = -ENOMEM;

	get_task_comm(comm, leader);
	process = massif_process_create(b->pid, session, GFP_KERNEL_ACCOUNT);
	target = massif_target_create(b->mm, GFP_KERNEL_ACCOUNT);
	if (!process || !target)
		goto err_free;
	target->tgid = process->tgid;
	target->origin = MASSIF_RESYNC_ATTACH;

	raw_spin_lock_irqsave(&massif_table_lock, irq);
	shared = massif_target_find(b->mm);
	err = 0;
	if (massif_process_find(b->pid) || (shared && shared->session != session))
		err = -EBUSY;
	if (!err && !shared)
		massif_target_number(target, session);
	/* In the ring before any record that a hook writes about it. */
	if (!err && !write_attach(process, shared ?: target, comm))
		err = -ENOSPC;
	if (!err && !shared)
		err = massif_target_insert(target, session);
	if (!err) {
		b->shared = shared;
		b->target = massif_target_get(shared ?: target);
		process->target = b->target->id;
		/* Cannot fail: it is in no table, and the session's file is open. */
		massif_process_insert(process);
	}
	raw_spin_unlock_irqrestore(&massif_table_lock, irq);
	if (err)
		goto err_free;

	if (shared)
		massif_target_free(target);
	return 0;

err_free:
	massif_target_free(target);
	massif_process_free(process);
	return err;
}

/* With the exec_update_lock of b->pid: neither its program nor its rights change meanwhile. */
static int begin(struct massif_session *session, struct beginning *b)
{
	/* Not the one whose lock was taken: after an exec another thread may be the first. */
	struct task_struct *leader = get_leader(b->pid);
	int err = -ESRCH;

	if (!leader)
		return err;
	lockdep_assert_held(&leader->signal->exec_update_lock);
	b->mm = get_mm(leader);
	if (leader->flags & PF_KTHREAD)
		err = -EOPNOTSUPP;
	if (!b->mm)
		goto out;
	err = -EPERM;
	if (!may_attach(session, leader, b->mm))
		goto err_mm;
	/* The new image is complete, and nothing has announced it yet. */
	err = -EAGAIN;
	if (massif_task_in_exec(leader))
		goto err_mm;
	err = enter(session, leader, b);
	if (err)
		goto err_mm;
	/* With on_exit(): it finds the process in the table, or we see that it has ended. */
	smp_mb();
	if (likely(atomic_read(&leader->signal->live)))
		goto out;
	err = -ESRCH;
	leave(b);
err_mm:
	mmput(b->mm);
out:
	put_task_struct(leader);
	return err;
}

/* begin() with that lock. */
static int begin_locked(struct massif_session *session, struct beginning *b)
{
	struct task_struct *leader = get_leader(b->pid);
	int err = -ESRCH;

	if (!leader)
		return err;
	err = down_read_killable(&leader->signal->exec_update_lock);
	if (!err) {
		err = begin(session, b);
		up_read(&leader->signal->exec_update_lock);
	}
	put_task_struct(leader);
	return err;
}

/*
 * Makes the process of number nr (in the opener's pid namespace) a member, its address space a
 * target, and says all of its mappings. -ESRCH: there is none, or it ends; -EPERM; -EOPNOTSUPP: a
 * thread of the kernel; -EBUSY: in a session already; -EAGAIN: amid an exec; -ENOSPC: no room in
 * the ring. May sleep.
 */
int massif_attach(struct massif_session *session, pid_t nr, u32 *id)
{
	struct beginning b = { .pid = get_pid_of(session, nr) };
	int err = -ESRCH;

	if (!b.pid)
		return err;
	err = begin_locked(session, &b);
	if (err)
		goto out_pid;

	err = mmap_write_lock_killable(b.mm);
	if (err) {
		leave(&b);
		goto out_mm;
	}
	mmap_write_unlock(b.mm);
	*id = b.target->id;
	/* Where there is no room, the consumer asks for it later. */
	massif_resync(b.target, b.mm, MASSIF_RESYNC_ATTACH);
	massif_target_put(b.target);
out_mm:
	/* May be the last user: EXIT is then written from here. */
	mmput(b.mm);
out_pid:
	put_pid(b.pid);
	return err;
}
