// SPDX-License-Identifier: GPL-2.0
// Resync: lists all mappings of a target for the consumer, in parts that fit the ring.
#include <linux/massif.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "access.h"
#include "compat/mm.h"
#include "lifecycle.h"
#include "record.h"
#include "resync.h"
#include "session.h"
#include "target.h"
#include "vma.h"

/*
 * A resync lists the mappings of a target in parts. A part is assembled under mmap_lock and written in one piece before
 * the lock is dropped, so it is correct at its position in the ring. Its size is limited, which also limits the time
 * that the lock is held and the room that the part needs in the ring. Between two parts, changes are reported as usual.
 */
#define PART_BYTES	(16 * 1024)

struct part {
	struct massif_target *target;
	struct mm_struct *mm;
	u32 reason;
	u8 *buf;		/* buffer of PART_BYTES bytes in which the records of one part are assembled */
	unsigned long start;	/* address at which the next part of the list of mappings begins */
	/* There are no more mappings after the part that was assembled last, so that part completes the resync. */
	bool last;
};

static void put_bound(struct part *part, void *at, u32 type, u32 count, unsigned long end)
{
	struct massif_rec_resync *rec = at;

	*rec = (struct massif_rec_resync){
		.start = part->start,
		.end = end,
		.reason = part->reason,
		.part = (part->start ? 0 : MASSIF_RESYNC_FIRST) |
			(part->last ? MASSIF_RESYNC_LAST : 0),
		.count = count,
	};
	massif_record_init(&rec->h, type, sizeof(*rec), part->target->session, part->target);
	rec->h.total_vm = part->mm->total_vm;
	if (!part->last)
		rec->h.flags |= MASSIF_RF_NO_TOTAL;
}

/*
 * Writes the part of a resync that begins at part->start, and advances part to the next one. Returns false if there was
 * no room in the ring. Called with mmap_lock held, and while total_vm cannot change.
 */
static bool write_part(struct part *part)
{
	const size_t bound = sizeof(struct massif_rec_resync);
	struct massif_target *target = part->target;
	struct mm_struct *mm = part->mm;
	struct vm_area_struct *vma;
	unsigned long end = ULONG_MAX;
	size_t used = bound;
	u32 count = 0;
	bool ok;

	lockdep_assert_held(&mm->mmap_lock);
	part->last = true;
	for (vma = find_vma(mm, part->start); vma; vma = find_vma(mm, vma->vm_end)) {
		if (used + MASSIF_VMA_RECORD_MAX + bound > PART_BYTES) {
			part->last = false;
			end = vma->vm_start;
			break;
		}
		used += massif_vma_describe(target, vma, MASSIF_REC_VMA,
					    max(vma->vm_start, part->start), vma->vm_end,
					    (void *)(part->buf + used));
		count++;
	}

	put_bound(part, part->buf, MASSIF_REC_RESYNC_BEGIN, count, end);
	put_bound(part, part->buf + used, MASSIF_REC_RESYNC_END, count, end);
	ok = massif_record_try(target->session, target, part->buf, used + bound);
	if (ok && part->last) {
		target->last_total = mm->total_vm;
		WRITE_ONCE(target->counted, true);
	}
	if (ok)
		part->start = end;
	return ok;
}

/*
 * True if another thread may change total_vm while mmap_lock is held for reading. A munmap that has downgraded the lock
 * has already removed its mappings, but may update total_vm later, before it drops the lock. No new munmap can start,
 * because it would need the write lock.
 */
static bool in_motion(const struct massif_target *target)
{
	return massif_mm_shared_growth || atomic_read(&target->unmapping);
}

/*
 * Calls write_part() if the session may still observe the target. The program can make the consumer wait for mmap_lock
 * for any length of time, and in the meantime the session may lose its right to observe the target.
 */
static bool write_if_allowed(struct part *part)
{
	struct massif_target *target = part->target;

	return (current->mm == part->mm || massif_access_asked(target->session, target, part->mm)) && write_part(part);
}

/*
 * Calls write_if_allowed() with mmap_lock held. The lock is held for writing if total_vm could change under the read
 * lock, otherwise for reading.
 */
static bool lock_and_write_part(struct part *part)
{
	struct mm_struct *mm = part->mm;
	bool ok;

	if (mmap_read_lock_killable(mm))
		return false;
	if (likely(!in_motion(part->target))) {
		ok = write_if_allowed(part);
		mmap_read_unlock(mm);
		return ok;
	}
	mmap_read_unlock(mm);

	if (mmap_write_lock_killable(mm))
		return false;
	ok = write_if_allowed(part);
	mmap_write_unlock(mm);
	return ok;
}

