// SPDX-License-Identifier: GPL-2.0
// Do the armed hooks fire? Tried on a scratch mapping in the address space of who arms them.
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

#include "compat/hookpoint.h"
#include "compat/mm.h"
#include "hooktest.h"
#include "session.h"
#include "target.h"

/*
 * Arming says whether a function can be hooked; but it may have been inlined where it matters. So
 * each hook is made to fire for a target of nobody's, with test set, of which only that is noted.
 * The module itself does what it can in the address space of who opens the first session; the rest
 * takes a program, which massif-ctl has (userland/pages/hooktest.c): MASSIF_IOC_TEST.
 *
 * The module's part: a scratch mapping without access rights, because a stack next to it may then
 * grow without a gap:
 *
 *	base        HEAP     STACK - 1 page   STACK
 *	|-----------[brk]----[hole]-----------[grows down]------|
 */
#define PAGES(n)	((unsigned long)(n) << PAGE_SHIFT)
#define SCRATCH		PAGES(16)
#define HEAP		PAGES(4)
#define STACK		PAGES(12)

/* Bits by enum massif_hook: which have fired for a test since they were armed. */
static unsigned long seen;

/* What the module tries, and what only a program can. */
#define OWN	(BIT(MASSIF_HOOK_MMAP) | BIT(MASSIF_HOOK_UNMAP) | BIT(MASSIF_HOOK_REMOVE) | \
		 BIT(MASSIF_HOOK_STACK))
#define SPECIAL	BIT(MASSIF_HOOK_SPECIAL)
#define ALL	(BIT(MASSIF_HOOK_COUNT) - 1)

/* In a hook. */
void massif_hooktest_saw(enum massif_hook hook)
{
	set_bit(hook, &seen);
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
	return 0;
}

/* Of current's address space, entered into the table, with a reference for the caller. */
static int begin(struct massif_target **made)
{
	struct massif_target *target = massif_target_create(current->mm, GFP_KERNEL_ACCOUNT);
	unsigned long irq;
	int err;

	if (!target)
		return -ENOMEM;
	target->test = true;
	raw_spin_lock_irqsave(&massif_table_lock, irq);
	err = massif_target_insert(target, NULL);
	if (!err)
		*made = massif_target_get(target);
	raw_spin_unlock_irqrestore(&massif_table_lock, irq);
	if (err)
		massif_target_free(target);
	return err;
}

static void end(struct massif_target *target)
{
	massif_target_remove(target);
	massif_target_put(target);
}

static int exercise(unsigned long *tried)
{
	const unsigned long anon = MAP_PRIVATE | MAP_ANONYMOUS;
	unsigned long base, at;
	bool replaced = false;
	int err;

	base = vm_mmap(NULL, 0, SCRATCH, PROT_NONE, anon | MAP_NORESERVE, 0);
	if (IS_ERR_VALUE(base))
		return base;

	/* Replaces a page of ours, so that no other thread of the opener can be hurt. */
	err = massif_mm_brk(base + HEAP, PAGES(1));
	if (!err)
		*tried |= BIT(MASSIF_HOOK_BRK);
	else if (err != -EOPNOTSUPP)
		goto out;
	clear_bit(MASSIF_HOOK_REMOVE, &seen);
	at = vm_mmap(NULL, base + STACK, PAGES(1), PROT_READ | PROT_WRITE,
		     anon | MAP_FIXED | MAP_GROWSDOWN, 0);
	if (IS_ERR_VALUE(at)) {
		err = at;
		goto out;
	}
	replaced = test_bit(MASSIF_HOOK_REMOVE, &seen);
	err = vm_munmap(base + STACK - PAGES(1), PAGES(1));
	if (err)
		goto out;
	/*
	 * The fault of this access makes the stack grow. If it does not, then that hook stays
	 * unseen.
	 */
	err = put_user(0, (char __user *)(base + STACK - sizeof(long)));
	if (err)
		err = 0;
out:
	vm_munmap(base, SCRATCH);
	/* It has two callers, either of which could have a copy. */
	if (!replaced)
		clear_bit(MASSIF_HOOK_REMOVE, &seen);
	return err;
}

/*
 * The hooks have just been armed: do they fire, as far as the module can try? -ENODEV and the name
 * of one that does not. May sleep.
 */
int massif_hooktest_run(const char **dead)
{
	unsigned long tried = OWN;
	struct massif_target *target;
	int err;

	WRITE_ONCE(seen, 0);
	err = begin(&target);
	if (err)
		return err;
	err = exercise(&tried);
	end(target);
	return err ?: missing(tried, dead);
}

/*
 * Makes current's address space a target for a test, until it ends: it is to do what fires the
 * hooks. -EBUSY if it is a target already, or the session has such a one that has not ended.
 */
int massif_hooktest_join(struct massif_session *session)
{
	int err = -EBUSY;

	mutex_lock(&session->setup_lock);
	if (session->test && !READ_ONCE(session->test->alive))
		massif_hooktest_close(session);
	if (!session->test)
		err = begin(&session->test);
	mutex_unlock(&session->setup_lock);
	return err;
}

/*
 * Has each hook fired since they were armed, of this session or another? -ENODEV and the name of the
 * first that has not. special: also that which not every kernel lets a program fire.
 */
int massif_hooktest_tell(bool special, const char **dead)
{
	return missing(special ? ALL : ALL & ~SPECIAL, dead);
}

/* With setup_lock, or nobody else has the session. */
void massif_hooktest_close(struct massif_session *session)
{
	if (session->test)
		end(session->test);
	session->test = NULL;
}
