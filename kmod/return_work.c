// SPDX-License-Identifier: GPL-2.0
// A visit: what is owed to a thread before it returns to user mode. Queued in hooks, as task_work.
#include <linux/hashtable.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/task_work.h>

#include "args.h"
#include "compat/task.h"
#include "record.h"
#include "resync.h"
#include "session.h"
#include "stack.h"
#include "target.h"
#include "return_work.h"
#include "vma.h"

/* mmap makes one mapping, mremap of a file two. More than fit are named by a resync. */
#define MAX_NAMES	4

/*
 * One for a thread and target, however many records its system call makes: so they share one
 * capture. Only the thread itself finds and changes it (for a new thread: its parent, before it
 * runs).
 */
struct massif_return_work {
	struct callback_head work;
	struct hlist_node node;		/* in the table */
	struct task_struct *task;	/* not a reference: the work runs before it is gone */
	struct massif_target *target;	/* a reference */
	struct massif_session *session;	/* a reference */
	struct massif_stack_copy capture;	/* number 0: no stack asked for */
	u32 reason;			/* of a resync; 0: none asked for */
	u32 nr_names;
	struct {
		unsigned long addr;
		unsigned long len;
	} names[MAX_NAMES];
};

#define TABLE_BITS	7
static struct {
	raw_spinlock_t lock;	/* of the chain; nothing is taken inside */
	struct hlist_head head;
} table[1 << TABLE_BITS];

/* Has any thread ever been in run(), or will be? */
static bool used;

static unsigned int bucket(const struct task_struct *task)
{
	return hash_ptr(task, TABLE_BITS);
}

static void insert(struct massif_return_work *visit)
{
	unsigned int b = bucket(visit->task);
	unsigned long irq;

	raw_spin_lock_irqsave(&table[b].lock, irq);
	hlist_add_head(&visit->node, &table[b].head);
	raw_spin_unlock_irqrestore(&table[b].lock, irq);
}

static void remove(struct massif_return_work *visit)
{
	unsigned int b = bucket(visit->task);
	unsigned long irq;

	raw_spin_lock_irqsave(&table[b].lock, irq);
	hlist_del(&visit->node);
	raw_spin_unlock_irqrestore(&table[b].lock, irq);
}

static struct massif_return_work *find(const struct task_struct *task, struct massif_target *target)
{
	struct massif_return_work *visit, *found = NULL;
	unsigned int b = bucket(task);
	unsigned long irq;

	raw_spin_lock_irqsave(&table[b].lock, irq);
	hlist_for_each_entry(visit, &table[b].head, node) {
		if (visit->task == task && visit->target == target) {
			found = visit;
			break;
		}
	}
	raw_spin_unlock_irqrestore(&table[b].lock, irq);
	return found;
}

static void release(struct massif_return_work *visit)
{
	atomic_dec(&visit->session->pending);
	massif_target_put(visit->target);
	massif_session_put(visit->session);
	kfree(visit);
}

static void pay(struct massif_return_work *visit)
{
	struct massif_target *target = visit->target;
	u32 i;

	if (current->mm != target->mm) {
		/*
		 * The thread is ending, or has another image: its registers are not those any more.
		 */
		if (visit->capture.number)
			massif_stack_gone(target, &visit->capture);
		return;
	}
	if (visit->reason == MASSIF_RESYNC_EXEC)
		massif_args_write(target);
	if (visit->reason)
		massif_resync(target, target->mm, visit->reason);
	else if (!massif_target_synced(target))
		massif_resync(target, target->mm, MASSIF_RESYNC_LOST);
	for (i = 0; i < visit->nr_names; i++)
		massif_vma_name(target, visit->names[i].addr, visit->names[i].len);
	if (visit->capture.number)
		massif_stack_capture(target, &visit->capture);
}

static void run(struct callback_head *work)
{
	struct massif_return_work *visit = container_of(work, struct massif_return_work, work);

	remove(visit);
	if (READ_ONCE(visit->target->alive))
		pay(visit);
	release(visit);
	/* massif_return_work_exit() waits for the few instructions that are left. */
	module_put(THIS_MODULE);
}

/*
 * In a hook, for current or for a thread that has not run yet. NULL: no memory, or one of thread
 * and session is ending.
 */
static struct massif_return_work *get(struct task_struct *task, struct massif_target *target)
{
	struct massif_return_work *visit = find(task, target);

	if (visit)
		return visit;
	visit = kzalloc(sizeof(*visit), GFP_ATOMIC | __GFP_NOWARN);
	if (!visit)
		return NULL;
	/* The session may be closing: the table's reference, by which it was found, can be gone. */
	visit->target = massif_target_tryget(target);
	if (!visit->target) {
		kfree(visit);
		return NULL;
	}
	visit->task = task;
	visit->session = massif_session_get(target->session);
	atomic_inc(&visit->session->pending);
	/* The session's file is open, so the module has a user already. */
	__module_get(THIS_MODULE);
	WRITE_ONCE(used, true);
	insert(visit);

	init_task_work(&visit->work, run);
	if (task_work_add(task, &visit->work, TWA_RESUME)) {
		remove(visit);
		/* Never the last reference: RCU protects the session that the hook found. */
		release(visit);
		module_put(THIS_MODULE);
		return NULL;
	}
	return visit;
}

/*
 * The number of the capture that will explain what current does now to its own address space; the
 * same for all of a system call. 0: no memory for it (counted). known: the stack is this one (0: not
 * known).
 */
u32 massif_return_work_capture(struct massif_target *target, u32 known)
{
	struct massif_session *session = target->session;
	struct massif_return_work *visit = get(current, target);

	if (!visit) {
		atomic64_inc(&session->captures_failed);
		return 0;
	}
	if (!visit->capture.number) {
		visit->capture.number = (u32)atomic_inc_return(&session->last_capture) ?:
					(u32)atomic_inc_return(&session->last_capture);
		visit->capture.known = known;
		visit->capture.code_gen = atomic_read(&target->code_gen);
		atomic64_inc(&session->captures);
	}
	return visit->capture.number;
}

/* What was just mapped by current at addr is a file: say which. */
void massif_return_work_name(struct massif_target *target, unsigned long addr, unsigned long len)
{
	struct massif_return_work *visit = get(current, target);

	if (!visit) {
		massif_target_desync(target);
		return;
	}
	if (visit->nr_names == MAX_NAMES) {
		massif_target_unnamed(target);
		return;
	}
	visit->names[visit->nr_names].addr = addr;
	visit->names[visit->nr_names].len = len;
	visit->nr_names++;
}

/* Before task (current, or one that has not run yet) runs in user mode: say all of its mappings. */
bool massif_return_work_resync(struct massif_target *target, struct task_struct *task, u32 reason)
{
	struct massif_return_work *visit;

	/* What was lost is told when there is room: by a later event, or in the consumer's context. */
	if (reason == MASSIF_RESYNC_LOST && massif_ring_full(&target->session->ring))
		return false;
	visit = get(task, target);
	if (visit && !visit->reason)
		visit->reason = reason;
	return visit;
}

void massif_return_work_init(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		raw_spin_lock_init(&table[i].lock);
		INIT_HLIST_HEAD(&table[i].head);
	}
}

/*
 * No visit is left (each held the module); but its thread may still be about to return from run().
 */
void massif_return_work_exit(void)
{
	if (used)
		synchronize_rcu_tasks();
}
