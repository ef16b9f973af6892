// SPDX-License-Identifier: GPL-2.0
// A target: an address space whose mappings a session accounts for. The table of them all.
#include <linux/cred.h>
#include <linux/rculist.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "stack_cache.h"
#include "session.h"
#include "target.h"

struct hlist_head massif_target_table[1 << MASSIF_TARGET_BITS];

static atomic64_t last_serial;

/* Not in the table yet. NULL for want of memory. */
struct massif_target *massif_target_create(struct mm_struct *mm, gfp_t gfp)
{
	struct massif_target *target = kzalloc(sizeof(*target), gfp);

	if (!target)
		return NULL;
	refcount_set(&target->ref, 1);
	target->serial = atomic64_inc_return(&last_serial);
	RB_CLEAR_NODE(&target->by_id);
	mutex_init(&target->resync_lock);
	raw_spin_lock_init(&target->grow_lock);
	massif_resident_init(&target->resident);
	/* Nothing has been said about it: it waits for its first resync. */
	atomic_set(&target->lost_gen, 1);
	mmgrab(mm);
	target->mm = mm;
	return target;
}

/* For a target that was never inserted. */
void massif_target_free(struct massif_target *target)
{
	if (!target)
		return;
	/* A record of it may have been written already, by the process itself. */
	put_cred(target->judged);
	mmdrop(target->mm);
	kfree(target);
}

/* Gives it its session and number, for who has something to say of it before it is in the table. */
void massif_target_number(struct massif_target *target, struct massif_session *session)
{
	lockdep_assert_held(&massif_table_lock);
	target->session = session;
	target->id = ++session->last_target;
}

/* Numbers may be given out in another order than that in which targets come here. */
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

/*
 * Enters the target into the table, and the session (NULL for the one of hooktest.c), and takes
 * over the caller's reference. -EBUSY if the address space is a target already.
 */
int massif_target_insert(struct massif_target *target, struct massif_session *session)
{
	lockdep_assert_held(&massif_table_lock);
	if (massif_target_find(target->mm))
		return -EBUSY;
	target->alive = true;
	if (session) {
		if (!target->id)
			massif_target_number(target, session);
		session->nr_targets++;
		enter_by_id(target, &session->targets);
	}
	hlist_add_head_rcu(&target->node, massif_target_chain(target->mm));
	return 0;
}

/* Takes the target, which is in the table, out of it. massif_target_unlinked() follows, without the lock. */
void massif_target_unlink(struct massif_target *target)
{
	struct massif_session *session = target->session;

	lockdep_assert_held(&massif_table_lock);
	target->alive = false;
	hlist_del_init_rcu(&target->node);
	massif_resident_hide(target);
	if (!session)
		return;
	rb_erase(&target->by_id, &session->targets);
	session->nr_targets--;
	raw_spin_lock(&session->ring.lock);
	session->lost += target->lost;
	target->lost = 0;
	raw_spin_unlock(&session->ring.lock);
}

/* The mmdrop cannot be the last one in a hook: exit_mmap's caller has its own reference. */
void massif_target_unlinked(struct massif_target *target)
{
	massif_resident_detach(target);
	mmdrop(target->mm);
	massif_target_put(target);
}

/* Both; false if someone else did. */
bool massif_target_remove(struct massif_target *target)
{
	unsigned long irq;
	bool alive;

	raw_spin_lock_irqsave(&massif_table_lock, irq);
	alive = target->alive;
	if (alive)
		massif_target_unlink(target);
	raw_spin_unlock_irqrestore(&massif_table_lock, irq);
	if (alive)
		massif_target_unlinked(target);
	return alive;
}

void massif_target_remove_all(struct massif_session *session)
{
	struct massif_target *target = NULL;

	while ((target = massif_target_next(session, target)))
		massif_target_remove(target);
}

/* Under RCU or massif_table_lock, which also limit the use of what is returned. */
struct massif_target *massif_target_find(struct mm_struct *mm)
{
	struct massif_target *target;

	hlist_for_each_entry_rcu(target, massif_target_chain(mm), node,
				 lockdep_is_held(&massif_table_lock))
		if (target->mm == mm)
			return target;
	return NULL;
}

/*
 * Walks over a session's targets in the order of their numbers, without a lock held between two:
 * takes a reference to the one returned, puts the one handed in. NULL begins, and ends.
 */
struct massif_target *massif_target_next(struct massif_session *session,
					 struct massif_target *prev)
{
	struct massif_target *target, *next = NULL;
	u32 after = prev ? prev->id : 0;
	struct rb_node *node;
	unsigned long irq;

	raw_spin_lock_irqsave(&massif_table_lock, irq);
	/* prev may be out of the tree: so from the top, in as many steps as the tree is high. */
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

/* With a reference already, or massif_table_lock and the target in the table. */
struct massif_target *massif_target_get(struct massif_target *target)
{
	refcount_inc(&target->ref);
	return target;
}

/* Of what was found under RCU; NULL if the last reference is gone. */
struct massif_target *massif_target_tryget(struct massif_target *target)
{
	return refcount_inc_not_zero(&target->ref) ? target : NULL;
}

/* No hook that had found it is left. */
static void free_target(struct rcu_head *rcu)
{
	struct massif_target *target = container_of(rcu, struct massif_target, rcu);

	massif_resident_deinit(&target->resident);
	put_cred(target->judged);
	kfree(target);
}

void massif_target_put(struct massif_target *target)
{
	if (refcount_dec_and_test(&target->ref))
		call_rcu(&target->rcu, free_target);
}

/* No target is left, but free_target() may be yet to come. May sleep. */
void massif_target_exit(void)
{
	rcu_barrier();
}

/*
 * A reference that keeps the address space's mappings (mmput it), or NULL if it is on its way out.
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

/* One that keeps no more than its struct (mmdrop it); NULL if the target is in no table any more. */
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

/* The consumer has been told of every change, but not of each file's name: a resync is due, no more. */
void massif_target_unnamed(struct massif_target *target)
{
	atomic_inc(&target->lost_gen);
}

/* What the consumer knows of the target is not the truth any more: a resync is due. */
void massif_target_desync(struct massif_target *target)
{
	atomic_inc(&target->lost_gen);
	/* Code may have been replaced as well. */
	massif_stack_cache_drop(target);
}

void massif_target_desync_all(struct massif_session *session)
{
	struct massif_target *target = NULL;

	while ((target = massif_target_next(session, target)))
		massif_target_desync(target);
}

bool massif_target_synced(struct massif_target *target)
{
	return READ_ONCE(target->synced_gen) == atomic_read(&target->lost_gen);
}
