// SPDX-License-Identifier: GPL-2.0
// Follows members through fork, exec and exit. Writes FORK, EXEC and END records, and the EXIT record of a target that
// the session may no longer observe, or whose end no hook has seen.
#include <linux/binfmts.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/massif.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <trace/events/sched.h>

#include "access.h"
#include "compat/task.h"
#include "lifecycle.h"
#include "process.h"
#include "record.h"
#include "resync.h"
#include "session.h"
#include "target.h"
#include "return_work.h"

static void write_fork(struct massif_process *parent, struct massif_target *target,
		       struct massif_process *child)
{
	struct massif_rec_fork rec = {
		.child = massif_process_target(child),
		.parent_tgid = parent->tgid,
		.child_tgid = child->tgid,
	};

	massif_record_init(&rec.h, MASSIF_REC_FORK, sizeof(rec), parent->session, target);
	massif_record_write(parent->session, target, &rec.h, false);
}

/* Allocates an EXEC record that contains path. Returns NULL if out of memory. */
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
	rec.h.target = massif_process_target(process);
	massif_record_write(process->session, NULL, &rec.h, true);
}

/* Removes a member from its session and writes END. Called under RCU. */
static void end(struct massif_process *process, u32 reason)
{
	if (!massif_process_remove(process))
		return;
	write_end(process, reason);
	massif_process_discount(process->session);
	massif_session_wake(process->session);
}

/*
 * Returns the reason (MASSIF_END_*) for which the members of @target are removed from its session, which may no longer
 * observe @target.
 */
static u32 reason_of(const struct massif_target *target)
{
	return READ_ONCE(target->taken) ? MASSIF_END_TAKEN : MASSIF_END_HIDDEN;
}

static void write_last(struct massif_target *target)
{
	struct massif_rec_exit rec = { .tgid = target->tgid };

	massif_record_init(&rec.h, MASSIF_REC_EXIT, sizeof(rec), target->session, NULL);
	rec.h.target = target->id;
	rec.h.flags = MASSIF_RF_NO_TOTAL;
	massif_record_write_exit(target, &rec, true);
}

/**
 * massif_lifecycle_end() - remove a member that is ending from its session, and write END.
 * Context: RCU read-side section.
 */
void massif_lifecycle_end(struct massif_process *process)
{
	end(process, MASSIF_END_EXIT);
}

static void exit_target(struct massif_target *target, bool unused)
{
	if (massif_target_withdraw(target, unused)) {
		write_last(target);
		/* Only now: once nothing is counted in the session, its consumer reads the ring for the last time. */
		massif_target_unlinked(target);
	}
	massif_session_wake(target->session);
}

/**
 * massif_lifecycle_exit() - remove a target from the table, unless that has been done, and write EXIT.
 * Context: the caller has a reference, and is in an RCU read-side section; does not sleep.
 */
void massif_lifecycle_exit(struct massif_target *target)
{
	exit_target(target, false);
}

/**
 * massif_lifecycle_abandon() - massif_lifecycle_exit(), unless a member uses the target.
 * Context: as for massif_lifecycle_exit().
 */
void massif_lifecycle_abandon(struct massif_target *target)
{
	exit_target(target, true);
}

/* Removes the target's first member from its session, and writes END. Returns false if the target has no member. */
static bool end_first(struct massif_target *target, u32 reason)
{
	struct massif_process *process;

	rcu_read_lock();
	process = massif_process_first(target);
	if (process)
		end(process, reason);
	rcu_read_unlock();
	return process;
}

/**
 * massif_lifecycle_hide() - remove a target and its members, because the session may no longer observe the target.
 *
 * Writes END for each member and EXIT for the target. massif_access_lost() decides what may be observed. The loop ends,
 * because the target gets no new members: massif_lifecycle_may_join() lets no process join a target that the session may
 * no longer observe. Nobody else can run on the processor until the loop ends, so callers that may sleep call
 * massif_lifecycle_dismiss() instead.
 *
 * Context: the caller has a reference or is in an RCU read-side section; does not sleep.
 */
void massif_lifecycle_hide(struct massif_target *target)
{
	rcu_read_lock();
	while (end_first(target, reason_of(target)))
		;
	massif_lifecycle_exit(target);
	rcu_read_unlock();
}

/**
 * massif_lifecycle_dismiss() - like massif_lifecycle_hide(), but lets others run between two of the target's members, of
 * which there can be thousands.
 * Context: process context; may sleep; the caller has a reference.
 */
