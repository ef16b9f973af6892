// SPDX-License-Identifier: GPL-2.0
// From facts to records in a session's ring, and what to do when there is no room.
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>

#include "access.h"
#include "compat/task.h"
#include "record.h"
#include "session.h"
#include "target.h"

/* Fills all of the header but seq and time, which the ring gives. target may be NULL. */
void massif_record_init(struct massif_record *rec, u32 type, size_t size,
			struct massif_session *session, struct massif_target *target)
{
	struct task_struct *task = current;

	rec->type = type;
	rec->size = size;
	rec->total_vm = 0;
	rec->target = target ? target->id : 0;
	/* Nearly always the first: the other takes thirty instructions. */
	rec->tid = likely(session->pid_ns == &init_pid_ns) ? task_pid_nr(task) :
		   task_pid_nr_ns(task, session->pid_ns);
	rec->capture = 0;
	rec->flags = 0;
	if (target && task->mm != target->mm)
		rec->flags |= MASSIF_RF_EXTERNAL;
	if (massif_task_in_exec(task))
		rec->flags |= MASSIF_RF_IN_EXEC;
}

/* Rare, and its record would have to be made ready on the stack of whoever writes another. */
static noinline bool put_lost(struct massif_session *session, struct massif_target *target, u32 reason,
		     u64 count, enum massif_ring_use use)
{
	struct massif_rec_lost rec = { .count = count, .reason = reason };

	massif_record_init(&rec.h, MASSIF_REC_LOST, sizeof(rec), session, target);
	return massif_ring_put(&session->ring, &rec, sizeof(rec), use);
}

/*
 * Says what was lost before, first of all. False if there is not even room for that: and only a
 * record that is urgent itself may take the reserve for it, or LOST records alone would fill it.
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
	ok = flush(session, target, MASSIF_RING_ORDINARY) &&
	     massif_ring_put(ring, records, bytes, use);
	wake = massif_ring_readable(ring);
	raw_spin_unlock_irqrestore(&ring->lock, irq);

	if (wake)
		massif_session_wake(session);
	return ok;
}

/*
 * Writes records about target (or about the session: NULL) in one piece, or does nothing and
 * returns false where there is no room, or the session may not be told. For what the caller can say
 * again later.
 */
bool massif_record_try(struct massif_session *session, struct massif_target *target,
		       void *records, size_t bytes)
{
	return try(session, target, records, bytes, MASSIF_RING_ORDINARY);
}

/* The same for a STACK with its bytes. For what the caller can say shorter. */
bool massif_record_try_stack(struct massif_session *session, struct massif_target *target,
			     struct massif_rec_stack *rec)
{
	return try(session, target, rec, rec->h.size, MASSIF_RING_STACK);
}

/* As massif_record_write(), with interrupts off: a caller that holds a lock need not ask how they were. */
bool massif_record_write_irqsoff(struct massif_session *session, struct massif_target *target,
				 struct massif_record *rec, bool urgent)
{
	enum massif_ring_use use = urgent ? MASSIF_RING_URGENT : MASSIF_RING_ORDINARY;
	struct massif_ring *ring = &session->ring;
	bool ok, wake;

	lockdep_assert_irqs_disabled();
	if (target && massif_access_lost(session, target))
		return true;
	raw_spin_lock(&ring->lock);
	ok = flush(session, target, use) && massif_ring_put(ring, rec, rec->size, use);
	if (unlikely(!ok)) {
		massif_ring_lose(ring, 1);
		if (target) {
			target->lost++;
			massif_target_desync(target);
		} else {
			session->lost++;
		}
	}
	wake = massif_ring_readable(ring);
	raw_spin_unlock(&ring->lock);

	if (wake)
		massif_session_wake(session);
	return ok;
}

/*
 * Writes one record about target (or about the session: NULL). Where there is no room, it is
 * counted, the target is out of sync, and false is returned: nobody waits. urgent ones have some
 * room of their own. Of a target that the session may not look at nothing is written, nor is it lost.
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

/*
 * Something about target (or all, NULL) was not seen. The caller has marked the targets out of
 * sync.
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

/* A target is about to vanish, or the consumer has made room: say now what was lost. */
void massif_record_flush(struct massif_session *session, struct massif_target *target)
{
	struct massif_ring *ring = &session->ring;
	unsigned long irq;

	raw_spin_lock_irqsave(&ring->lock, irq);
	flush(session, target, MASSIF_RING_ORDINARY);
	raw_spin_unlock_irqrestore(&ring->lock, irq);
}
