/* SPDX-License-Identifier: GPL-2.0 */
/* A process that is a member of a session. */
#ifndef MASSIF_PROCESS_H
#define MASSIF_PROCESS_H

#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/types.h>

struct massif_session;
struct massif_target;
struct pid;

/*
 * Membership belongs to the process and not to its address space, because it outlives exec, and the
 * old address space is gone before the new program is known.
 */
struct massif_process {
	struct hlist_node node;		/* in the table: massif_table_lock, read by RCU */
	struct list_head list;		/* of the session: massif_table_lock */
	struct rcu_head rcu;
	struct pid *pid;		/* of the thread group; a reference, so never used again */
	struct massif_session *session;	/* not a reference: closing removes its processes */
	u32 tgid;			/* as the consumer sees it */
	u32 target;			/* number of its present target */
};

struct massif_process *massif_process_create(struct pid *pid, struct massif_session *session,
					     gfp_t gfp);
void massif_process_free(struct massif_process *process);
int massif_process_insert(struct massif_process *process);
void massif_process_unlink(struct massif_process *process);
void massif_process_release(struct massif_process *process);
bool massif_process_remove(struct massif_process *process);
void massif_process_discount(struct massif_session *session);
void massif_process_remove_all(struct massif_session *session);
struct massif_process *massif_process_find(struct pid *pid);

#endif
