/* SPDX-License-Identifier: GPL-2.0 */
/* A target: an address space whose mappings a session accounts for. */
#ifndef MASSIF_TARGET_H
#define MASSIF_TARGET_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/types.h>

struct mm_struct;
struct massif_session;

struct massif_target {
	struct hlist_node node;		/* in the table: massif_table_lock, read by RCU */
	struct list_head list;		/* of the session: massif_table_lock */

	/*
	 * One for the table, one for each visit queued to a thread. Freed an RCU grace period after
	 * the last, so a hook may use what it found without taking one.
	 */
	refcount_t ref;
	struct rcu_head rcu;

	/*
	 * Not a reference by itself: the table has one (mmgrab) as long as the target is in it, so
	 * that no other address space can be mistaken for this one. Compare it, do not follow it,
	 * unless current->mm is the same.
	 */
	struct mm_struct *mm;
	struct massif_session *session;	/* outlives the table entry and each visit */
	u32 id;
	u32 tgid;			/* of the process it was made for, to the consumer */
	bool alive;			/* in the table; massif_table_lock */

	u64 lost;			/* records since the last LOST; ring.lock of the session */

	/*
	 * lost_gen counts the reasons to distrust what the consumer knows; synced_gen is what it
	 * was when the last complete resync began. In sync while the two are equal.
	 */
	atomic_t lost_gen;
	int synced_gen;

	/*
	 * One series of parts at a time. Where a series stopped for want of room, and lost_gen when
	 * it began: as long as that holds, it can go on from there.
	 */
	struct mutex resync_lock;	/* protects synced_gen and these */
	unsigned long resync_next;
	int resync_gen;

	/*
	 * Written with mmap_lock held. counted: total_vm was last_total after the last record, so
	 * the next one must start from there, or a change has escaped the hooks.
	 */
	bool counted;
	unsigned long last_total;	/* pages */
	atomic_t unmapping;		/* in the munmap core, total_vm in motion */

	/*
	 * A target of hooktest.c: no session, nothing is written; the hooks say here that they ran.
	 */
	bool test;
	unsigned long seen;
};

struct massif_target *massif_target_create(struct mm_struct *mm, gfp_t gfp);
void massif_target_free(struct massif_target *target);
int massif_target_insert(struct massif_target *target, struct massif_session *session);
bool massif_target_remove(struct massif_target *target);
void massif_target_remove_all(struct massif_session *session);

struct massif_target *massif_target_find(struct mm_struct *mm);
struct massif_target *massif_target_next(struct massif_session *session,
					 struct massif_target *prev);
struct massif_target *massif_target_get(struct massif_target *target);
struct massif_target *massif_target_tryget(struct massif_target *target);
void massif_target_put(struct massif_target *target);
struct mm_struct *massif_target_mmget(struct massif_target *target);

void massif_target_desync(struct massif_target *target);
void massif_target_desync_all(struct massif_session *session);
bool massif_target_synced(struct massif_target *target);

#endif
