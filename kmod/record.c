// SPDX-License-Identifier: GPL-2.0
// Writes records into a session's ring, and counts them as lost if the ring is full.
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>

#include "access.h"
#include "compat/task.h"
#include "record.h"
#include "session.h"
#include "target.h"

/**
 * massif_record_init() - fill the header of a record, except seq and time_ns, which massif_ring_put() fills.
 * @type: MASSIF_REC_*.
 * @size: size of the whole record in bytes.
 * @target: may be NULL.
 * Context: any; the record describes an action of current.
 */
void massif_record_init(struct massif_record *rec, u32 type, size_t size,
			struct massif_session *session, struct massif_target *target)
{
	struct task_struct *task = current;

	rec->type = type;
	rec->size = size;
	rec->total_vm = 0;
	rec->target = target ? target->id : 0;
	/* The pid namespace is nearly always the initial one; task_pid_nr_ns() would cost thirty instructions. */
	rec->tid = likely(session->pid_ns == &init_pid_ns) ? task_pid_nr(task) :
		   task_pid_nr_ns(task, session->pid_ns);
	rec->capture = 0;
	rec->flags = 0;
	if (target && task->mm != target->mm)
		rec->flags |= MASSIF_RF_EXTERNAL;
	if (massif_task_in_exec(task))
		rec->flags |= MASSIF_RF_IN_EXEC;
}

/* Kept out of line: LOST is rare, and other writers should not need stack space for it. */
static noinline bool put_lost(struct massif_session *session, struct massif_target *target, u32 reason,
		     u64 count, enum massif_ring_use use)
{
	struct massif_rec_lost rec = { .count = count, .reason = reason };

	massif_record_init(&rec.h, MASSIF_REC_LOST, sizeof(rec), session, target);
	return massif_ring_put(&session->ring, &rec, sizeof(rec), use);
}

/*
 * Reports earlier losses before a new record is written. Returns false if there is no room even for the LOST record. A
 * LOST record may use the part of the ring reserved for urgent records only if the record that follows is urgent;
 * otherwise LOST records alone would fill that part.
 */
static inline bool flush(struct massif_session *session, struct massif_target *target, enum massif_ring_use use)
{
	u64 *lost = target ? &target->lost : &session->lost;

	lockdep_assert_held(&session->ring.lock);
	if (likely(!*lost))
		return true;
	if (!put_lost(session, target, MASSIF_LOST_ROOM, *lost, use))
		return false;
	*lost = 0;
	return true;
}

static bool try(struct massif_session *session, struct massif_target *target, void *records,
		size_t bytes, enum massif_ring_use use)
{
	struct massif_ring *ring = &session->ring;
	unsigned long irq;
	bool ok, wake;

	if (target && massif_access_lost(session, target))
		return false;
	raw_spin_lock_irqsave(&ring->lock, irq);
	ok = !(target && target->ended) && flush(session, target, MASSIF_RING_ORDINARY) &&
	     massif_ring_put(ring, records, bytes, use);
	wake = massif_ring_readable(ring);
	raw_spin_unlock_irqrestore(&ring->lock, irq);

	if (wake)
		massif_session_wake(session);
	return ok;
}

/**
 * massif_record_try() - write records, or nothing if there is no room; for callers that can try again later.
 * @target: the target that the records are about; NULL: the session.
 * @records: one or more whole records; they are written in one piece.
 * @bytes: total size of the records.
 * Context: any; takes ring.lock.
 * Return: false, with nothing counted as lost, if there is no room, the session may not observe the target, or the
 *	target's EXIT record has been written.
 */
bool massif_record_try(struct massif_session *session, struct massif_target *target,
		       void *records, size_t bytes)
{
	return try(session, target, records, bytes, MASSIF_RING_ORDINARY);
}

/**
 * massif_record_try_stack() - like massif_record_try(), but for a STACK record that the caller can shorten.
 * Context: any; takes ring.lock.
 */
bool massif_record_try_stack(struct massif_session *session, struct massif_target *target,
			     struct massif_rec_stack *rec)
{
	return try(session, target, rec, rec->h.size, MASSIF_RING_STACK);
}

/*
 * Writes one record, or counts it as lost. @target may be NULL. Returns false if the record was lost. Called with
 * ring.lock held.
 */
static __always_inline bool put_or_lose(struct massif_session *session, struct massif_target *target,
					struct massif_record *rec, bool urgent)
{
	enum massif_ring_use use = urgent ? MASSIF_RING_URGENT : MASSIF_RING_ORDINARY;
	struct massif_ring *ring = &session->ring;

