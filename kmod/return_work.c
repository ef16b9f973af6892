// SPDX-License-Identifier: GPL-2.0
// Work that hooks queue for a thread, which runs it as task_work before returning to user mode: stack copies, file
// names, resyncs.
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/task_work.h>

#include "args.h"
#include "compat/task.h"
#include "record.h"
#include "resync.h"
#include "session.h"
#include "stack.h"
#include "target.h"
#include "thread_table.h"
#include "return_work.h"
#include "vma.h"

/*
 * An mmap creates one mapping, and an mremap of a file mapping creates two. If a system call creates more than
 * MAX_NAMES mappings, a resync reports their file names.
 */
#define MAX_NAMES	4

/*
 * The work queued for one thread on behalf of one target. There is only one such object, no matter how many records a
 * system call produces, so that these records share one stack copy. Only the thread itself, or its parent before the
 * thread first runs, looks up or changes the object.
 */
struct massif_return_work {
	struct callback_head work;
	/*
	 * Node in the table of all queued work, with the thread that does the work. No reference to the thread is held,
	 * because the work runs before the thread is freed.
	 */
	struct massif_thread_node node;
	struct massif_target *target;	/* the target that the work is for; this struct holds a reference */
	struct massif_session *session;	/* the session of the target; this struct holds a reference */
	struct massif_stack_copy capture;	/* the stack copy to make; its number is 0 if there is none */
	u32 reason;			/* reason for the resync to be written; 0: none */
	u32 nr_names;
	struct {
		unsigned long addr;
		unsigned long len;
	} names[MAX_NAMES];
};

/* All queued work. */
static struct massif_thread_table table;

/*
 * Set when work is queued for the first time. From then on, a thread may be executing the module's task_work callback.
 */
static bool used;

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
		 * The thread is ending or has executed another program, so its registers no longer belong to the record
		 * that needs the stack copy.
		 */
		if (visit->capture.number)
			massif_stack_gone(target, &visit->capture);
		return;
	}
	if (fatal_signal_pending(current)) {
		/*
		 * The thread is being killed: do not delay its exit with more work. If another process shares the
		 * address space, a resync will report the names of the mappings that this thread would have reported.
		 */
		if (visit->nr_names)
			massif_target_unnamed(target);
	} else {
		if (visit->reason == MASSIF_RESYNC_EXEC)
			massif_args_write(target);
		if (visit->reason)
			massif_resync(target, target->mm, visit->reason);
		else if (!massif_target_synced(target))
			massif_resync(target, target->mm, MASSIF_RESYNC_LOST);
		for (i = 0; i < visit->nr_names; i++)
			massif_vma_name(target, visit->names[i].addr, visit->names[i].len);
	}
	if (visit->capture.number)
		massif_stack_capture(target, &visit->capture);
}

static void run(struct callback_head *work)
{
	struct massif_return_work *visit = container_of(work, struct massif_return_work, work);

	massif_thread_table_remove(&table, &visit->node);
	if (READ_ONCE(visit->target->alive))
		pay(visit);
	release(visit);
	/*
	 * After module_put() the module may be unloaded, but massif_return_work_exit() waits until this thread has left
	 * the function.
	 */
	module_put(THIS_MODULE);
}

/*
 * Finds the work object of a thread (current, or a thread that has not run yet), or queues one if there is none. Called
 * in hooks. Returns NULL if out of memory, if the thread or the session is ending, or if the thread has too much work
 * queued for targets that have ended.
 */
static struct massif_return_work *get(struct task_struct *task, struct massif_target *target)
{
	struct massif_thread_node *node = massif_thread_table_find(&table, task, target);
	struct massif_return_work *visit;

	if (node)
		return container_of(node, struct massif_return_work, node);
	visit = kzalloc(sizeof(*visit), GFP_ATOMIC | __GFP_NOWARN);
	if (!visit)
		return NULL;
	/* The session may be closing, and the table of targets may already have dropped its reference to the target. */
	visit->target = massif_target_tryget(target);
	if (!visit->target) {
		kfree(visit);
		return NULL;
	}
	visit->node.task = task;
	visit->node.target = target;
	if (!massif_thread_table_insert(&table, &visit->node)) {
		/* If this is the last reference, the target is freed when the caller has left its RCU read-side section. */
		massif_target_put(target);
		kfree(visit);
		return NULL;
	}
	visit->session = massif_session_get(target->session);
	atomic_inc(&visit->session->pending);
	/* __module_get() is safe: the open file of the session holds a reference to the module. */
	__module_get(THIS_MODULE);
	WRITE_ONCE(used, true);

	init_task_work(&visit->work, run);
	if (task_work_add(task, &visit->work, TWA_RESUME)) {
		massif_thread_table_remove(&table, &visit->node);
		/*
		 * release() drops the reference to the session that was taken above. It is not the last reference: the
		 * hook found the session in an RCU read-side section that has not ended, and the session's own
		 * reference is dropped only after a grace period.
		 */
		release(visit);
		module_put(THIS_MODULE);
		return NULL;
	}
	return visit;
}

/**
 * massif_return_work_capture() - queue a stack copy for the records of current's system call.
 * @known: number of the cached stack that matches the thread's stack; 0: none.
 * Context: hook, RCU read-side section; current's address space is the target's.
 * Return: the number of the STACK record, which is the same for all records of one system call; 0 if no work could be
 *	queued, for example for lack of memory (this is counted).
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

/**
 * massif_return_work_name() - queue a NAME record for a file that current has just mapped.
 * @len: length in bytes.
 * Context: hook, RCU read-side section.
 */
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

/**
 * massif_return_work_resync() - queue a resync, to be written before a thread next runs in user mode.
 * @task: current, or a thread that has not run yet.
 * @reason: MASSIF_RESYNC_*; ignored if a reason has already been set.
 * Context: hook, RCU read-side section.
 * Return: false if nothing was queued.
 */
bool massif_return_work_resync(struct massif_target *target, struct task_struct *task, u32 reason)
{
	struct massif_return_work *visit;

	/*
	 * If the ring is full, do not queue the resync: a later event of the target, or the consumer, starts the resync
	 * when there is room.
	 */
	if (reason == MASSIF_RESYNC_LOST && massif_ring_full(&target->session->ring))
		return false;
	visit = get(task, target);
	if (visit && !visit->reason)
		visit->reason = reason;
	return visit;
}

/**
 * massif_return_work_init() - initialise the table when the module is loaded.
 */
void massif_return_work_init(void)
{
	massif_thread_table_init(&table);
}

/**
 * massif_return_work_exit() - wait until no thread is still doing work queued by hooks. Called when the module is
 * unloaded.
 *
 * No work is pending at this point, because each piece of queued work holds a reference to the module.
 *
 * Context: process context; sleeps.
 */
void massif_return_work_exit(void)
{
	if (used)
		synchronize_rcu_tasks();
}
