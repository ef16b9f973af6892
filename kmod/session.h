/* SPDX-License-Identifier: GPL-2.0 */
/* A session: what one open of the device owns. */
#ifndef MASSIF_SESSION_H
#define MASSIF_SESSION_H

#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/refcount.h>
#include <linux/wait.h>

#include "stack_cache.h"
#include "ring.h"

struct cred;
struct file;
struct massif_setup;
struct massif_status;
struct massif_target;
struct pid_namespace;

struct massif_session {
	/* One for the open file, one for each visit queued to a thread. */
	refcount_t ref;

	/* Constant since open. */
	const struct cred *cred;	/* of who opened the device; a reference */
	struct pid_namespace *pid_ns;	/* in which the consumer reads thread numbers */
	bool privileged;		/* the opener may look into any process */
	bool may_lock;			/* the opener has CAP_IPC_LOCK */

	/* Serialises setup; ready is set once (release), under it. */
	struct mutex setup_lock;	/* protects test */
	struct massif_target *test;	/* of hooktest.c, or NULL; a reference */
	unsigned long charged;		/* pages, to the opener's user */
	bool ready;
	u32 max_stack;			/* bytes; constant once ready */
	bool verify;			/* known stacks are captured as well; constant once ready */
	bool resident;			/* tell what is resident; constant once ready */
	struct massif_ring ring;	/* usable once ready */
	struct massif_stack_cache_table known;	/* usable once ready */

	/* Under massif_table_lock. */
	bool dead;			/* the file was closed */
	bool enrolled;			/* some process was, once */
	struct rb_root targets;		/* by their numbers */
	struct list_head processes;
	u32 nr_targets;
	u32 nr_processes;
	u32 last_target;

	/* Under ring.lock: records lost that belong to no living target. */
	u64 lost;

	u64 missed;			/* massif_hooks_missed() when last asked; ring.lock */
	atomic64_t missed_total;
	atomic64_t unseen;
	atomic64_t captures;
	atomic64_t captures_failed;
	atomic64_t captures_limited;
	atomic64_t captures_truncated;
	atomic_t last_capture;
	atomic_t pending;		/* visits */

	wait_queue_head_t wait;
	struct irq_work wake;		/* hooks must not take the scheduler's locks */
};

/*
 * Protects the tables of targets and processes and every session's lists of them. Taken in hooks,
 * with interrupts off; ring.lock may be taken inside, nothing else. Readers of the tables use RCU.
 */
extern raw_spinlock_t massif_table_lock;

struct massif_session *massif_session_create(const struct file *file);
int massif_session_setup(struct massif_session *session, struct massif_setup *setup);
void massif_session_close(struct massif_session *session);

struct massif_session *massif_session_get(struct massif_session *session);
void massif_session_put(struct massif_session *session);

bool massif_session_ready(struct massif_session *session);
bool massif_session_over(struct massif_session *session);
void massif_session_tend(struct massif_session *session);
void massif_session_status(struct massif_session *session, struct massif_status *status);
void massif_session_wake(struct massif_session *session);

#endif
