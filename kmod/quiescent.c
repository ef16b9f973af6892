// SPDX-License-Identifier: GPL-2.0
// Has threads of io_uring report quiescent states while the module waits for grace periods of RCU tasks.
//
// Such a grace period ends when each thread that was running at its beginning has slept or returned to user mode. Threads
// of io_uring may do neither for hours: every user can have one that looks for requests in a loop (IORING_SETUP_SQPOLL). Who
// waits for it may hold locks that others need, such as those of ftrace. But these threads run their task_work in between.
// So the module queues work for them that reports a quiescent state, again and again while it waits. Afterwards it takes back
// what has not run: the thread may have begun to sleep before it has looked at its task_work, and may sleep for hours.
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/hashtable.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/task_work.h>
#include <linux/workqueue.h>

#include "compat/task_work.h"
#include "quiescent.h"

/* A grace period without such threads usually ends sooner. */
#define INTERVAL	HZ

struct prod {
	struct callback_head work;
	struct completion passed;	/* nothing of the module is executed for this prod any more */
	struct task_struct *thread;
	struct hlist_node node;
};

static_assert(offsetof(struct prod, passed) == MASSIF_PROD_PASSED);

/*
 * The prods that have neither passed nor been taken back, at most one for each thread, and their number. Only the work uses
 * these.
 */
static DEFINE_HASHTABLE(prods, 10);
static unsigned int count;

static void prod_and_reap(struct work_struct *work);
static DECLARE_DELAYED_WORK(prodding, prod_and_reap);

/* Protects the next two. */
static DEFINE_SPINLOCK(lock);
static unsigned int waiting;	/* calls of massif_quiescent_begin() without massif_quiescent_end() */
static bool active;		/* the work is queued or running, and holds a reference to the module */

/**
 * massif_quiescent_pass() - report a quiescent state. Called by massif_quiescent_prod(), which is in compat/prod_64.S because
 * it must not return to the module after it has completed the prod.
 * Context: task_work of a thread of io_uring.
 */
void massif_quiescent_pass(void)
{
	cond_resched_tasks_rcu_qs();
}

/*
 * Returns whether a grace period waits for a thread that runs its task_work although it neither sleeps nor returns to user
 * mode. A kernel without RCU tasks has no grace periods that wait for such threads.
 */
static bool is_awaited(const struct task_struct *thread)
{
#ifdef CONFIG_TASKS_RCU
	return (READ_ONCE(thread->flags) & (PF_IO_WORKER | PF_KTHREAD)) == PF_IO_WORKER &&
	       READ_ONCE(thread->rcu_tasks_holdout);
#else
	return false;
#endif
}

/* The thread is not notified, because a notification could interrupt what it does for its program. */
static void prod(struct task_struct *thread)
{
	struct prod *made = kmalloc(sizeof(*made), GFP_NOWAIT | __GFP_NOWARN);

	if (!made)
		return;
	init_task_work(&made->work, massif_quiescent_prod);
	init_completion(&made->passed);
	made->thread = get_task_struct(thread);
	if (task_work_add(thread, &made->work, TWA_NONE)) {
		put_task_struct(thread);
		kfree(made);
		return;
	}
	hash_add(prods, &made->node, (unsigned long)thread);
	count++;
}

static bool is_prodded(const struct task_struct *thread)
{
	const struct prod *other;

	hash_for_each_possible(prods, other, node, (unsigned long)thread)
		if (other->thread == thread)
			return true;
	return false;
}

static void prod_all(void)
{
	struct task_struct *process, *thread;

	rcu_read_lock();
	for_each_process_thread(process, thread)
		if (is_awaited(thread) && !is_prodded(thread))
			prod(thread);
	rcu_read_unlock();
}

/*
 * Frees the prods that have passed. If nobody waits any more (@wanted is false), those that their threads have not begun to
 * run are taken back, so that a thread which sleeps does not keep the module from being unloaded. That fails if the thread
 * sleeps in other task_work which it has taken from its list together with the prod. Such a thread is woken up, because it
 * may sleep for another reason if this kernel cannot take work back.
 */
static void reap(bool wanted)
{
	struct hlist_node *next;
	struct prod *done;
	int bucket;

	hash_for_each_safe(prods, bucket, next, done, node) {
		bool over = try_wait_for_completion(&done->passed);

		if (!over && !wanted)
			over = massif_task_work_cancel(done->thread, &done->work);
		if (!over) {
			if (!wanted)
				wake_up_process(done->thread);
			continue;
		}
		hash_del(&done->node);
		count--;
		put_task_struct(done->thread);
		kfree(done);
	}
}

/* Called with lock held. The module is not unloaded before massif_quiescent_exit() has waited for the end of the work. */
static void rest(void)
{
	active = false;
	module_put(THIS_MODULE);
}

static void prod_and_reap(struct work_struct *work)
{
	bool wanted;

	spin_lock(&lock);
	wanted = waiting;
	spin_unlock(&lock);
	reap(wanted);
	if (wanted)
		prod_all();
	spin_lock(&lock);
	if (waiting || count)
		queue_delayed_work(system_long_wq, &prodding, INTERVAL);
	else if (active)
		rest();
	spin_unlock(&lock);
}

/**
 * massif_quiescent_begin() - the caller is about to wait for a grace period of RCU tasks, or to have another part of the
 * kernel wait for one.
 * Context: any in which a spinlock may be taken; the caller holds a reference to the module, or is unloading it.
 */
void massif_quiescent_begin(void)
{
	spin_lock(&lock);
	if (!waiting++ && !active) {
		active = true;
		__module_get(THIS_MODULE);
		queue_delayed_work(system_long_wq, &prodding, INTERVAL);
	}
	spin_unlock(&lock);
}

/**
 * massif_quiescent_end() - the grace period has ended.
 * Context: as for massif_quiescent_begin().
 */
void massif_quiescent_end(void)
{
	spin_lock(&lock);
	/* The work does not run if it was cancelled, so that count does not change. */
	if (!--waiting && cancel_delayed_work(&prodding)) {
		if (count)
			queue_delayed_work(system_long_wq, &prodding, 0);
		else
			rest();
	}
	spin_unlock(&lock);
}

static bool is_active(void)
{
	bool is;

	spin_lock(&lock);
	is = active;
	spin_unlock(&lock);
	return is;
}

/**
 * massif_quiescent_exit() - wait until no thread runs task_work of the module's. Called when the module is unloaded.
 * Context: process context; sleeps.
 */
void massif_quiescent_exit(void)
{
	while (is_active()) {
		mod_delayed_work(system_long_wq, &prodding, 0);
		flush_delayed_work(&prodding);
		msleep(20);
	}
	cancel_delayed_work_sync(&prodding);
}
