/* SPDX-License-Identifier: GPL-2.0 */
/* A member: a process followed by the module, in one session. */
#ifndef MASSIF_PROCESS_H
#define MASSIF_PROCESS_H

#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/types.h>

struct massif_session;
struct massif_target;
struct pid;

/*
 * Membership belongs to the process rather than to its address space, because membership must survive exec, and the old
 * address space is gone before the new program is known.
 */
struct massif_process {
	/* Node in the table of members; changed under massif_table_lock, read under RCU. */
	struct hlist_node node;
	struct list_head list;		/* node in session->processes; protected by massif_table_lock */
	struct list_head of_target;	/* node in target->processes, or empty; protected by massif_table_lock */
	struct rcu_head rcu;
	struct pid *pid;		/* pid of the thread group; the reference prevents reuse of the pointer */
	/* The member's session. No reference is held, because closing the session removes its members. */
	struct massif_session *session;
	u32 tgid;			/* process id in the opener's pid namespace */
	/*
	 * The target of the process's address space; holds a reference. NULL if the address space is not followed.
	 * The target may have been removed from the table. Changed under massif_table_lock, and only by the process
	 * itself once the process is in the table.
	 */
	struct massif_target *target;
};

int massif_process_init(void);
void massif_process_exit(void);

struct massif_process *massif_process_create(struct pid *pid, struct massif_session *session,
					     gfp_t gfp);
void massif_process_free(struct massif_process *process);
int massif_process_insert(struct massif_process *process);
struct massif_target *massif_process_move(struct massif_process *process, struct massif_target *target);
struct massif_process *massif_process_first(struct massif_target *target);
u32 massif_process_target(const struct massif_process *process);
void massif_process_unlink(struct massif_process *process);
void massif_process_release(struct massif_process *process);
bool massif_process_remove(struct massif_process *process);
void massif_process_discount(struct massif_session *session);
void massif_process_remove_all(struct massif_session *session);
struct massif_process *massif_process_find(struct pid *pid);

#endif
