// SPDX-License-Identifier: GPL-2.0
// A process that runs becomes a member, by its own call or another's, while its threads go on.
#include <linux/capability.h>
#include <linux/massif.h>
#include <linux/mm.h>
#include <linux/pid_namespace.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include "access.h"
#include "attach.h"
#include "compat/task.h"
#include "lifecycle.h"
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

/* What begin() made, until all is done with it. All are references. */
struct beginning {
	u32 type;		/* of the record that says so */
	struct pid *pid;
	struct mm_struct *mm;
	struct massif_target *target;
	bool shared;		/* the session had that one before (vfork, CLONE_VM) */
};

static bool write_beginning(const struct beginning *b, struct massif_process *process,
			    struct massif_target *target, const char *comm)
{
	struct massif_rec_enrol rec = { .tgid = process->tgid };

	strscpy(rec.comm, comm, sizeof(rec.comm));
	massif_record_init(&rec.h, b->type, sizeof(rec), process->session, target);
	/* ATTACH fails if there is no room, so nothing is lost then. A process that enrols itself goes on without. */
	if (b->type == MASSIF_REC_ATTACH)
		return massif_record_try(process->session, target, &rec, sizeof(rec));
	massif_record_write(process->session, target, &rec.h, false);
	return true;
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

/* May what is in session other be taken into session? Or nobody could look at who enrols itself first. */
static bool may_take(const struct massif_session *session, const struct massif_session *other)
{
	return other != session && session->privileged && !other->privileged;
}

/* The same of an address space. Or nobody could look at a process that tries the hooks for ever. */
static bool may_take_target(const struct massif_session *session, const struct massif_target *target)
{
	return target->test ? session->privileged && target->yields : may_take(session, target->session);
}

/* Enters process and target into the tables, and says so. Frees what it did not use. */
static int enter(struct massif_session *session, struct task_struct *leader, struct beginning *b)
{
	struct massif_target *target, *shared, *taken = NULL;
	struct massif_process *process, *other;
	char comm[TASK_COMM_LEN];
	unsigned long irq;
	int err = -ENOMEM;

	get_task_comm(comm, leader);
	process = massif_process_create(b->pid, session, GFP_KERNEL_ACCOUNT);
	target = massif_target_create(b->mm, GFP_KERNEL_ACCOUNT);
	if (!process || !target)
		goto err_free;
	target->tgid = process->tgid;
	if (b->type == MASSIF_REC_ATTACH)
		target->origin = MASSIF_RESYNC_ATTACH;

	/* A session that something is taken from stays for as long. */
	rcu_read_lock();
	raw_spin_lock_irqsave(&massif_table_lock, irq);
	shared = massif_target_find(b->mm);
	if (b->type == MASSIF_REC_ATTACH && shared && may_take_target(session, shared)) {
		taken = shared;
		massif_lifecycle_take_target(taken);
		shared = NULL;
	}
	other = massif_process_find(b->pid);
	if (b->type == MASSIF_REC_ATTACH && other && may_take(session, other->session)) {
		massif_lifecycle_take(other);
		other = NULL;
	}
	err = 0;
	if (session->dead)
		err = -ENXIO;
	else if (other || (shared && shared->session != session))
		err = -EBUSY;
	if (!err && !shared)
		massif_target_number(target, session);
	/* In the ring before any record that a hook writes about it. */
	if (!err && !write_beginning(b, process, shared ?: target, comm))
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
	if (taken)
		massif_lifecycle_taken(taken);
	rcu_read_unlock();
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

/* What who asks hears of a number that is of no process, or of one that may not be looked at. */
static int nobody(const struct massif_session *session)
{
	return session->privileged && capable(CAP_SYS_PTRACE) ? -ESRCH : -EPERM;
}

/* With the exec_update_lock of b->pid: neither its program nor its rights change meanwhile. */
static int begin(struct massif_session *session, struct beginning *b)
{
	/* Not the one whose lock was taken: after an exec another thread may be the first. */
	struct task_struct *leader = get_leader(b->pid);
	int err = nobody(session);

	if (!leader)
		return err;
	lockdep_assert_held(&leader->signal->exec_update_lock);
	b->mm = get_mm(leader);
	if (leader->flags & PF_KTHREAD && err == -ESRCH)
		err = -EOPNOTSUPP;
	if (!b->mm)
		goto out;
	err = -EPERM;
	if (!massif_access_attach(session, leader, b->mm))
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
	int err = nobody(session);

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

/* After begin(): waits for what had begun before, and says all mappings. Uses b up. */
static int finish(struct beginning *b, u32 reason, u32 *id)
{
	int err = mmap_write_lock_killable(b->mm);

	if (err) {
		leave(b);
	} else {
		mmap_write_unlock(b->mm);
		*id = b->target->id;
		/* Where there is no room, the consumer asks for it later. */
		massif_resync(b->target, b->mm, reason);
		massif_target_put(b->target);
	}
	/* May be the last user: EXIT is then written from here. */
	mmput(b->mm);
	return err;
}

/*
 * Makes the current process a member, its address space a target (unless it shares one that is),
 * and says all of its mappings. -EPERM: the session's opener may not look at it; -EBUSY if it, or its
 * address space, is in a session already. May sleep.
 */
int massif_enrol(struct massif_session *session, u32 *id)
{
	struct beginning b = { .type = MASSIF_REC_ENROL, .pid = task_tgid(current) };
	int err;

	err = down_read_killable(&current->signal->exec_update_lock);
	if (err)
		return err;
	err = massif_access_self(session) ? 0 : -EPERM;
	if (!err) {
		b.mm = current->mm;
		mmget(b.mm);
		err = enter(session, current->group_leader, &b);
		if (err)
			mmput(b.mm);
	}
	up_read(&current->signal->exec_update_lock);
	return err ?: finish(&b, MASSIF_RESYNC_ENROL, id);
}

/*
 * Makes the process of number nr (in the opener's pid namespace) a member, its address space a
 * target, and says all of its mappings. -ESRCH: there is none, or it ends; -EPERM, which who has not
 * CAP_SYS_PTRACE gets instead; -EOPNOTSUPP: a thread of the kernel; -EBUSY: in a session already;
 * -EAGAIN: amid an exec; -ENOSPC: no room in the ring. May sleep.
 */
int massif_attach(struct massif_session *session, pid_t nr, u32 *id)
{
	struct beginning b = { .type = MASSIF_REC_ATTACH, .pid = get_pid_of(session, nr) };
	int err = nobody(session);

	if (!b.pid)
		return err;
	err = begin_locked(session, &b) ?: finish(&b, MASSIF_RESYNC_ATTACH, id);
	put_pid(b.pid);
	return err;
}
