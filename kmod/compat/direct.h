/* SPDX-License-Identifier: GPL-2.0 */
/* Direct calls: kernel functions whose first instruction calls a function of this module. */
#ifndef MASSIF_COMPAT_DIRECT_H
#define MASSIF_COMPAT_DIRECT_H

#include <linux/ftrace.h>
#include <linux/types.h>
#include <linux/workqueue.h>

/* Another architecture needs its own version of detour_64.S. */
#if defined(CONFIG_X86_64) && defined(CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS)
#define MASSIF_HAVE_DIRECT
#endif

/* A set of kernel functions that all call the same function of this module. They are armed and disarmed together. */
struct massif_direct {
	/* The functions' ftrace addresses, and the function that they call. Set when they are armed. */
	const unsigned long *sites;
	unsigned int count;
	unsigned long addr;
	/* Called when the functions were disarmed and no thread is executing addr any more; may be NULL. */
	void (*done)(void);

	/* The next three are protected by a lock in direct.c. */
	bool armed;			/* the functions call addr */
	bool wanted;			/* they should: massif_direct_disarm() has not been called since they were armed */
	/* Work that disarms them was begun and has not ended; until then, it holds a reference to the module. */
	bool leaving;
	unsigned long since;		/* jiffies when leaving was set */
	unsigned long asked;		/* jiffies when the grace period that rcu waits for was asked for */
	struct rcu_head rcu;
	struct work_struct work;

	bool stuck;			/* disarming has failed: kernel functions may still call into the module */
#ifdef CONFIG_FUNCTION_TRACER
	struct ftrace_ops ops;		/* not used on kernels where a direct call needs no ftrace_ops */
#endif
};

void massif_direct_leave(struct work_struct *work);

/* Defines a set of functions, which are not armed. */
#define MASSIF_DIRECT(name, when_done)							\
	struct massif_direct name = {							\
		.work = __WORK_INITIALIZER((name).work, massif_direct_leave),		\
		.done = (when_done),							\
	}

int massif_direct_resume(struct massif_direct *direct);
int massif_direct_arm(struct massif_direct *direct, const unsigned long *sites, unsigned int count,
		      unsigned long addr);
void massif_direct_disarm(struct massif_direct *direct);
void massif_direct_exit(struct massif_direct *direct);

#endif
