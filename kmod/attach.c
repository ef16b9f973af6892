// SPDX-License-Identifier: GPL-2.0
// Makes a running process a member of a session, at its own request (ENROL) or at the request of another process
// (ATTACH).
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
 * A running process that becomes a member is not stopped. It is inserted into the tables first; from then on, the hooks
 * report its changes. A system call that began earlier is not reported, but it holds mmap_lock. So we take that lock
 * once for writing, which waits for such calls. The resync after that, together with the records that follow it, is
 * complete.
 */

/*
 * Takes a reference to the first thread (group leader) of the process and returns the thread. Returns NULL if there is
 * no such process.
 */
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

/*
 * Returns the process's address space, and in *user a thread that uses it, both with references; NULL if there is none.
 * The first thread may have exited before the others.
 */
static struct mm_struct *get_mm(struct task_struct *leader, struct task_struct **user)
{
	struct mm_struct *mm = NULL;
	struct task_struct *thread;

	rcu_read_lock();
	for_each_thread(leader, thread) {
		mm = get_task_mm(thread);
		if (mm) {
			get_task_struct(thread);
			*user = thread;
			break;
		}
	}
	rcu_read_unlock();
	return mm;
}

/* State of an attach between begin() and finish(). mm and target hold references; the caller keeps pid alive. */
struct beginning {
	u32 type;		/* type of the record to write: MASSIF_REC_ENROL or MASSIF_REC_ATTACH */
	struct pid *pid;
	struct mm_struct *mm;
	struct massif_target *target;
	bool shared;		/* the session already follows the address space (vfork, CLONE_VM) */
};

static bool write_beginning(const struct beginning *b, struct massif_process *process,
			    struct massif_target *target, const char *comm)
{
	struct massif_rec_enrol rec = { .tgid = process->tgid };

	strscpy(rec.comm, comm, sizeof(rec.comm));
	massif_record_init(&rec.h, b->type, sizeof(rec), process->session, target);
	/*
	 * If the ring has no room for the ATTACH record, ATTACH fails, and no record counts as lost. If the ring has no
	 * room for the ENROL record, ENROL succeeds anyway, and the record counts as lost.
	 */
	if (b->type == MASSIF_REC_ATTACH)
		return massif_record_try(process->session, target, &rec, sizeof(rec));
	massif_record_write(process->session, target, &rec.h, false);
	return true;
}

/*
 * Undoes enter() when a later step of the attach fails, because the process is ending, or whoever called ENROL or
 * ATTACH is being killed: removes the process from the tables, and writes its last records. Others that use the address
 * space may have joined the target meanwhile: then it stays.
 */
static void leave(struct beginning *b)
{
	struct massif_process *process;

	rcu_read_lock();
	process = massif_process_find(b->pid);
	if (process && process->session == b->target->session)
		massif_lifecycle_end(process);
	if (!b->shared)
		massif_lifecycle_abandon(b->target);
	rcu_read_unlock();
	massif_target_put(b->target);
}

/*
 * True if @session may take over a process from the session @other. If this were never allowed, a process could hide
 * from a privileged profiler by enrolling itself in a session of its own.
 */
static bool may_take(const struct massif_session *session, const struct massif_session *other)
{
	return other != session && session->privileged && !other->privileged;
}

/*
 * True if session may take over a target of another session. Includes the targets of hook tests, because a process
 * could also hide from a privileged profiler by starting a hook test that never ends.
 */
static bool may_take_target(const struct massif_session *session, const struct massif_target *target)
{
	return target->test ? session->privileged && target->yields : may_take(session, target->session);
}

/*
 * Inserts the process and its address space into the tables, and writes the ENROL or ATTACH record. Frees the
 * objects that it did not insert.
 */
static int enter(struct massif_session *session, struct task_struct *leader, struct beginning *b)
{
	struct massif_target *target, *shared, *taken;
	struct massif_process *process, *other;
	char comm[TASK_COMM_LEN];
	unsigned long irq;
	int err = -ENOMEM;
	bool takes;

	get_task_comm(comm, leader);
	process = massif_process_create(b->pid, session, GFP_KERNEL_ACCOUNT);
	target = massif_target_create(b->mm, GFP_KERNEL_ACCOUNT);
	if (!process || !target)
		goto err_free;
	target->tgid = process->tgid;
	if (b->type == MASSIF_REC_ATTACH)
		target->origin = MASSIF_RESYNC_ATTACH;

	/*
	 * A process or target that is being taken over may belong to another session, which must not be freed in the
	 * meantime. If a process (b->pid) is taken over, RCU keeps its session alive. If a target is taken over, a
	 * reference to its session does so, until massif_lifecycle_taken() drops that reference.
	 */
	rcu_read_lock();
	raw_spin_lock_irqsave(&massif_table_lock, irq);
	shared = massif_target_find(b->mm);
	taken = b->type == MASSIF_REC_ATTACH && shared && may_take_target(session, shared) ? shared : NULL;
	if (taken)
		shared = NULL;
	other = massif_process_find(b->pid);
	takes = b->type == MASSIF_REC_ATTACH && other && may_take(session, other->session);
	err = 0;
	if (session->dead)
		err = -ENXIO;
	else if ((other && !takes) || (shared && !massif_lifecycle_may_join(session, shared)))
		err = -EBUSY;
	if (!err && !shared && !massif_target_number(target, session))
		err = -EOVERFLOW;
	/*
	 * Write the ENROL or ATTACH record with the lock held, so that hooks cannot write records about the target
	 * before it.
	 */
	if (!err && !write_beginning(b, process, shared ?: target, comm))
		err = -ENOSPC;
	/* Nothing below can fail, so a process is taken from another session only if this one gets it. */
	if (!err) {
		if (taken)
			massif_lifecycle_take_target(taken);
		if (takes)
			massif_lifecycle_take(other);
		/* The address space is no target any more, and @target has its number, so that inserting it cannot fail. */
		if (!shared)
			massif_target_insert(target, session);
		b->shared = shared;
		b->target = massif_target_get(shared ?: target);
		/* Inserting the process cannot fail: it is in no table, and the session's file is open. */
		massif_process_insert(process);
		massif_process_move(process, b->target);
	}
	raw_spin_unlock_irqrestore(&massif_table_lock, irq);
	rcu_read_unlock();
	if (err)
		goto err_free;

	if (taken)
		massif_lifecycle_taken(taken);
	if (shared)
		massif_target_free(target);
	return 0;

err_free:
	massif_target_free(target);
	massif_process_free(process);
	return err;
}

