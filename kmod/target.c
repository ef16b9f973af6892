// SPDX-License-Identifier: GPL-2.0
// The table of all targets (the address spaces that the module follows), and the reference counting of targets.
#include <linux/cred.h>
#include <linux/moduleparam.h>
#include <linux/rculist.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "stack_cache.h"
#include "session.h"
#include "target.h"

struct massif_hash massif_target_table;
unsigned long massif_target_filter[1 << MASSIF_TARGET_BITS];

static atomic64_t last_serial;

static unsigned int last_number = U32_MAX;
module_param(last_number, uint, 0);
MODULE_PARM_DESC(last_number, "highest number that a target of a session gets (for tests)");

/**
 * massif_target_create() - allocate the target for an address space, without inserting it into the table.
 * @mm: the address space; the target takes a reference (mmgrab).
 * @gfp: GFP_KERNEL_ACCOUNT, or GFP_ATOMIC in hooks.
 * Context: any that @gfp allows.
 * Return: the target with one reference, or NULL if out of memory.
 */
struct massif_target *massif_target_create(struct mm_struct *mm, gfp_t gfp)
{
	struct massif_target *target = kzalloc(sizeof(*target), gfp);

	if (!target)
		return NULL;
	refcount_set(&target->ref, 1);
	target->serial = atomic64_inc_return(&last_serial);
	RB_CLEAR_NODE(&target->by_id);
	INIT_LIST_HEAD(&target->processes);
	mutex_init(&target->resync_lock);
	raw_spin_lock_init(&target->grow_lock);
	massif_resident_init(&target->resident);
	/* The consumer has no data about the target yet, so it is out of sync until its first resync. */
	atomic_set(&target->lost_gen, 1);
	mmgrab(mm);
	target->mm = mm;
	return target;
}

/**
 * massif_target_free() - free a target that was never inserted into the table.
 * @target: may be NULL.
 * Context: any, if the address space has another reference.
 */
void massif_target_free(struct massif_target *target)
{
	if (!target)
		return;
	/*
	 * target->judged, the credentials most recently checked, stays NULL until a thread of the process writes a
	 * record for the target.
	 */
	put_cred(target->judged);
	mmdrop(target->mm);
	kfree(target);
}

/**
 * massif_target_number() - assign the target to @session and give it a number.
 *
 * For callers that write a record of the target before massif_target_insert().
 *
 * Context: massif_table_lock is held.
 * Return: false if the session has no number left, because no number is used again. A user can get there within hours,
 *	because an ATTACH that finds no room in the ring uses up a number, too.
 */
bool massif_target_number(struct massif_target *target, struct massif_session *session)
{
	lockdep_assert_held(&massif_table_lock);
	if (session->last_target >= last_number)
		return false;
	target->session = session;
	target->id = ++session->last_target;
	return true;
}

/* Targets may be inserted in an order other than that of their numbers. */
static void enter_by_id(struct massif_target *target, struct rb_root *targets)
{
	struct rb_node **place = &targets->rb_node, *parent = NULL;

	while (*place) {
		parent = *place;
		if (target->id < rb_entry(parent, struct massif_target, by_id)->id)
			place = &parent->rb_left;
		else
			place = &parent->rb_right;
	}
	rb_link_node(&target->by_id, parent, place);
	rb_insert_color(&target->by_id, targets);
}

/**
 * massif_target_insert() - insert the target into the table and its session.
 * @target: the caller's reference becomes the table's.
 * @session: NULL for the target of a hook test.
 * Context: massif_table_lock is held.
 * Return: 0; -EBUSY if the address space is already a target; -EOVERFLOW if the session has no number left for it.
 */
int massif_target_insert(struct massif_target *target, struct massif_session *session)
{
	lockdep_assert_held(&massif_table_lock);
	if (massif_target_find(target->mm))
		return -EBUSY;
	if (session && !target->id && !massif_target_number(target, session))
		return -EOVERFLOW;
	target->alive = true;
	if (session) {
		/* massif_session_over() reads this without the lock. */
		WRITE_ONCE(session->nr_targets, session->nr_targets + 1);
		enter_by_id(target, &session->targets);
	}
	hlist_add_head_rcu(&target->node, massif_hash_chain(&massif_target_table, target->mm));
	/* Read by hooks without a lock, in assembly code. */
	WRITE_ONCE(*massif_target_filter_of(target->mm), *massif_target_filter_of(target->mm) + 1);
	return 0;
}