void massif_lifecycle_dismiss(struct massif_target *target)
{
	while (end_first(target, reason_of(target)))
		cond_resched();
	rcu_read_lock();
	massif_lifecycle_exit(target);
	rcu_read_unlock();
}

/**
 * massif_lifecycle_take() - remove a member from a session so that a privileged session can take it over.
 * Context: massif_table_lock is held, in an RCU read-side section.
 */
void massif_lifecycle_take(struct massif_process *process)
{
	massif_process_unlink(process);
	write_end(process, MASSIF_END_TAKEN);
	massif_session_wake(process->session);
	massif_process_release(process);
}

/**
 * massif_lifecycle_take_target() - take over an address space for a more privileged session.
 *
 * Takes a reference to the target's old session. After dropping the lock, the caller calls massif_lifecycle_taken(),
 * which removes the target's members from that session and drops the reference. This is a separate step, because there
 * can be thousands of members.
 *
 * Context: massif_table_lock is held.
 */
void massif_lifecycle_take_target(struct massif_target *target)
{
	WRITE_ONCE(target->taken, true);
	/*
	 * This release pairs with the acquire in hidden_before(): a reader that sees target->hidden set here also sees
	 * target->taken set.
	 */
	smp_store_release(&target->hidden, true);
	massif_target_get(target);
	/* The target of a hook test (hooktest.c) has neither a session nor members. */
	if (target->session)
		massif_session_get(target->session);
	massif_target_unlink(target);
}

/**
 * massif_lifecycle_taken() - finish the takeover of a target by another session: remove the target's members from their
 * old session, write the target's EXIT record, and drop the references.
 * Context: process context, after massif_lifecycle_take_target(); takes massif_table_lock once for each member.
 */
void massif_lifecycle_taken(struct massif_target *target)
{
	struct massif_session *session = target->session;

	while (end_first(target, MASSIF_END_TAKEN))
		cond_resched();
	if (session) {
		write_last(target);
		massif_session_wake(session);
	}
	massif_target_unlinked(target);
	massif_target_put(target);
	if (session)
		massif_session_put(session);
}

/**
 * massif_lifecycle_may_join() - check whether a process may become a member with this address space.
 *
 * No process may join a hidden target; otherwise the loops that remove its members might not terminate. Nor may a
 * process join a target of another session: when another session takes over an address space, the processes that use it
 * remain members of @session for a short time.
 *
 * Context: massif_table_lock is held.
 */
bool massif_lifecycle_may_join(const struct massif_session *session, const struct massif_target *target)
{
	return target->session == session && !READ_ONCE(target->hidden);
}

/*
 * Inserts child, which was forked by parent, into the tables. target is the target for the child's address space, or
 * NULL if the child shares parent's address space. On failure, frees child and target, and returns -EOVERFLOW if the
 * session has no number left for target, or another error if the child may not join the session.
 */
static int adopt(struct massif_process *parent, struct massif_process *child,
		 struct massif_target *target, struct task_struct *task)
{
	struct massif_target *found;
	unsigned long irq;
	int err = -EBUSY;
	bool joins;

	raw_spin_lock_irqsave(&massif_table_lock, irq);
	found = massif_target_find(task->mm);
	/*
	 * After parent was found, it may have left the session, or the session may have been closed. The child's own
	 * address space may already be a target, if another session that is now being closed has attached to the child.
	 */
	joins = !list_empty(&parent->list) &&
		(!found || (!target && massif_lifecycle_may_join(parent->session, found)));
	if (joins && target && !massif_target_number(target, parent->session))
		err = -EOVERFLOW;
	else if (joins)
		err = massif_process_insert(child);
	if (!err && target)
		massif_target_insert(target, parent->session);
	if (!err)
		massif_process_move(child, target ?: found);
	raw_spin_unlock_irqrestore(&massif_table_lock, irq);
	if (err) {
		massif_process_free(child);
		massif_target_free(target);
	}
	return err;
}

