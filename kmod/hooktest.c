// SPDX-License-Identifier: GPL-2.0
// Do the armed hooks fire? Tried on a scratch mapping in the address space of who arms them.
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/mm_types.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "compat/hookpoint.h"
#include "fault.h"
#include "hooktest.h"
#include "session.h"
#include "target.h"

/*
 * Arming says whether a function can be hooked; but it may have been inlined where it matters. So a
 * program, which massif-ctl has (userland/pages/hooktest.c), makes each hook fire: its address space is a
 * target with test set, of which only that is noted (MASSIF_IOC_TEST).
 *
 * The module touches nobody's memory for this. A fault, or a lock of an address space, can wait for its
 * owner for ever, and arming has a lock that all sessions need.
 */

/* REMOVE has two callers, either of which could have a copy: this is the one that replaces mappings. */
#define REPLACE	MASSIF_HOOK_COUNT

/* Bits by enum massif_hook, and REPLACE: which have fired for a test since they were armed. */
static unsigned long seen;

/* What not every kernel, or limit, lets a program fire. */
#define SPECIAL	BIT(MASSIF_HOOK_SPECIAL)
#define STACK	BIT(MASSIF_HOOK_STACK)
#define ALL	(BIT(MASSIF_HOOK_COUNT) - 1)

/* They have just been armed. */
void massif_hooktest_reset(void)
{
	WRITE_ONCE(seen, 0);
}

/* In a hook, of target, which is a test. */
void massif_hooktest_saw(const struct massif_target *target, enum massif_hook hook)
{
	bool replaced = hook == MASSIF_HOOK_REMOVE && !atomic_read(&target->unmapping);

	set_bit(replaced ? REPLACE : hook, &seen);
}

/* Whether it has fired for a test since it was armed. */
bool massif_hooktest_seen(enum massif_hook hook)
{
	return READ_ONCE(seen) & BIT(hook);
}

/* -ENODEV and the name of the first of hooks that has not fired. */
static int missing(unsigned long hooks, const char **dead)
{
	enum massif_hook hook;

	for (hook = 0; hook < MASSIF_HOOK_COUNT; hook++) {
		if (massif_hookpoints[hook].symbol && (hooks & ~READ_ONCE(seen) & BIT(hook))) {
			*dead = massif_hookpoints[hook].symbol;
			return -ENODEV;
		}
	}
	if (massif_hookpoints[MASSIF_HOOK_REMOVE].symbol && !(READ_ONCE(seen) & BIT(REPLACE))) {
		*dead = massif_hookpoints[MASSIF_HOOK_REMOVE].symbol;
		return -ENODEV;
	}
	return 0;
}

/* Of current's address space, entered into the table, with a reference for the caller. */
static int begin(struct massif_session *session)
{
	struct massif_target *target = massif_target_create(current->mm, GFP_KERNEL_ACCOUNT);
	unsigned long irq;
	int err;

	if (!target)
		return -ENOMEM;
	target->test = true;
	target->yields = !session->privileged;
	raw_spin_lock_irqsave(&massif_table_lock, irq);
	err = massif_target_insert(target, NULL);
	if (!err)
		session->test = massif_target_get(target);
	raw_spin_unlock_irqrestore(&massif_table_lock, irq);
	if (err)
		massif_target_free(target);
	else if (session->resident)
		massif_fault_test(current->mm, 1);
	return err;
}

/* With setup_lock, or nobody else has the session. */
void massif_hooktest_close(struct massif_session *session)
{
	struct massif_target *target = session->test;

	if (!target)
		return;
	/* Its address space may be gone: only where it was counts. */
	if (session->resident)
		massif_fault_test(target->mm, -1);
	massif_target_remove(target);
	massif_target_put(target);
	session->test = NULL;
}

static void close_ended(struct massif_session *session)
{
	if (session->test && !READ_ONCE(session->test->alive))
		massif_hooktest_close(session);
}

/*
 * Makes current's address space a target for a test, until it ends: it is to do what fires the
 * hooks. -EBUSY if it is a target already, or the session has such a one that has not ended.
 */
int massif_hooktest_join(struct massif_session *session)
{
	int err = -EBUSY;

	mutex_lock(&session->setup_lock);
	close_ended(session);
	if (!session->test)
		err = begin(session);
	mutex_unlock(&session->setup_lock);
	return err;
}

/*
 * Has each hook that the session needs fired since they were armed, for its test or another's? -ENODEV
 * and the name of the first that has not. special, stack: also that which not every program can fire.
 */
int massif_hooktest_tell(struct massif_session *session, bool special, bool stack, const char **dead)
{
	unsigned long hooks = ALL & ~SPECIAL & ~STACK;
	int err;

	if (special)
		hooks |= SPECIAL;
	if (stack)
		hooks |= STACK;
	err = missing(hooks, dead);
	if (!err && session->resident)
		err = massif_fault_missing(dead);
	mutex_lock(&session->setup_lock);
	close_ended(session);
	mutex_unlock(&session->setup_lock);
	return err;
}