	lockdep_assert_held(&ring->lock);
	if (likely(flush(session, target, use) && massif_ring_put(ring, rec, rec->size, use)))
		return true;
	massif_ring_lose(ring, 1);
	if (target) {
		target->lost++;
		massif_target_desync(target);
	} else {
		session->lost++;
	}
	return false;
}

/**
 * massif_record_write_irqsoff() - like massif_record_write(), but for callers that already have interrupts off.
 * Context: interrupts are off; takes ring.lock.
 */
bool massif_record_write_irqsoff(struct massif_session *session, struct massif_target *target,
				 struct massif_record *rec, bool urgent)
{
	struct massif_ring *ring = &session->ring;
	bool ok, wake;

	lockdep_assert_irqs_disabled();
	if (target && massif_access_lost(session, target))
		return true;
	raw_spin_lock(&ring->lock);
	ok = (target && unlikely(target->ended)) || put_or_lose(session, target, rec, urgent);
	wake = massif_ring_readable(ring);
	raw_spin_unlock(&ring->lock);

	if (wake)
		massif_session_wake(session);
	return ok;
}

/**
 * massif_record_write() - write one record, or count it as lost.
 * @target: the target that the record is about; NULL: the session.
 * @rec: the record; its size is in its header.
 * @urgent: use the part of the ring that is reserved for urgent records.
 *
 * If there is no room, counts the loss and marks the target out of sync; never waits for room. If the session may not
 * observe the target, or the target's EXIT record has been written, nothing is written and nothing is counted.
 *
 * Context: any; takes ring.lock.
 * Return: false if the record was lost.
 */
bool massif_record_write(struct massif_session *session, struct massif_target *target,
			 struct massif_record *rec, bool urgent)
{
	unsigned long irq;
	bool ok;

	local_irq_save(irq);
	ok = massif_record_write_irqsoff(session, target, rec, urgent);
	local_irq_restore(irq);
	return ok;
}

/**
 * massif_record_write_exit() - write a target's EXIT record, its last record, or count it as lost.
 * @removed: the target has already been removed from the table, so a loss is counted for the session.
 *
 * When the EXIT record is written, other tasks may have found the target in the table, or may still find it, and may
 * then write records for it. Reclaim, for example, swaps out pages of an address space that no process uses any more.
 * To the consumer, nothing happens to a target after its EXIT. So these records are dropped, and do not count as lost.
 *
 * If an EXIT record was written before, does nothing. The caller then calls massif_session_wake().
 *
 * Context: any; takes ring.lock.
 */
void massif_record_write_exit(struct massif_target *target, struct massif_rec_exit *rec, bool removed)
{
	struct massif_session *session = target->session;
	unsigned long irq;

	raw_spin_lock_irqsave(&session->ring.lock, irq);
	if (!target->ended) {
		target->ended = true;
		put_or_lose(session, removed ? NULL : target, &rec->h, true);
	}
	raw_spin_unlock_irqrestore(&session->ring.lock, irq);
}

/**
 * massif_record_lost() - write a LOST record for events that were not seen.
 * @target: the target whose events were not seen, or NULL for all targets of the session.
 * @reason: MASSIF_LOST_*.
 * @count: lower bound of the number of events.
 *
 * The caller has marked these targets out of sync.
 *
 * Context: any; takes ring.lock.
 */
void massif_record_lost(struct massif_session *session, struct massif_target *target, u32 reason,
			u64 count)
{
	struct massif_ring *ring = &session->ring;
	unsigned long irq;

	raw_spin_lock_irqsave(&ring->lock, irq);
	massif_ring_lose(ring, count);
	if (!flush(session, target, MASSIF_RING_URGENT) ||
	    !put_lost(session, target, reason, count, MASSIF_RING_URGENT)) {
		if (target)
			target->lost += count;
		else
			session->lost += count;
	}
	raw_spin_unlock_irqrestore(&ring->lock, irq);
	massif_session_wake(session);
}

/**
 * massif_record_flush() - write the LOST record that is due for a target, if there is room.
 * @target: NULL: losses that belong to no existing target.
 * Context: any; takes ring.lock.
 */
void massif_record_flush(struct massif_session *session, struct massif_target *target)
{
	struct massif_ring *ring = &session->ring;
	unsigned long irq;

	raw_spin_lock_irqsave(&ring->lock, irq);
	flush(session, target, MASSIF_RING_ORDINARY);
	raw_spin_unlock_irqrestore(&ring->lock, irq);
}
