// SPDX-License-Identifier: GPL-2.0
// Members: the processes that the module follows. One table holds all of them.
#include <linux/pid.h>
#include <linux/rculist.h>
#include <linux/slab.h>

#include "hash.h"
#include "process.h"
#include "session.h"
#include "target.h"

/* Hashed by pid. Changed under massif_table_lock, read under RCU on every fork, exec and exit. */
static struct massif_hash table;

/**
 * massif_process_init() - allocate the table of members. Called when the module is loaded.
 * Context: process context; may sleep.
 * Return: 0 or -ENOMEM.
 */
int massif_process_init(void)
{
	return massif_hash_init(&table);
}

/**
 * massif_process_exit() - free the table of members. Called when the module is unloaded: no hook reads it any more.
 * massif_target_exit() waits for the members that RCU is still to free.
 * Context: process context; may sleep.
 */
void massif_process_exit(void)
{
	massif_hash_exit(&table);
}

/**
 * massif_process_create() - allocate a member (a followed process) without inserting it into the table.
 * @pid: pid of the thread group; the member takes a reference.
 * @gfp: GFP_KERNEL_ACCOUNT, or GFP_ATOMIC in hooks.
 * Context: any that @gfp allows.
 * Return: the member, or NULL if out of memory.
 */
struct massif_process *massif_process_create(struct pid *pid, struct massif_session *session,
					     gfp_t gfp)
{
	struct massif_process *process = kzalloc(sizeof(*process), gfp);

	if (!process)
		return NULL;
	INIT_LIST_HEAD(&process->of_target);
	process->pid = get_pid(pid);
	process->session = session;
	process->tgid = pid_nr_ns(pid, session->pid_ns);
	return process;
}

/**
 * massif_process_free() - free the struct of a member (a followed process) that nobody else can find, and drop its pid.
 * @process: may be NULL.
 */
void massif_process_free(struct massif_process *process)
{
	if (!process)
		return;
	put_pid(process->pid);
	kfree(process);
}

/**
 * massif_process_insert() - insert a member into the table and its session.
 * Context: massif_table_lock is held.
 * Return: 0; -EBUSY if the process is already in a session; -ENXIO if the session has been closed.
 */
int massif_process_insert(struct massif_process *process)
{
	struct massif_session *session = process->session;

	lockdep_assert_held(&massif_table_lock);
	if (session->dead)
		return -ENXIO;
	if (massif_process_find(process->pid))
		return -EBUSY;
	hlist_add_head_rcu(&process->node, massif_hash_chain(&table, process->pid));
	list_add_tail(&process->list, &session->processes);
	/* massif_session_over() reads these without the lock. */
	WRITE_ONCE(session->nr_processes, session->nr_processes + 1);
	WRITE_ONCE(session->enrolled, true);
	return 0;
}

/**
 * massif_process_move() - make @target the address space of a member.
 * @process: in the tables.
 * @target: the new address space, or NULL. The member takes a reference.
 * Context: massif_table_lock is held.
 * Return: the previous target or NULL. The caller drops the reference to it after releasing the lock.
 */
struct massif_target *massif_process_move(struct massif_process *process, struct massif_target *target)
{
	struct massif_target *former = process->target;

	lockdep_assert_held(&massif_table_lock);
	list_del_init(&process->of_target);
	if (target)
		list_add_tail(&process->of_target, &massif_target_get(target)->processes);
	process->target = target;
	return former;
}

/*
 * Returns the id of the target (the followed address space) that @process uses, as written in records. Returns 0 if the
 * process has no target.
 */
u32 massif_process_target(const struct massif_process *process)
{
	return process->target ? process->target->id : 0;
}

/**
 * massif_process_first() - find the member that has been using @target's address space the longest.
 * Context: an RCU read-side section, in which the result stays valid; takes massif_table_lock.
 * Return: the member or NULL.
 */
struct massif_process *massif_process_first(struct massif_target *target)
{
	struct massif_process *process;
	unsigned long irq;