/* Tracepoint sched_process_fork: runs in the parent, when the child is complete but has not run yet. */
static void on_fork(void *unused, struct task_struct *parent, struct task_struct *child)
{
	struct massif_process *process, *new;
	struct massif_target *target, *of_parent;
	int err;

	if (same_thread_group(parent, child) || !child->mm)
		return;
	rcu_read_lock();
	process = massif_process_find(task_tgid(parent));
	if (!process)
		goto out;
	/*
	 * If the session may no longer observe the target, the target will soon leave the session, so its children do
	 * not join it.
	 */
	of_parent = massif_target_find(parent->mm);
	if (of_parent && (of_parent->session != process->session || massif_access_lost(process->session, of_parent)))
		goto out;

	target = NULL;
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
	err = adopt(process, new, target, child);
	if (err == -EOVERFLOW)
		massif_record_lost(process->session, NULL, MASSIF_LOST_MEMORY, 1);
	if (err)
		goto out;
	/*
	 * Use the parent's target that was found above. Looking it up again could find the target of another session
	 * that has taken over the parent in the meantime.
	 */
	write_fork(process, of_parent, new);
	if (target && !massif_return_work_resync(target, child, MASSIF_RESYNC_FORK))
		massif_target_desync(target);
out:
	rcu_read_unlock();
}

/*
 * Called when @process has executed a program. If the session had lost the right to observe the process's old address
 * space (target->hidden), returns the reason (MASSIF_END_*) for which the process leaves the session; otherwise returns
 * 0. If no other process shared the old address space, the process has already left the session: it did so when that
 * address space was destroyed.
 */
static u32 hidden_before(const struct massif_process *process)
{
	const struct massif_target *former = process->target;

	/*
	 * This acquire pairs with the release in massif_lifecycle_take_target(), which sets target->taken before
	 * target->hidden.
	 */
	return former && smp_load_acquire(&former->hidden) ? reason_of(former) : 0;
}

/*
 * Returns the reason (MASSIF_END_*) why the session is not allowed to observe the program that current now executes, or
 * 0 if it is allowed.
 */
static u32 forbidden(struct massif_session *session, const struct linux_binprm *bprm)
{
	if (bprm->secureexec)
		return MASSIF_END_SECURE;
	if (!massif_access_self(session))
		return MASSIF_END_UNREADABLE;
	return 0;
}

/*
 * Tracepoint sched_process_exec: runs in the process that executes a program, after the new program has been loaded and
 * before its first instruction.
 */
static void on_exec(void *unused, struct task_struct *task, pid_t old_pid,
		    struct linux_binprm *bprm)
{
	struct massif_rec_exec *rec = NULL;
	struct massif_process *process;
	struct massif_target *target, *former;
	unsigned long irq;
	u32 reason, old;
	bool ok = false;

	rcu_read_lock();
	process = massif_process_find(task_tgid(task));
	if (!process)
		goto out;
	reason = hidden_before(process) ?: forbidden(process->session, bprm);
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
	old = massif_process_target(process);
	raw_spin_lock_irqsave(&massif_table_lock, irq);
	if (!list_empty(&process->list) && !massif_target_insert(target, process->session)) {
		former = massif_process_move(process, target);
		ok = true;
	}
	raw_spin_unlock_irqrestore(&massif_table_lock, irq);
	if (!ok) {
		massif_target_free(target);
		/* The session has no number left for the target, or the process has just left the session. */
		end(process, MASSIF_END_MEMORY);
		goto out;
	}
	if (former)
		massif_target_put(former);
	write_exec(process, target, old, rec);
	massif_return_work_resync(target, task, MASSIF_RESYNC_EXEC);
out:
	rcu_read_unlock();
	kfree(rec);
}

/* Tracepoint sched_process_exit: runs in each exiting thread. The process ends with its last thread. */
MASSIF_EXIT_PROBE(on_exit, task)
{
	struct massif_process *process;

	if (atomic_read(&task->signal->live))
		return;
	rcu_read_lock();
	process = massif_process_find(task_tgid(task));
	if (process)
		massif_lifecycle_end(process);
	rcu_read_unlock();
}

/*
 * Compiles only if each probe function has exactly the parameters with which the kernel calls it. On a kernel built with
 * control flow integrity (kCFI), a call through a pointer of another type is fatal, and tracepoints take a void *.
 */
static void __maybe_unused check_types(void)
{
	check_trace_callback_type_sched_process_fork(on_fork);
	check_trace_callback_type_sched_process_exec(on_exec);
	check_trace_callback_type_sched_process_exit(on_exit);
}

const struct massif_lifecycle_event massif_lifecycle_events[MASSIF_LIFECYCLE_COUNT] = {
	{ "sched_process_fork", on_fork },
	{ "sched_process_exec", on_exec },
	{ "sched_process_exit", on_exit },
};
