/* SPDX-License-Identifier: GPL-2.0 */
/* A target: an address space whose mappings a session accounts for. */
#ifndef MASSIF_TARGET_H
#define MASSIF_TARGET_H

#include <linux/bits.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "resident.h"

struct cred;
struct mm_struct;
struct massif_session;
struct task_struct;
struct vm_area_struct;

struct massif_target {
	struct hlist_node node;		/* in the table: massif_table_lock, read by RCU */
	struct rb_node by_id;		/* of the session's, or empty: massif_table_lock */

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
	u64 serial;			/* of no other target, whatever its session */
	u32 id;
	u32 tgid;			/* of the process it was made for, to the consumer */
	u32 origin;			/* reason of the first resync, whoever comes to write it; 0: any */
	bool alive;			/* in the table; massif_table_lock */

	/* The session may not look at it any more; for good. Without a lock. */
	bool hidden;
	const struct cred *judged;	/* of the thread that was last found to be allowed; a reference */

	u64 lost;			/* records since the last LOST; ring.lock of the session */

	/*
	 * lost_gen counts the reasons to distrust what the consumer knows; synced_gen is what it
	 * was when the last complete resync began. In sync while the two are equal.
	 */
	atomic_t lost_gen;
	int synced_gen;

	/* How often executable code went, or may have gone: what is known from before is void. */
	atomic_t code_gen;

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
	 * What the thread that holds mmap_lock for writing is about to remove, from the enter of its
	 * hook to the moment itself (MASSIF_HOOK_REMOVE). The thread is only compared.
	 */
	struct {
		const struct task_struct *by;	/* NULL: nobody anything */
		unsigned long addr;
		unsigned long len;
		unsigned long pages;	/* of it that are mapped */
	} removing;

	/*
	 * Where stacks grow with mmap_lock held for reading, this orders those who do; and tells the
	 * last growth, which may be that of several.
	 */
	raw_spinlock_t grow_lock;
	const struct vm_area_struct *grown;	/* only compared */
	unsigned long grown_to;

	bool test;			/* of hooktest.c: it has no session, nothing is written */
	bool yields;			/* a test, of a session without CAP_SYS_PTRACE; constant */

	struct massif_resident resident;
};

/* By mm. Changed under massif_table_lock, read in every hook under RCU: mostly to find nothing. */
#define MASSIF_TARGET_BITS	8
#define MASSIF_TARGET_SHIFT	8
extern struct hlist_head massif_target_table[1 << MASSIF_TARGET_BITS];

/*
 * The chain of mm. Each call of a hooked function in the system asks whether it is empty
 * (compat/detour_64.S), so the hash must be had with what a register has: those of struct mm_struct are
 * some hundred bytes apart.
 */
static __always_inline struct hlist_head *massif_target_chain(const struct mm_struct *mm)
{
	return &massif_target_table[(unsigned long)mm >> MASSIF_TARGET_SHIFT &
				    (BIT(MASSIF_TARGET_BITS) - 1)];
}

struct massif_target *massif_target_create(struct mm_struct *mm, gfp_t gfp);
void massif_target_free(struct massif_target *target);
void massif_target_number(struct massif_target *target, struct massif_session *session);
int massif_target_insert(struct massif_target *target, struct massif_session *session);
void massif_target_unlink(struct massif_target *target);
void massif_target_unlinked(struct massif_target *target);
bool massif_target_remove(struct massif_target *target);
void massif_target_remove_all(struct massif_session *session);

struct massif_target *massif_target_find(struct mm_struct *mm);

/* The same, if what is resident of it is followed. */
static inline struct massif_target *massif_target_find_resident(struct mm_struct *mm)
{
	struct massif_target *target = massif_target_find(mm);

	/* With massif_resident_attach(). */
	return target && smp_load_acquire(&target->resident.attached) ? target : NULL;
}

struct massif_target *massif_target_next(struct massif_session *session,
					 struct massif_target *prev);
struct massif_target *massif_target_get(struct massif_target *target);
struct massif_target *massif_target_tryget(struct massif_target *target);
void massif_target_put(struct massif_target *target);
void massif_target_exit(void);
struct mm_struct *massif_target_mmget(struct massif_target *target);
struct mm_struct *massif_target_mmgrab(struct massif_target *target);

void massif_target_unnamed(struct massif_target *target);
void massif_target_desync(struct massif_target *target);
void massif_target_desync_all(struct massif_session *session);
bool massif_target_synced(struct massif_target *target);

#endif
