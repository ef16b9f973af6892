// SPDX-License-Identifier: GPL-2.0
// Tables of the work that is queued for threads, to be done when they return to user mode.
#include <linux/hash.h>
#include <linux/kernel.h>

#include "thread_table.h"

/**
 * massif_thread_table_init() - initialise a table when the module is loaded.
 */
void massif_thread_table_init(struct massif_thread_table *table)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(table->chains); i++) {
		raw_spin_lock_init(&table->chains[i].lock);
		table->chains[i].tree = RB_ROOT;
	}
}

static unsigned int chain_of(const struct task_struct *task)
{
	return hash_ptr(task, MASSIF_THREAD_TABLE_BITS);
}

/*
 * Returns the link in the tree at which the node of @task for @target is, or must be inserted. *@parent is set to the
 * node that has the link. Called with the lock of the tree held.
 */
static struct rb_node **place_of(struct rb_root *tree, const struct task_struct *task,
				 const struct massif_target *target, struct rb_node **parent)
{
	struct rb_node **place = &tree->rb_node;

	*parent = NULL;
	while (*place) {
		const struct massif_thread_node *node = rb_entry(*place, struct massif_thread_node, node);

		if (node->task == task && node->target == target)
			break;
		*parent = *place;
		if (task < node->task || (task == node->task && target < node->target))
			place = &(*parent)->rb_left;
		else
			place = &(*parent)->rb_right;
	}
	return place;
}

/* True if the thread has as many nodes in the tree as it may have. Called with the lock of the tree held. */
static bool is_full(const struct rb_root *tree, const struct task_struct *task)
{
	struct rb_node *at = tree->rb_node, *first = NULL;
	unsigned int count = 0;

	/* The nodes of a thread follow each other. Find the first of them. */
	while (at) {
		if (rb_entry(at, struct massif_thread_node, node)->task >= task) {
			first = at;
			at = at->rb_left;
		} else {
			at = at->rb_right;
		}
	}
	for (at = first; at && rb_entry(at, struct massif_thread_node, node)->task == task; at = rb_next(at))
		count++;
	return count >= MASSIF_THREAD_LIMIT;
}

/**
 * massif_thread_table_insert() - add a node, unless the thread has MASSIF_THREAD_LIMIT of them.
 * @node: has its task and target, of which there is no other node in the table.
 * Context: any.
 * Return: false if it was not added.
 */
bool massif_thread_table_insert(struct massif_thread_table *table, struct massif_thread_node *node)
{
	unsigned int chain = chain_of(node->task);
	struct rb_root *tree = &table->chains[chain].tree;
	struct rb_node **place, *parent;
	unsigned long irq;
	bool full;

	raw_spin_lock_irqsave(&table->chains[chain].lock, irq);
	full = is_full(tree, node->task);
	if (!full) {
		place = place_of(tree, node->task, node->target, &parent);
		rb_link_node(&node->node, parent, place);
		rb_insert_color(&node->node, tree);
	}
	raw_spin_unlock_irqrestore(&table->chains[chain].lock, irq);
	return !full;
}

/**
 * massif_thread_table_remove() - remove a node that is in the table.
 * Context: any.
 */
void massif_thread_table_remove(struct massif_thread_table *table, struct massif_thread_node *node)
{
	unsigned int chain = chain_of(node->task);
	unsigned long irq;

	raw_spin_lock_irqsave(&table->chains[chain].lock, irq);
	rb_erase(&node->node, &table->chains[chain].tree);
	raw_spin_unlock_irqrestore(&table->chains[chain].lock, irq);
}

/**
 * massif_thread_table_find() - find the node of a thread for a target.
 * @task: current, or a thread that has not run yet. So nobody removes the node in the meantime.
 * Context: any.
 * Return: the node, or NULL.
 */
struct massif_thread_node *massif_thread_table_find(struct massif_thread_table *table, const struct task_struct *task,
						    const struct massif_target *target)
{
	unsigned int chain = chain_of(task);
	struct rb_node *node, *parent;
	unsigned long irq;

	raw_spin_lock_irqsave(&table->chains[chain].lock, irq);
	node = *place_of(&table->chains[chain].tree, task, target, &parent);
	raw_spin_unlock_irqrestore(&table->chains[chain].lock, irq);
	return rb_entry_safe(node, struct massif_thread_node, node);
}
