// SPDX-License-Identifier: GPL-2.0
// Processes come, change their program, and go: ENROL, FORK, EXEC and END records.
#include <linux/binfmts.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/massif.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "compat/task.h"
#include "lifecycle.h"
#include "process.h"
#include "record.h"
#include "resync.h"
#include "session.h"
#include "target.h"
#include "visit.h"

static void write_enrol(struct massif_process *process, struct massif_target *target)
{
	struct massif_rec_enrol rec = { .tgid = process->tgid };

	get_task_comm(rec.comm, current);
	massif_record_init(&rec.h, MASSIF_REC_ENROL, sizeof(rec), process->session, target);
	massif_record_write(process->session, target, &rec.h, false);
}

static void write_fork(struct massif_process *parent, struct massif_target *target,
		       struct massif_process *child)
{
	struct massif_rec_fork rec = {
		.child = child->target,
		.parent_tgid = parent->tgid,
		.child_tgid = child->tgid,
	};

	massif_record_init(&rec.h, MASSIF_REC_FORK, sizeof(rec), parent->session, target);
	massif_record_write(parent->session, target, &rec.h, false);
}

/* Room for an EXEC record with path; NULL for want of memory. */
static struct massif_rec_exec *make_exec(const char *path)
{
	size_t size = ALIGN(sizeof(struct massif_rec_exec) + strlen(path) + 1, 8);
	struct massif_rec_exec *rec = kzalloc(size, GFP_ATOMIC | __GFP_NOWARN);

	if (!rec)
		return NULL;
	strcpy(rec->path, path);
	rec->h.size = size;
	return rec;
}

static void write_exec(struct massif_process *process, struct massif_target *target, u32 old,
		       struct massif_rec_exec *rec)
{
	massif_record_init(&rec->h, MASSIF_REC_EXEC, rec->h.size, process->session, target);
	rec->old_target = old;
	rec->tgid = process->tgid;
	get_task_comm(rec->comm, current);
	massif_record_write(process->session, target, &rec->h, false);
}

static void write_end(struct massif_process *process, u32 reason)
{
	struct massif_rec_end rec = { .tgid = process->tgid, .reason = reason };

	massif_record_init(&rec.h, MASSIF_REC_END, sizeof(rec), process->session, NULL);
	rec.h.target = process->target;
	massif_record_write(process->session, NULL, &rec.h, true);
}

/* A process leaves its session. Under RCU. */
static void end(struct massif_process *process, u32 reason)
{
	if (!massif_process_remove(process))
		return;
	write_end(process, reason);
	massif_process_discount(process->session);
	massif_session_wake(process->session);
}

/* A user may enrol what is its own and could be traced; see the head of uapi/linux/massif.h. */
static bool may_enrol(struct massif_session *session)
{
	const struct cred *opener = session->file->f_cred;

	return session->privileged ||
	       (uid_eq(current_uid(), opener->euid) && uid_eq(current_euid(), opener->euid) &&
		massif_task_dumpable(current, current->mm));
}

/*
 * Makes the current process a member, its address space a target (unless it shares one that is),
 * and says all of its mappings. -EPERM; -EBUSY if it, or its address space, is in a session
 * already.
 */
int massif_lifecycle_enrol(struct massif_session *session, u32 *id)
{
	struct massif_process *process;
	struct massif_target *target, *shared;
	unsigned long irq;
	int err = -ENOMEM;

	if (!may_enrol(session))
		return -EPERM;
	process = massif_process_create(task_tgid(current), session, GFP_KERNEL_ACCOUNT);
	target = massif_target_create(current->mm, GFP_KERNEL_ACCOUNT);
	if (!process || !target)
		goto err_free;
	target->tgid = process->tgid;

	raw_spin_lock_irqsave(&massif_table_lock, irq);
	shared = massif_target_find(target->mm);
	if (shared && shared->session != session)
		err = -EBUSY;
	else
		err = massif_process_insert(process);
	if (!err && !shared)
		err = massif_target_insert(target, session);
	if (!err) {
		process->target = shared ? shared->id : target->id;
		*id = process->target;
		/* So that it survives until its first resync is written, whatever happens. */
		massif_target_get(shared ?: target);
	}
	raw_spin_unlock_irqrestore(&massif_table_lock, irq);
	if (err)
		goto err_free;

	if (shared) {
		massif_target_free(target);
		target = shared;
	}
	write_enrol(process, target);
	massif_resync(target, current->mm, MASSIF_RESYNC_ENROL);
	massif_target_put(target);
	return 0;

err_free:
	massif_target_free(target);
	massif_process_free(process);
	return err;
}