	raw_spin_lock_irqsave(&massif_table_lock, irq);
	process = list_first_entry_or_null(&target->processes, struct massif_process, of_target);
	raw_spin_unlock_irqrestore(&massif_table_lock, irq);
	return process;
}

/*
 * Removes a member from the tables, but leaves it in nr_processes. The caller calls massif_process_release()
 * next.
 */
static void unlink_process(struct massif_process *process)
{
	lockdep_assert_held(&massif_table_lock);
	hlist_del_init_rcu(&process->node);
	list_del_init(&process->list);
	list_del_init(&process->of_target);
}

/* Counts a member out of nr_processes, which massif_session_over() reads without the lock. */
static void count_out(struct massif_session *session)
{
	lockdep_assert_held(&massif_table_lock);
	WRITE_ONCE(session->nr_processes, session->nr_processes - 1);
}

/**
 * massif_process_unlink() - remove a member from the tables and from nr_processes.
 *
 * The caller calls massif_process_release() next.
 *
 * Context: massif_table_lock is held.
 */
void massif_process_unlink(struct massif_process *process)
{
	unlink_process(process);
	count_out(process->session);
}

/* Called by RCU when nobody looks at the member any more, nor at its pid (thread_of() in access.c). */
static void free_released(struct rcu_head *rcu)
{
	massif_process_free(container_of(rcu, struct massif_process, rcu));
}

/**
 * massif_process_release() - free a member after massif_process_unlink(), an RCU grace period later.
 * Context: any; massif_table_lock may be held only if the caller has another reference to the member's target.
 */
void massif_process_release(struct massif_process *process)
{
	if (process->target)
		massif_target_put(process->target);
	call_rcu(&process->rcu, free_released);
}

/**
 * massif_process_remove() - remove a member of a session, but leave it counted in nr_processes.
 *
 * massif_session_over() stays false until the caller has written the member's last record and called
 * massif_process_discount().
 *
 * Context: the RCU read-side section in which @process was found; takes massif_table_lock.
 * Return: false if another thread removed it first.
 */
bool massif_process_remove(struct massif_process *process)
{
	unsigned long irq;
	bool mine;

	raw_spin_lock_irqsave(&massif_table_lock, irq);
	mine = !list_empty(&process->list);
	if (mine)
		unlink_process(process);
	raw_spin_unlock_irqrestore(&massif_table_lock, irq);
	if (mine)
		massif_process_release(process);
	return mine;
}

/**
 * massif_process_discount() - decrement the session's member count after massif_process_remove() has removed a member.
 * Context: takes massif_table_lock.
 */
void massif_process_discount(struct massif_session *session)
{
	unsigned long irq;

	raw_spin_lock_irqsave(&massif_table_lock, irq);
	count_out(session);
	raw_spin_unlock_irqrestore(&massif_table_lock, irq);
}

/**
 * massif_process_remove_all() - remove all members of a session that is being closed.
 * Context: process context; takes massif_table_lock.
 */
void massif_process_remove_all(struct massif_session *session)
{
	struct massif_process *process;
	unsigned long irq;

	for (;;) {
		raw_spin_lock_irqsave(&massif_table_lock, irq);
		process = list_first_entry_or_null(&session->processes, struct massif_process,
						   list);
		if (process)
			massif_process_unlink(process);
		raw_spin_unlock_irqrestore(&massif_table_lock, irq);
		if (!process)
			return;
		massif_process_release(process);
		cond_resched();
	}
}

/**
 * massif_process_find() - find the member whose thread group has this pid.
 * Context: the caller is in an RCU read-side section or holds massif_table_lock. The result is valid only until the
 *	caller leaves the section or drops the lock.
 * Return: the member or NULL.
 */
struct massif_process *massif_process_find(struct pid *pid)
{
	struct massif_process *process;

	hlist_for_each_entry_rcu(process, massif_hash_chain(&table, pid), node, lockdep_is_held(&massif_table_lock))
		if (process->pid == pid)
			return process;
	return NULL;
}
