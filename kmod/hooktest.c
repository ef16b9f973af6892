// SPDX-License-Identifier: GPL-2.0
// Hook tests: check that the armed hooks fire, in the address space of a test process.
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
 * Arming shows that a function can be hooked, but the compiler may have inlined it into the caller that matters. So
 * massif-ctl runs a test process that makes each hook fire (userland/pages/hooktest.c). Its address space becomes a
 * target whose test flag is set. The module notes which hooks fire there, and writes no records (MASSIF_IOC_TEST).
 *
 * The module does not touch a process's memory itself for the test. Handling a fault or taking the lock of an address
 * space can wait for another process indefinitely, and arming holds a lock that all sessions need.
 */

/*
 * MASSIF_HOOK_REMOVE hooks the function that the kernel calls when a removal of mappings can no longer fail. That
 * function has two callers, munmap and mmap with MAP_FIXED, and could have been inlined into either of them. This bit
 * of @seen is set if the hook has fired for MAP_FIXED, which replaces mappings.
 */
#define REPLACE	MASSIF_HOOK_COUNT

/*
 * The hooks that have fired in a test since all hooks were last armed. Bit n stands for hook n of enum massif_hook. The
 * REPLACE bit means that MASSIF_HOOK_REMOVE has fired for an mmap with MAP_FIXED.
 */
static unsigned long seen;

/* Hooks that a test process cannot trigger on every kernel or under every resource limit. */
#define SPECIAL	BIT(MASSIF_HOOK_SPECIAL)
#define STACK	BIT(MASSIF_HOOK_STACK)
#define ALL	(BIT(MASSIF_HOOK_COUNT) - 1)

/**
 * massif_hooktest_reset() - forget which hooks have fired. Called whenever the hooks are armed.
 */
void massif_hooktest_reset(void)
{
	WRITE_ONCE(seen, 0);
}

/**
 * massif_hooktest_saw() - note that a hook has fired for the target of a test.
 * Context: hook; takes no lock.
 */
void massif_hooktest_saw(const struct massif_target *target, enum massif_hook hook)
{
	bool replaced = hook == MASSIF_HOOK_REMOVE && !atomic_read(&target->unmapping);

	set_bit(replaced ? REPLACE : hook, &seen);
}

/**
 * massif_hooktest_seen() - check whether a hook has fired in a test since all hooks were last armed.
 */
bool massif_hooktest_seen(enum massif_hook hook)
{
	return READ_ONCE(seen) & BIT(hook);
}

/*
 * Returns 0 if all hooks in the bit mask @hooks have fired. Otherwise returns -ENODEV and sets *@dead to the name of
 * the first one that has not.
 */
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

/* Makes current's address space the session's test target, and keeps a reference to it. */
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

/**
 * massif_hooktest_close() - end the session's hook test, if there is one.
 * Context: setup_lock is held, or the session is being closed; may sleep.
 */
void massif_hooktest_close(struct massif_session *session)
{
	struct massif_target *target = session->test;

	if (!target)
		return;
	/* The address space may already be gone, but massif_fault_test() does not dereference the pointer to it. */
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

/**
 * massif_hooktest_join() - make current's address space the target of a hook test for the rest of the address space's
 * life.
 * Context: process context; may sleep.
 * Return: 0; -EBUSY if the address space is already a target, or if the session has a test that has not ended; -ENOMEM;
 *	-EINTR after a fatal signal.
 */
int massif_hooktest_join(struct massif_session *session)
{
	int err = -EBUSY;

	if (mutex_lock_killable(&session->setup_lock))
		return -EINTR;
	close_ended(session);
	if (!session->test)
		err = begin(session);
	mutex_unlock(&session->setup_lock);
	return err;
}

/**
 * massif_hooktest_tell() - check that each hook that the session needs has fired in some test since it was
 * armed.
 * @special: the hook on the mapping of a vdso (MASSIF_HOOK_SPECIAL) must have fired, too.
 * @stack: the hook on the growth of stacks (MASSIF_HOOK_STACK) must have fired, too.
 * @dead: on -ENODEV, set to the name of the first hook that has not fired.
 * Context: process context; may sleep.
 * Return: 0; -ENODEV; -EINTR after a fatal signal.
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
	if (mutex_lock_killable(&session->setup_lock))
		return -EINTR;
	close_ended(session);
	mutex_unlock(&session->setup_lock);
	return err;
}