/*
 * Enters a child of parent, and its address space if that is a new one. Frees what it did not use.
 */
static bool adopt(struct massif_process *parent, struct massif_process *child,
		  struct massif_target *target, struct task_struct *task)
{
	struct massif_target *shared;
	unsigned long irq;
	bool ok;

	raw_spin_lock_irqsave(&massif_table_lock, irq);
	/* The parent may have left, and its session closed, since it was found. */
	ok = !list_empty(&parent->list) && !massif_process_insert(child);
	if (ok && target) {
		massif_target_insert(target, parent->session);
		child->target = target->id;
	} else if (ok) {
		shared = massif_target_find(task->mm);
		child->target = shared ? shared->id : 0;
	}
	raw_spin_unlock_irqrestore(&massif_table_lock, irq);
	if (!ok) {
		massif_process_free(child);
		massif_target_free(target);
	}
	return ok;
}

/* In the parent, when the child is complete and does not run yet. */
static void on_fork(void *unused, struct task_struct *parent, struct task_struct *child)
{
	struct massif_process *process, *new;
	struct massif_target *target = NULL;

	if (same_thread_group(parent, child) || !child->mm)
		return;
	rcu_read_lock();
	process = massif_process_find(task_tgid(parent));
	if (!process)
		goto out;

	new = massif_process_create(task_tgid(child), process->session, GFP_ATOMIC | __GFP_NOWARN);
	if (new && child->mm != parent->mm) {
		target = massif_target_create(child->mm, GFP_ATOMIC | __GFP_NOWARN);
		if (target)
			target->tgid = new->tgid;
	}
	if (!new || (!target && child->mm != parent->mm)) {
		massif_process_free(new);
		massif_record_lost(process->session, NULL, MASSIF_LOST_MEMORY, 1);
		goto out;
	}
	if (!adopt(process, new, target, child))
		goto out;
	write_fork(process, massif_target_find(parent->mm), new);
	if (target && !massif_visit_resync(target, child, MASSIF_RESYNC_FORK))
		massif_target_desync(target);
out:
	rcu_read_unlock();
}

/* Why the new program of current must not be looked at; 0 if it may. */
static u32 forbidden(struct massif_session *session, const struct linux_binprm *bprm)
{
	if (bprm->secureexec)
		return MASSIF_END_SECURE;
	if (!session->privileged && !massif_task_dumpable(current, current->mm))
		return MASSIF_END_UNREADABLE;
	return 0;
}

/* In the process itself, with the new image complete and before its first instruction. */
static void on_exec(void *unused, struct task_struct *task, pid_t old_pid,
		    struct linux_binprm *bprm)
{
	struct massif_rec_exec *rec = NULL;
	struct massif_process *process;
	struct massif_target *target;
	unsigned long irq;
	u32 reason, old;
	bool ok = false;

	rcu_read_lock();
	process = massif_process_find(task_tgid(task));
	if (!process)
		goto out;
	reason = forbidden(process->session, bprm);
	if (reason) {
		end(process, reason);
		goto out;
	}
	rec = make_exec(bprm->filename);
	target = massif_target_create(task->mm, GFP_ATOMIC | __GFP_NOWARN);
	if (!target || !rec) {
		massif_target_free(target);
		end(process, MASSIF_END_MEMORY);
		goto out;
	}

	target->tgid = process->tgid;
	old = process->target;
	raw_spin_lock_irqsave(&massif_table_lock, irq);
	if (!list_empty(&process->list) && !massif_target_insert(target, process->session)) {
		process->target = target->id;
		ok = true;
	}
	raw_spin_unlock_irqrestore(&massif_table_lock, irq);
	if (!ok) {
		massif_target_free(target);
		goto out;
	}
	write_exec(process, target, old, rec);
	massif_visit_resync(target, task, MASSIF_RESYNC_EXEC);
out:
	rcu_read_unlock();
	kfree(rec);
}

/* For each thread that ends; the last one takes the process along. */
static void on_exit(void *unused, struct task_struct *task)
{
	struct massif_process *process;

	if (atomic_read(&task->signal->live))
		return;
	rcu_read_lock();
	process = massif_process_find(task_tgid(task));
	if (process)
		end(process, MASSIF_END_EXIT);
	rcu_read_unlock();
}

const struct massif_lifecycle_event massif_lifecycle_events[MASSIF_LIFECYCLE_COUNT] = {
	{ "sched_process_fork", on_fork },
	{ "sched_process_exec", on_exec },
	{ "sched_process_exit", on_exit },
};
