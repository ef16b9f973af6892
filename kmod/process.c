// SPDX-License-Identifier: GPL-2.0
// A process that is a member of a session. The table of them all.
#include <linux/hashtable.h>
#include <linux/pid.h>
#include <linux/slab.h>

#include "process.h"
#include "session.h"

/* By pid. Changed under massif_table_lock, read in every fork and exit under RCU. */
static DEFINE_HASHTABLE(table, 8);

/* Not in the table yet. NULL for want of memory. */
struct massif_process *massif_process_create(struct pid *pid, struct massif_session *session,
					     gfp_t gfp)
{
	struct massif_process *process = kzalloc(sizeof(*process), gfp);

	if (!process)
		return NULL;
	process->pid = get_pid(pid);
	process->session = session;
	process->tgid = pid_nr_ns(pid, session->pid_ns);
	return process;
}

/* For a process that was never inserted. */
void massif_process_free(struct massif_process *process)
{
	if (!process)
		return;
	put_pid(process->pid);
	kfree(process);
}

/* -EBUSY if the process is in a session, -ENXIO if the session has been closed. */
int massif_process_insert(struct massif_process *process)
{
	struct massif_session *session = process->session;

	lockdep_assert_held(&massif_table_lock);
	if (session->dead)
		return -ENXIO;
	if (massif_process_find(process->pid))
		return -EBUSY;
	hash_add_rcu(table, &process->node, (unsigned long)process->pid);
	list_add_tail(&process->list, &session->processes);
	session->nr_processes++;
	session->enrolled = true;
	return 0;
}

/* Takes it out of the tables; it still counts. massif_process_release() follows. */
static void unlink_process(struct massif_process *process)
{
	lockdep_assert_held(&massif_table_lock);
	hash_del_rcu(&process->node);
	list_del_init(&process->list);
}

/* The same of one that is not to count either. massif_process_release() follows. */
void massif_process_unlink(struct massif_process *process)
{
	unlink_process(process);
	process->session->nr_processes--;
}

/* After it was unlinked. Who has found it under RCU may still use it. */
void massif_process_release(struct massif_process *process)
{
	put_pid(process->pid);
	kfree_rcu(process, rcu);
}

/*
 * Under RCU, as found by massif_process_find. False if someone else was first. It still counts, so
 * that the session is not over before all has been said about it: massif_process_discount follows.
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

/* One that was removed from session does not count any more. */
void massif_process_discount(struct massif_session *session)
{
	unsigned long irq;

	raw_spin_lock_irqsave(&massif_table_lock, irq);
	session->nr_processes--;
	raw_spin_unlock_irqrestore(&massif_table_lock, irq);
}

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
	}
}

/* Under RCU or massif_table_lock, which also limit the use of what is returned. */
struct massif_process *massif_process_find(struct pid *pid)
{
	struct massif_process *process;

	hash_for_each_possible_rcu(table, process, node, (unsigned long)pid,
				   lockdep_is_held(&massif_table_lock))
		if (process->pid == pid)
			return process;
	return NULL;
}
