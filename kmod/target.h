/* SPDX-License-Identifier: GPL-2.0 */
/* A target: an address space followed by the module, in one session. */
#ifndef MASSIF_TARGET_H
#define MASSIF_TARGET_H

#include <linux/bits.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "hash.h"
#include "resident.h"

struct cred;
struct mm_struct;
struct massif_session;
struct task_struct;
struct vm_area_struct;

struct massif_target {
	/* Node in massif_target_table; changed under massif_table_lock, read under RCU. */
	struct hlist_node node;
	/* node in session->targets; RB_CLEAR_NODE()d if never inserted; protected by massif_table_lock */
	struct rb_node by_id;
	struct list_head processes;	/* members that share this address space; protected by massif_table_lock */

	/*
	 * Reference count: one for the table of targets, one for each member (struct massif_process) that uses the
	 * address space, one for each struct massif_return_work, and one for each struct massif_rss_span that is queued
	 * as task_work. The target is freed an RCU grace period after the last reference is dropped, so a hook that has
	 * found it under RCU needs none.
	 */
	refcount_t ref;
	struct rcu_head rcu;

	/*
	 * The address space, without a reference. While the target is in the table, the table has one (mmgrab), so that
	 * no other address space gets the same pointer. Compare this pointer, but dereference it only if current->mm is
	 * the same.
	 */
	struct mm_struct *mm;
	struct massif_session *session;	/* the session; valid while the target is in the table or has work queued */
	u64 serial;			/* number of the target, unique among all targets of all sessions */
	u32 id;
	/* pid of the process the target was created for, in the opener's pid namespace */
	u32 tgid;
	/*
	 * Reason (MASSIF_RESYNC_*) to report for the first resync; if 0, the reason passed to massif_resync() is
	 * reported.
	 */
	u32 origin;
	bool alive;			/* the target is in the table of targets; changed under massif_table_lock */

	/*
	 * The session has lost the right to observe the target (the target is hidden); never reset. Read and written
	 * without a lock.
	 */
	bool hidden;
	/* The target is hidden because another session has taken it over. Set before hidden is set. */
	bool taken;
	/* credentials of the last thread that passed the access check; holds a reference */
	const struct cred *judged;

	bool ended;			/* EXIT was written or lost: no more records; protected by session->ring.lock */
	u64 lost;			/* records lost since the last LOST record; protected by session->ring.lock */

	/*
	 * lost_gen counts the events that may have made the consumer's view of the target wrong. synced_gen is the
	 * value that lost_gen had when the most recent complete resync began. The target is in sync while the two are
	 * equal.
	 */
	atomic_t lost_gen;
	int synced_gen;

	/* How often executable code was, or may have been, mapped or unmapped; cached stacks with a lower count are invalid. */
	atomic_t code_gen;

	/*
	 * Serialises resyncs of the target. If a resync stopped because the ring was full, resync_next is the address
	 * at which it stopped, and resync_gen is the value that lost_gen had when it began. The next resync continues
	 * from there if lost_gen has not changed since.
	 */
	struct mutex resync_lock;	/* protects synced_gen, resync_next and resync_gen */
	unsigned long resync_next;
	int resync_gen;

	/*
	 * Written with mmap_lock held. If counted is set, last_total is total_vm as of the last record. If total_vm is
	 * different when the next change begins, the hooks have missed a change.
	 */
	bool counted;
	unsigned long last_total;	/* value of total_vm after the last record, in pages */
	/* number of threads that are executing the kernel's munmap function, and may change total_vm */
	atomic_t unmapping;

	/*
	 * The range that the thread holding mmap_lock for writing is about to remove. Set on entry to the function that
	 * removes the range; used by the hook MASSIF_HOOK_REMOVE.
	 */
	struct {
		/*
		 * The thread that is about to remove the mappings in the range, or NULL if there is none. Only compared
		 * with current, never dereferenced.
		 */
		const struct task_struct *by;
		unsigned long addr;
		unsigned long len;
		unsigned long pages;	/* number of mapped pages in the range to be removed; 0: too many mappings */
	} removing;

	/*
	 * On kernels where a stack can grow with mmap_lock held only for reading, ->grow_lock serialises the threads
	 * that grow a stack. ->grown and ->grown_to are the mapping and the start address of the last reported growth,
	 * which may combine growth by several threads.
	 */
	raw_spinlock_t grow_lock;
	const struct vm_area_struct *grown;	/* mapping that grew last; compared only, never dereferenced */
	unsigned long grown_to;

	bool test;			/* target of a hook test (hooktest.c): no session, no records */
	/*
	 * true for the target of an unprivileged session's hook test, which a privileged session may take over;
	 * constant
	 */
	bool yields;

	struct massif_resident resident;
};

/* All targets, hashed by mm. Changed under massif_table_lock; looked up under RCU by hooks. */
extern struct massif_hash massif_target_table;

/*
 * Numbers of targets by one byte of their mm; changed under massif_table_lock. Every call of a hooked function, anywhere
 * in the system, first runs assembly code that tests whether there are any for the address space concerned
 * (compat/detour_64.S), so the index must be computable from the pointer in one register. One byte of the pointer is
 * enough, because struct mm_struct objects are several hundred bytes apart, and few sessions have more than some targets.
 */
#define MASSIF_TARGET_BITS	8
#define MASSIF_TARGET_SHIFT	8
extern unsigned long massif_target_filter[1 << MASSIF_TARGET_BITS];

static __always_inline unsigned long *massif_target_filter_of(const struct mm_struct *mm)
{
	return &massif_target_filter[(unsigned long)mm >> MASSIF_TARGET_SHIFT &
				     (BIT(MASSIF_TARGET_BITS) - 1)];
}

struct massif_target *massif_target_create(struct mm_struct *mm, gfp_t gfp);
void massif_target_free(struct massif_target *target);
bool massif_target_number(struct massif_target *target, struct massif_session *session);
int massif_target_insert(struct massif_target *target, struct massif_session *session);
void massif_target_unlink(struct massif_target *target);
void massif_target_unlinked(struct massif_target *target);
bool massif_target_withdraw(struct massif_target *target, bool unused);
void massif_target_remove(struct massif_target *target);
void massif_target_remove_all(struct massif_session *session);

struct massif_target *massif_target_find(struct mm_struct *mm);

/*
 * Returns the target of @mm if the module tracks its resident pages as well as its mappings, otherwise NULL. Locking as
 * for massif_target_find().
 */
static inline struct massif_target *massif_target_find_resident(struct mm_struct *mm)
{
	struct massif_target *target = massif_target_find(mm);

	/*
	 * This acquire pairs with the release of resident.attached in massif_resident_attach(): if the field reads
	 * true, the other fields of target->resident are initialised.
	 */
	return target && smp_load_acquire(&target->resident.attached) ? target : NULL;
}

struct massif_target *massif_target_next(struct massif_session *session,
					 struct massif_target *prev);
struct massif_target *massif_target_get(struct massif_target *target);
struct massif_target *massif_target_tryget(struct massif_target *target);
void massif_target_put(struct massif_target *target);
int massif_target_init(void);
void massif_target_exit(void);
struct mm_struct *massif_target_mmget(struct massif_target *target);
struct mm_struct *massif_target_mmgrab(struct massif_target *target);

void massif_target_unnamed(struct massif_target *target);
void massif_target_desync(struct massif_target *target);
void massif_target_desync_all(struct massif_session *session);
bool massif_target_synced(struct massif_target *target);

#endif