/*
 * Returns the error for a process id that does not exist, or that belongs to a process that the caller may not observe.
 * A caller without CAP_SYS_PTRACE cannot tell these cases apart.
 */
static int nobody(const struct massif_session *session)
{
	return session->privileged && capable(CAP_SYS_PTRACE) ? -ESRCH : -EPERM;
}

/*
 * Begins an attach: checks permission and adds the process to the session and the tables. The caller holds the
 * process's exec_update_lock, so the process cannot execute another program in the meantime.
 */
static int begin(struct massif_session *session, struct beginning *b)
{
	/* Look up the first thread again, because after an exec another thread may be the first one. */
	struct task_struct *leader = get_leader(b->pid), *user = NULL;
	int err = nobody(session);

	if (!leader)
		return err;
	lockdep_assert_held(&leader->signal->exec_update_lock);
	b->mm = get_mm(leader, &user);
	if (leader->flags & PF_KTHREAD && err == -ESRCH)
		err = -EOPNOTSUPP;
	if (!b->mm)
		goto out;
	err = -EPERM;
	if (!massif_access_attach(session, user, b->mm))
		goto err_mm;
	/*
	 * During an exec, ATTACH must be tried again: the new program is already loaded, but its EXEC record has not
	 * been written yet.
	 */
	err = -EAGAIN;
	if (massif_task_in_exec(leader))
		goto err_mm;
	err = enter(session, leader, b);
	if (err)
		goto err_mm;
	/*
	 * Pairs with on_exit(), the process-exit hook: either on_exit() finds the process in the table, or we see here
	 * that the process has ended.
	 */
	smp_mb();
	if (likely(atomic_read(&leader->signal->live)))
		goto out;
	err = -ESRCH;
	leave(b);
err_mm:
	mmput_async(b->mm);
out:
	if (user)
		put_task_struct(user);
	put_task_struct(leader);
	return err;
}

/* Calls begin() while holding the exec_update_lock of the process to attach to. */
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

/*
 * Finishes an attach: waits for changes to mappings that began before the process was in the tables, and writes a
 * resync with all mappings. Drops the references to mm and target held in b.
 */
static int finish(struct beginning *b, u32 reason, u32 *id)
{
	int err = mmap_write_lock_killable(b->mm);

	if (err) {
		leave(b);
	} else {
		mmap_write_unlock(b->mm);
		*id = b->target->id;
		/* If the ring has no room for the resync, the consumer requests one later. */
		massif_resync(b->target, b->mm, reason);
		massif_target_put(b->target);
	}
	/*
	 * If this drops the last user of the address space, the address space is torn down, and a hook writes the EXIT
	 * record. The drop is asynchronous, because the program can delay the teardown indefinitely (for example with
	 * AIO on a file in a file system that it serves itself).
	 */
	mmput_async(b->mm);
	return err;
}

/**
 * massif_enrol() - make the current process a member, and its address space a target.
 * @id: set to the number of the target.
 *
 * The mappings are reported at once. If the session already follows the address space, the existing target is used.
 *
 * Context: process context of a program; may sleep.
 * Return: 0; -EPERM if the session's opener may not observe the process; -EBUSY if it, or its address space, is already
 *	in a session; -ENXIO if the session is closed; -EOVERFLOW if it has no number left for a target; -EINTR;
 *	-ENOMEM.
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

/**
 * massif_attach() - make a running process a member, and its address space a target.
 * @nr: process id in the opener's pid namespace.
 * @id: set to the number of the target.
 *
 * The mappings are reported at once.
 *
 * Context: process context of the consumer; may sleep.
 * Return: 0; -ESRCH if there is no such process or it is ending (a caller without CAP_SYS_PTRACE gets -EPERM instead);
 *	-EPERM if it may not be observed; -EOPNOTSUPP for a kernel thread; -EBUSY if it is already in a session;
 *	-EAGAIN during an exec; -ENOSPC if the ring is full; -EOVERFLOW if the session has no number left for a target;
 *	-EINTR; -ENOMEM.
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