/**
 * massif_resync() - write all mappings of a target, and its resident pages.
 * @mm: the target's address space: either current's, or one to which the caller holds a reference.
 * @reason: MASSIF_RESYNC_*.
 * Context: process context; takes resync_lock and mmap_lock; may sleep.
 * Return: true if the target is in sync. False if the ring has too little room, memory is short, a signal is pending,
 *	or (reason LOST) another thread is already writing a resync.
 */
bool massif_resync(struct massif_target *target, struct mm_struct *mm, u32 reason)
{
	struct part part = { .target = target, .mm = mm, .reason = reason };
	bool ok;
	int gen;

	/*
	 * A failed attempt costs a walk over the mappings, so start a resync only if its first part is likely to fit in
	 * the ring.
	 */
	if (massif_ring_room(&target->session->ring, MASSIF_RING_ORDINARY) < 2 * PART_BYTES)
		return false;
	/* Another thread of the program may be attaching at the same time; massif_resident_attach() copes with that. */
	if (target->session->resident && !READ_ONCE(target->resident.rss_notifier))
		massif_resident_attach(target, mm);
	/*
	 * If another thread is already writing a resync of this target, a call with reason LOST returns at once, so
	 * that neither the program nor the consumer waits for it.
	 */
	if (!mutex_trylock(&target->resync_lock)) {
		if (reason == MASSIF_RESYNC_LOST)
			return false;
		/*
		 * Killable: the thread that holds resync_lock may itself wait for mmap_lock, which a program can hold
		 * for any length of time.
		 */
		if (mutex_lock_killable(&target->resync_lock))
			return false;
	}
	part.buf = kvmalloc(PART_BYTES, GFP_KERNEL_ACCOUNT);
	if (!part.buf) {
		mutex_unlock(&target->resync_lock);
		return false;
	}
	gen = atomic_read(&target->lost_gen);
	/*
	 * A thread of the program may write the first resync before the attaching process does. No record has been lost
	 * yet, so report target->origin as the reason, not MASSIF_RESYNC_LOST.
	 */
	if (target->origin && gen == 1)
		part.reason = target->origin;
	if (target->resync_gen == gen)
		part.start = target->resync_next;
	do {
		ok = lock_and_write_part(&part);
		/* There can be any number of parts. */
		cond_resched();
	} while (ok && !part.last);

	target->resync_gen = gen;
	target->resync_next = ok ? 0 : part.start;
	if (ok)
		WRITE_ONCE(target->synced_gen, gen);
	/* This acquire pairs with the release in massif_resident_attach(), which another thread may be executing. */
	if (ok && smp_load_acquire(&target->resident.attached))
		massif_resident_base(target, mm);
	mutex_unlock(&target->resync_lock);

	kvfree(part.buf);
	return ok;
}

/**
 * massif_resync_session() - write the resyncs of all targets that are out of sync, for MASSIF_IOC_RESYNC.
 * @id: number of one target; 0: all targets.
 * @all: include targets that are in sync.
 * @remaining: set to the number of targets that are still out of sync, or with @all, of those not listed completely.
 * Context: process context of the consumer; may sleep.
 * Return: 0, or -ENOENT if there is no such target.
 */
int massif_resync_session(struct massif_session *session, u32 id, bool all, u32 *remaining)
{
	struct massif_target *target = NULL;
	bool found = !id;

	*remaining = 0;
	while ((target = massif_target_next(session, target))) {
		struct mm_struct *mm;
		bool listed = false;

		cond_resched();
		if (id && target->id != id)
			continue;
		found = true;
		if (!all && massif_target_synced(target))
			continue;
		mm = massif_target_mmget(target);
		if (!mm)
			continue;
		if (massif_access_asked(session, target, mm))
			listed = massif_resync(target, mm, all ? MASSIF_RESYNC_ASKED : MASSIF_RESYNC_LOST);
		if (READ_ONCE(target->hidden))
			massif_lifecycle_dismiss(target);
		else if (!massif_target_synced(target) || (all && !listed))
			(*remaining)++;
		/*
		 * Asynchronous, because if this drops the last user of the address space, the program can make the
		 * teardown wait for any length of time; see finish() in attach.c.
		 */
		mmput_async(mm);
	}
	return found ? 0 : -ENOENT;
}
