/* SPDX-License-Identifier: GPL-2.0 */
/* Tables of the work that is queued for threads, to be done when they return to user mode. */
#ifndef MASSIF_THREAD_TABLE_H
#define MASSIF_THREAD_TABLE_H

#include <linux/rbtree.h>
#include <linux/spinlock.h>

struct massif_target;
struct task_struct;

/*
 * The number of nodes that a thread may have in a table. A thread has one for each target of its address space, of which
 * there is one at a time. It has more if it stays in one system call while sessions come and go, and each of them then
 * keeps the memory of a target, or of a session. So a user could use up any amount of memory with one thread.
 */
#define MASSIF_THREAD_LIMIT	8

/* The work of a thread for a target. task and target are only compared. */
struct massif_thread_node {
	struct rb_node node;
	const struct task_struct *task;
	const struct massif_target *target;
};

/*
 * A hash table of trees. There is a node for each thread that is in a system call whose hook has queued work. Such a
 * thread can sleep for any length of time, so a user can have as many nodes as threads. As the hooks of all users look for
 * their work here, with interrupts off, each chain of the table is a tree: a look-up takes a few tens of steps even if
 * every thread that the kernel can have has work queued.
 */
#define MASSIF_THREAD_TABLE_BITS	7
struct massif_thread_table {
	struct {
		raw_spinlock_t lock;	/* protects the tree; no other lock is taken while it is held */
		struct rb_root tree;	/* ordered by the addresses of the thread and of the target */
	} chains[1 << MASSIF_THREAD_TABLE_BITS];
};

void massif_thread_table_init(struct massif_thread_table *table);
bool massif_thread_table_insert(struct massif_thread_table *table, struct massif_thread_node *node);
void massif_thread_table_remove(struct massif_thread_table *table, struct massif_thread_node *node);
struct massif_thread_node *massif_thread_table_find(struct massif_thread_table *table, const struct task_struct *task,
						    const struct massif_target *target);

#endif
