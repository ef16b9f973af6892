/* SPDX-License-Identifier: GPL-2.0 */
/* A session: everything that belongs to one open of /dev/massif. */
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
	/* Reference count: one for the open file, one for each struct massif_return_work queued to a thread. */
	refcount_t ref;

	/* Members that do not change after the device has been opened. */
	const struct cred *cred;	/* credentials of the device's opener; holds a reference */
	struct pid_namespace *pid_ns;	/* the opener's pid namespace, used for ids in records; holds a reference */
	bool privileged;		/* the opener has CAP_SYS_PTRACE in the initial user namespace */
	bool may_lock;			/* the opener has CAP_IPC_LOCK */

	/* setup_lock serialises SETUP ioctls. SETUP sets ready once, with release semantics and setup_lock held. */
	struct mutex setup_lock;	/* serialises SETUP ioctls; protects ->test */
	/* target of this session's hook test (hooktest.c), or NULL; holds a reference */
	struct massif_target *test;
	unsigned long charged;		/* pages charged to the opener's user (charge.c) */
	bool ready;
	u32 max_stack;			/* maximum stack bytes in a STACK record; constant once SETUP has set ready */
	/* write a STACK record even if the stack is in the stack cache; constant once SETUP has set ready */
	bool verify;
	bool resident;			/* write RESIDENT and MOVE records; constant once SETUP has set ready */
	struct massif_ring ring;	/* the session's ring; usable once SETUP has set ready */
	struct massif_stack_cache_table known;	/* the stack cache; usable once SETUP has set ready */

	/* Members that massif_table_lock protects. */
	bool dead;			/* the session's file was closed */
	bool enrolled;			/* the session has had at least one member */
	struct rb_root targets;		/* all targets of the session, sorted by id */
	struct list_head processes;
	u32 nr_targets;			/* number of targets whose last record has not been written */
	u32 nr_processes;
	u32 last_target;

	/* Number of lost records that cannot be attributed to a target that still exists; protected by ring.lock. */
	u64 lost;

	u64 missed;			/* result of massif_hooks_missed() at the last check; protected by ring.lock */
	atomic64_t missed_total;
	atomic64_t unseen;
	atomic64_t captures;
	atomic64_t captures_failed;
	atomic64_t captures_limited;
	atomic64_t captures_truncated;
	atomic_t last_capture;
	atomic_t pending;		/* number of queued struct massif_return_work */

	wait_queue_head_t wait;
	/* Wakes the consumer through an irq_work, because hooks must not take the scheduler's locks. */
	struct irq_work wake;
};

/*
 * Protects the tables of targets and processes, and every session's lists of them. Hooks take it with interrupts off.
 * While it is held, the only locks that may be taken are ring.lock, a target's resident.lock, and those that nest
 * inside resident.lock. Readers of the tables use RCU.
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