/**
 * massif_target_unlink() - remove a target from the table and its session, but leave it counted in nr_targets.
 *
 * The caller calls massif_target_unlinked() after it has dropped the lock and written the target's last record. Until
 * then, massif_session_over() stays false.
 *
 * Context: massif_table_lock is held.
 */
void massif_target_unlink(struct massif_target *target)
{
	struct massif_session *session = target->session;

	lockdep_assert_held(&massif_table_lock);
	/* Task work and the hook tests read this without the lock. */
	WRITE_ONCE(target->alive, false);
	hlist_del_init_rcu(&target->node);
	WRITE_ONCE(*massif_target_filter_of(target->mm), *massif_target_filter_of(target->mm) - 1);
	massif_resident_hide(target);
	if (!session)
		return;
	rb_erase(&target->by_id, &session->targets);
	raw_spin_lock(&session->ring.lock);
	session->lost += target->lost;
	target->lost = 0;
	raw_spin_unlock(&session->ring.lock);
}

/**
 * massif_target_unlinked() - after massif_target_unlink(): count the target out of its session, and drop the table's
 * references.
 *
 * In a hook, mmdrop() never drops the last reference: the caller of exit_mmap() still has one.
 *
 * Context: massif_table_lock is not held. The session exists: the caller has a reference to it, is closing it, or has
 *	been in an RCU read-side section since before massif_target_unlink().
 */
void massif_target_unlinked(struct massif_target *target)
{
	struct massif_session *session = target->session;
	unsigned long irq;

	if (session) {
		raw_spin_lock_irqsave(&massif_table_lock, irq);
		WRITE_ONCE(session->nr_targets, session->nr_targets - 1);
		raw_spin_unlock_irqrestore(&massif_table_lock, irq);
	}
	massif_resident_detach(target);
	mmdrop(target->mm);
	massif_target_put(target);
}

/**
 * massif_target_withdraw() - massif_target_unlink(), unless another thread has done so.
 * @unused: do so only if no member uses the target.
 * Context: massif_table_lock is not held; does not sleep.
 * Return: true if this call did it. The caller then calls massif_target_unlinked().
 */
bool massif_target_withdraw(struct massif_target *target, bool unused)
{
	unsigned long irq;
	bool goes;

	raw_spin_lock_irqsave(&massif_table_lock, irq);
	goes = target->alive && !(unused && !list_empty(&target->processes));
	if (goes)
		massif_target_unlink(target);
	raw_spin_unlock_irqrestore(&massif_table_lock, irq);
	return goes;
}

/**
 * massif_target_remove() - remove a target, whose last record has been written, from the table, unless another thread
 * has done so.
 * Context: as for massif_target_unlinked(); does not sleep.
 */
void massif_target_remove(struct massif_target *target)
{
	if (massif_target_withdraw(target, false))
		massif_target_unlinked(target);
}

/**
 * massif_target_remove_all() - remove all targets of a session from the table.
 * Context: process context; the session's file is being closed.
 */
void massif_target_remove_all(struct massif_session *session)
{
	struct massif_target *target;
	unsigned long irq;

	for (;;) {
		raw_spin_lock_irqsave(&massif_table_lock, irq);
		target = rb_entry_safe(rb_first(&session->targets), struct massif_target, by_id);
		if (target)
			massif_target_unlink(target);
		raw_spin_unlock_irqrestore(&massif_table_lock, irq);
		if (!target)
			return;
		massif_target_unlinked(target);
		cond_resched();
	}
}

/**
 * massif_target_find() - find the target of an address space.
 * Context: the caller is in an RCU read-side section or holds massif_table_lock. The result is valid only until the
 *	caller leaves the section or drops the lock.
 * Return: the target or NULL.
 */
struct massif_target *massif_target_find(struct mm_struct *mm)
{
	struct massif_target *target;

	hlist_for_each_entry_rcu(target, massif_hash_chain(&massif_target_table, mm), node,
				 lockdep_is_held(&massif_table_lock))
		if (target->mm == mm)
			return target;
	return NULL;
}

/**
 * massif_target_next() - iterate over a session's targets in the order of their numbers.
 * @prev: the target returned last, whose reference is dropped; NULL begins the iteration.
 * Context: takes massif_table_lock during each call, and holds no lock between calls.
 * Return: the next target with a reference, or NULL at the end.
 */
struct massif_target *massif_target_next(struct massif_session *session,
					 struct massif_target *prev)
{
	struct massif_target *target, *next = NULL;
	u32 after = prev ? prev->id : 0;
	struct rb_node *node;
	unsigned long irq;

