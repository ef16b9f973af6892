// SPDX-License-Identifier: GPL-2.0
// A session: everything that belongs to one open file of /dev/massif. It lives until the last close, or a little longer
// if threads still have work queued for it.
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/massif.h>
#include <linux/pid_namespace.h>
#include <linux/poll.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>

#include "charge.h"
#include "compat/mm.h"
#include "fault.h"
#include "hooks.h"
#include "hooktest.h"
#include "lifecycle.h"
#include "process.h"
#include "record.h"
#include "session.h"
#include "target.h"

DEFINE_RAW_SPINLOCK(massif_table_lock);

static void wake_up_consumer(struct irq_work *work)
{
	struct massif_session *session = container_of(work, struct massif_session, wake);

	wake_up_poll(&session->wait, EPOLLIN | EPOLLRDNORM);
}

/**
 * massif_session_create() - create the session for an open of the device.
 * @file: the open file; the session takes references to its credentials.
 * Context: process context of the opener; may sleep.
 * Return: the session with one reference, or NULL if there is no memory.
 */
struct massif_session *massif_session_create(const struct file *file)
{
	struct massif_session *session = kzalloc(sizeof(*session), GFP_KERNEL_ACCOUNT);

	if (!session)
		return NULL;
	refcount_set(&session->ref, 1);
	session->cred = get_cred(file->f_cred);
	session->pid_ns = get_pid_ns(task_active_pid_ns(current));
	session->privileged = file_ns_capable(file, &init_user_ns, CAP_SYS_PTRACE);
	session->may_lock = file_ns_capable(file, &init_user_ns, CAP_IPC_LOCK);
	mutex_init(&session->setup_lock);
	session->targets = RB_ROOT;
	INIT_LIST_HEAD(&session->processes);
	init_waitqueue_head(&session->wait);
	init_irq_work(&session->wake, wake_up_consumer);
	return session;
}

/* Number of pages of memory that a session with this setup uses. */
static unsigned long pages_of(const struct massif_setup *setup)
{
	return massif_ring_pages(setup->ring_bytes) + DIV_ROUND_UP(setup->known_bytes, PAGE_SIZE);
}

/**
 * massif_session_setup() - create the ring and the stack cache, and arm the hooks.
 * @setup: values that the caller has checked. On -ENODEV, dead_hook is set to the name of the hook that
 *	cannot be armed.
 * Context: process context; may sleep.
 * Return: 0; -EBUSY if the session is already set up; -EDQUOT if RLIMIT_MEMLOCK does not allow it (massif_charge());
 *	-ENODEV, -ENOMEM or -EINTR.
 */
int massif_session_setup(struct massif_session *session, struct massif_setup *setup)
{
	int err;

	/* Another process that has the descriptor may be waiting with the lock. */
	if (mutex_lock_killable(&session->setup_lock))
		return -EINTR;
	err = -EBUSY;
	if (session->ready)
		goto out;
	err = massif_charge(session, pages_of(setup));
	if (err)
		goto out;
	err = massif_ring_init(&session->ring, setup->ring_bytes);
	if (err)
		goto err_charge;
	err = massif_stack_cache_init(&session->known, setup->known_bytes);
	if (err)
		goto err_ring;
	err = massif_hooks_get(setup->dead_hook, sizeof(setup->dead_hook));
	if (err)
		goto err_known;
	session->resident = setup->flags & MASSIF_SETUP_RESIDENT;
	if (session->resident)
		err = massif_fault_get(setup->dead_hook, sizeof(setup->dead_hook));
	if (err)
		goto err_hooks;

	session->verify = setup->flags & MASSIF_SETUP_VERIFY;
	session->max_stack = setup->max_stack_bytes;
	session->missed = massif_hooks_missed();
	/*
	 * This release pairs with the acquire in massif_session_ready(): a reader that sees ready set also sees
	 * everything written above.
	 */
	smp_store_release(&session->ready, true);
	goto out;

err_hooks:
	massif_hooks_put();
err_known:
	massif_stack_cache_deinit(&session->known);
err_ring:
	massif_ring_close(&session->ring);
	massif_ring_deinit(&session->ring);
err_charge:
	massif_uncharge(session);
out:
	mutex_unlock(&session->setup_lock);
	return err;
}

/**
 * massif_session_ready() - check whether SETUP has succeeded.
 * Context: any.
 */
bool massif_session_ready(struct massif_session *session)
{
	/* This acquire pairs with the release in massif_session_setup(). */
	return smp_load_acquire(&session->ready);
}

static void destroy(struct massif_session *session)
{
	irq_work_sync(&session->wake);
	massif_ring_deinit(&session->ring);
	put_pid_ns(session->pid_ns);
	put_cred(session->cred);
	kfree(session);
}

/**
 * massif_session_close() - end a session at the last close of its file.
 *
 * When it returns, neither hooks nor other sessions can find the session. A thread that has a struct massif_return_work
 * queued keeps the session's memory (not its ring) until the work has run, which can take any length of time because
 * the thread may be sleeping in a system call.
 *
 * Context: process context; may sleep.
 */
