// SPDX-License-Identifier: GPL-2.0
// Do the armed hooks fire? Tried on a scratch mapping in the address space of who arms them.
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

#include "compat/hookpoint.h"
#include "hooktest.h"
#include "session.h"
#include "target.h"

/*
 * The hooks tried are those on functions with a caller in their own source file, which the compiler
 * may have copied into it. The others (GROW, COPY, SPECIAL, exit) are only reached through calls
 * between files; and whatever escaped a hook would show in total_vm, which each record checks.
 *
 * A scratch mapping without access rights, because a stack next to it may then grow without a gap:
 *
 *	base        HEAP     STACK - 1 page   STACK
 *	|-----------[brk]----[hole]-----------[grows down]------|
 */
#define PAGES(n)	((unsigned long)(n) << PAGE_SHIFT)
#define SCRATCH		PAGES(16)
#define HEAP		PAGES(4)
#define STACK		PAGES(12)

static const enum massif_hook tried[] = {
	MASSIF_HOOK_MMAP, MASSIF_HOOK_UNMAP, MASSIF_HOOK_BRK, MASSIF_HOOK_STACK,
};

static int exercise(void)
{
	const unsigned long anon = MAP_PRIVATE | MAP_ANONYMOUS;
	unsigned long base, at;
	int err;

	base = vm_mmap(NULL, 0, SCRATCH, PROT_NONE, anon | MAP_NORESERVE, 0);
	if (IS_ERR_VALUE(base))
		return base;

	/* Replaces a page of ours, so that no other thread of the opener can be hurt. */
	err = vm_brk_flags(base + HEAP, PAGES(1), 0);
	if (err)
		goto out;
	at = vm_mmap(NULL, base + STACK, PAGES(1), PROT_READ | PROT_WRITE,
		     anon | MAP_FIXED | MAP_GROWSDOWN, 0);
	if (IS_ERR_VALUE(at)) {
		err = at;
		goto out;
	}
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
	return err;
}

/* -ENODEV and the name of the first hook that should have fired and did not. May sleep. */
int massif_hooktest_run(const char **dead)
{
	struct massif_target *target = massif_target_create(current->mm, GFP_KERNEL);
	unsigned long irq, seen;
	size_t i;
	int err;

	if (!target)
		return -ENOMEM;
	target->test = true;
	raw_spin_lock_irqsave(&massif_table_lock, irq);
	err = massif_target_insert(target, NULL);
	raw_spin_unlock_irqrestore(&massif_table_lock, irq);
	if (err) {
		massif_target_free(target);
		return err;
	}

	err = exercise();
	seen = READ_ONCE(target->seen);
	massif_target_remove(target);
	if (err)
		return err;

	for (i = 0; i < ARRAY_SIZE(tried); i++) {
		if (!(seen & BIT(tried[i]))) {
			*dead = massif_hookpoints[tried[i]].symbol;
			return -ENODEV;
		}
	}
	return 0;
}