	raw_spin_lock_irqsave(&massif_table_lock, irq);
	/* prev may have been removed from the session's tree of targets, so start the search at the tree's root. */
	node = session->targets.rb_node;
	while (node) {
		target = rb_entry(node, struct massif_target, by_id);
		if (target->id > after) {
			next = target;
			node = node->rb_left;
		} else {
			node = node->rb_right;
		}
	}
	if (next)
		massif_target_get(next);
	raw_spin_unlock_irqrestore(&massif_table_lock, irq);
	if (prev)
		massif_target_put(prev);
	return next;
}

/**
 * massif_target_get() - take a reference.
 * Context: the caller has a reference, or holds massif_table_lock and the target is in the table.
 */
struct massif_target *massif_target_get(struct massif_target *target)
{
	refcount_inc(&target->ref);
	return target;
}

/**
 * massif_target_tryget() - take a reference to a target that was found under RCU.
 * Return: @target, or NULL if its last reference has been dropped.
 */
struct massif_target *massif_target_tryget(struct massif_target *target)
{
	return refcount_inc_not_zero(&target->ref) ? target : NULL;
}

/* RCU callback: no hook uses the target any more. */
static void free_target(struct rcu_head *rcu)
{
	struct massif_target *target = container_of(rcu, struct massif_target, rcu);

	massif_resident_deinit(&target->resident);
	put_cred(target->judged);
	kfree(target);
}

/**
 * massif_target_put() - drop a reference; the last one frees the target after an RCU grace period.
 * Context: any.
 */
void massif_target_put(struct massif_target *target)
{
	if (refcount_dec_and_test(&target->ref))
		call_rcu(&target->rcu, free_target);
}

/**
 * massif_target_init() - allocate the table of targets. Called when the module is loaded.
 * Context: process context; may sleep.
 * Return: 0 or -ENOMEM.
 */
int massif_target_init(void)
{
	return massif_hash_init(&massif_target_table);
}

/**
 * massif_target_exit() - wait until all targets are freed, and free the table. Called when the module is unloaded.
 * Context: process context; sleeps.
 */
void massif_target_exit(void)
{
	rcu_barrier();
	massif_hash_exit(&massif_target_table);
}

/**
 * massif_target_mmget() - take a reference to the target's address space; the caller drops it with mmput().
 * Context: takes massif_table_lock.
 * Return: the address space, or NULL if it is being torn down.
 */
struct mm_struct *massif_target_mmget(struct massif_target *target)
{
	struct mm_struct *mm = NULL;
	unsigned long irq;

	raw_spin_lock_irqsave(&massif_table_lock, irq);
	if (target->alive && mmget_not_zero(target->mm))
		mm = target->mm;
	raw_spin_unlock_irqrestore(&massif_table_lock, irq);
	return mm;
}

/**
 * massif_target_mmgrab() - take a reference to the target's struct mm_struct, which the caller drops with
 * mmdrop().
 * Context: takes massif_table_lock.
 * Return: the address space, or NULL if the target is no longer in the table.
 */
struct mm_struct *massif_target_mmgrab(struct massif_target *target)
{
	struct mm_struct *mm = NULL;
	unsigned long irq;

	raw_spin_lock_irqsave(&massif_table_lock, irq);
	if (target->alive) {
		mm = target->mm;
		mmgrab(mm);
	}
	raw_spin_unlock_irqrestore(&massif_table_lock, irq);
	return mm;
}

/**
 * massif_target_unnamed() - request a resync, because the name of a mapped file was not reported.
 *
 * The consumer knows every mapping, so cached stacks stay valid.
 *
 * Context: any.
 */
void massif_target_unnamed(struct massif_target *target)
{
	atomic_inc(&target->lost_gen);
}

/**
 * massif_target_desync() - mark the target out of sync, so that it will be resynced.
 * Context: any.
 */
void massif_target_desync(struct massif_target *target)
{
	atomic_inc(&target->lost_gen);
	/* Changes that were not seen may have replaced executable code, too, so drop the cached stacks. */
	massif_stack_cache_drop(target);
}

/**
 * massif_target_desync_all() - mark all targets of a session out of sync.
 * Context: process context; may sleep; takes massif_table_lock.
 */
void massif_target_desync_all(struct massif_session *session)
{
	struct massif_target *target = NULL;

	while ((target = massif_target_next(session, target))) {
		massif_target_desync(target);
		cond_resched();
	}
}

/**
 * massif_target_synced() - check whether a complete resync has been written since the last loss.
 * Context: any; takes no lock.
 */
bool massif_target_synced(struct massif_target *target)
{
	return READ_ONCE(target->synced_gen) == atomic_read(&target->lost_gen);
}