void massif_session_close(struct massif_session *session)
{
	unsigned long irq;

	raw_spin_lock_irqsave(&massif_table_lock, irq);
	session->dead = true;
	raw_spin_unlock_irqrestore(&massif_table_lock, irq);

	massif_hooktest_close(session);
	massif_process_remove_all(session);
	massif_target_remove_all(session);
	if (session->ready && session->resident)
		massif_fault_put();
	if (session->ready)
		massif_hooks_put();
	/* Wait until hooks that may have found a target of this session have finished. */
	synchronize_rcu();
	massif_stack_cache_deinit(&session->known);
	massif_ring_close(&session->ring);
	massif_uncharge(session);
	massif_session_put(session);
}

/**
 * massif_session_get() - take a reference.
 * Context: any; the caller has a reference or keeps the session alive by RCU.
 */
struct massif_session *massif_session_get(struct massif_session *session)
{
	refcount_inc(&session->ref);
	return session;
}

/**
 * massif_session_put() - drop a reference; the last one frees the session.
 * Context: may sleep if it drops the last reference, so hooks must not drop the last one.
 */
void massif_session_put(struct massif_session *session)
{
	if (refcount_dec_and_test(&session->ref))
		destroy(session);
}

/**
 * massif_session_wake() - wake up the consumer if it is waiting in poll(); costs nothing if it is not.
 * Context: any, including hooks with locks held, because the wake-up is done by an irq_work.
 */
void massif_session_wake(struct massif_session *session)
{
	if (wq_has_sleeper(&session->wait))
		irq_work_queue(&session->wake);
}

/**
 * massif_session_over() - check whether the session has had at least one member, and now has neither members nor
 * targets.
 *
 * From then on, nothing can write a record.
 *
 * Context: any; takes no lock.
 */
bool massif_session_over(struct massif_session *session)
{
	return READ_ONCE(session->enrolled) && !READ_ONCE(session->nr_processes) &&
	       !READ_ONCE(session->nr_targets);
}

/*
 * If the kernel failed to run a hook since the last check, mark every target out of sync and report the loss.
 */
static void look_for_missed(struct massif_session *session)
{
	unsigned long irq;
	u64 now, count;

	raw_spin_lock_irqsave(&session->ring.lock, irq);
	/*
	 * Read the number of missed calls with the lock held, so that of two concurrent callers, the second does not
	 * see a smaller number than the first.
	 */
	now = massif_hooks_missed();
	count = now - session->missed;
	session->missed = now;
	raw_spin_unlock_irqrestore(&session->ring.lock, irq);
	if (likely(!count))
		return;

	atomic64_add(count, &session->missed_total);
	massif_target_desync_all(session);
	massif_record_lost(session, NULL, MASSIF_LOST_MISSED, count);
}

/*
 * True if the target's address space has been torn down although the hook on this has not run, because the kernel could
 * not call it. Otherwise the hook would have removed the target before the teardown began.
 */
static bool has_ended_unseen(struct massif_target *target)
{
	struct mm_struct *mm = massif_target_mmgrab(target);
	bool gone = mm && massif_mm_gone(mm);

	if (mm)
		mmdrop(mm);
	return gone;
}

/**
 * massif_session_tend() - write the records that hooks could not write: LOST, END and EXIT of hidden targets, and EXIT
 * of targets whose end no hook has seen.
 * Context: process context of the consumer, on each poll() and MASSIF_IOC_RESYNC; may sleep.
 */
void massif_session_tend(struct massif_session *session)
{
	struct massif_target *target = NULL;

	look_for_missed(session);
	massif_record_flush(session, NULL);
	while ((target = massif_target_next(session, target))) {
		cond_resched();
		if (READ_ONCE(target->hidden)) {
			massif_lifecycle_dismiss(target);
			continue;
		}
		massif_record_flush(session, target);
		if (!has_ended_unseen(target))
			continue;
		rcu_read_lock();
		massif_lifecycle_exit(target);
		rcu_read_unlock();
	}
}

/**
 * massif_session_status() - fill the output fields of MASSIF_IOC_STATUS.
 * Context: process context; may sleep.
 */
void massif_session_status(struct massif_session *session, struct massif_status *status)
{
	struct massif_target *target = NULL;
	unsigned long irq;

	look_for_missed(session);

	raw_spin_lock_irqsave(&session->ring.lock, irq);
	status->records = session->ring.records;
	status->lost = session->ring.lost;
	raw_spin_unlock_irqrestore(&session->ring.lock, irq);

	status->missed = atomic64_read(&session->missed_total);
	status->unseen = atomic64_read(&session->unseen);
	status->captures = atomic64_read(&session->captures);
	status->captures_failed = atomic64_read(&session->captures_failed);
	status->captures_limited = atomic64_read(&session->captures_limited);
	status->captures_truncated = atomic64_read(&session->captures_truncated);
	massif_stack_cache_status(&session->known, status);
	status->pending = atomic_read(&session->pending);

	status->out_of_sync = 0;
	while ((target = massif_target_next(session, target))) {
		status->out_of_sync += !massif_target_synced(target);
		cond_resched();
	}

	raw_spin_lock_irqsave(&massif_table_lock, irq);
	status->processes = session->nr_processes;
	status->targets = session->nr_targets;
	raw_spin_unlock_irqrestore(&massif_table_lock, irq);
}
