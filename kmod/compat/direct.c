// SPDX-License-Identifier: GPL-2.0
// Makes ftrace direct calls, using whichever of the three interfaces the kernel has for them.
#include <linux/errno.h>
#include <linux/ftrace.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/version.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>

#include "compat/direct.h"
#include "compat/entries.h"
#include "mapping.h"
#include "quiescent.h"

/*
 * Called when direct calls could not be unregistered, so that kernel functions may still call this module. From then
 * on, the module can never be unloaded, and the set of functions can never be armed again.
 */
static __maybe_unused void keep(struct massif_direct *direct)
{
	pr_err("cannot disarm hooks of the kernel; the module stays loaded\n");
	direct->stuck = true;
	__module_get(THIS_MODULE);
}

#if !defined(MASSIF_HAVE_DIRECT)

static int add(struct massif_direct *direct, const unsigned long *sites, unsigned int count,
	       unsigned long addr)
{
	return -EOPNOTSUPP;
}

static int drop(struct massif_direct *direct, const unsigned long *sites, unsigned int count,
		unsigned long addr)
{
	return 0;
}

#elif defined(MASSIF_HAVE_ftrace_direct_ops) || defined(MASSIF_HAVE_ftrace_direct_multi)

#ifdef MASSIF_HAVE_ftrace_direct_ops
#define register_direct(ops, addr)	register_ftrace_direct(ops, addr)
#define unregister_direct(ops, addr)	unregister_ftrace_direct(ops, addr, false)
#else
#define register_direct(ops, addr)	register_ftrace_direct_multi(ops, addr)
#define unregister_direct(ops, addr)	unregister_ftrace_direct_multi(ops, addr)
#endif

static int add(struct massif_direct *direct, const unsigned long *sites, unsigned int count,
	       unsigned long addr)
{
	struct ftrace_ops *ops = &direct->ops;
	unsigned int i;
	int err = 0;

	/* Clear the state that an earlier registration left in the ftrace_ops. */
	memset(ops, 0, sizeof(*ops));
	for (i = 0; i < count && !err; i++)
		err = ftrace_set_filter_ip(ops, sites[i], 0, 0);
	if (!err)
		err = register_direct(ops, addr);
	if (err) {
		ftrace_free_filter(ops);
		return err;
	}
	/*
	 * Prevents ftrace from being turned off (through the sysctl kernel.ftrace_enabled) while the direct calls are
	 * in use.
	 */
	ops->flags |= FTRACE_OPS_FL_PERMANENT;
	return 0;
}

static int drop(struct massif_direct *direct, const unsigned long *sites, unsigned int count,
		unsigned long addr)
{
	int err = unregister_direct(&direct->ops, addr);

	if (!err)
		ftrace_free_filter(&direct->ops);
	return err;
}

#else

#define DECLARE(n)	asmlinkage void massif_detour_entry_##n(void);
#define ADDRESS(n)	(unsigned long)massif_detour_entry_##n,
MASSIF_EACH_ENTRY(DECLARE)
static const unsigned long entries[] = { MASSIF_EACH_ENTRY(ADDRESS) };

/*
 * On kernels where one ftrace_ops cannot have direct calls from several functions, ftrace keeps an entry for each site
 * (hooked function) that has a direct call. When the last of several sites with the same destination is unregistered,
 * ftrace frees only that site's entry and leaks the others. So each site calls its own function in detour_64.S, which
 * jumps to addr.
 */
static unsigned long entry_of(unsigned int site, unsigned int count, unsigned long addr)
{
	return count > 1 ? entries[site] : addr;
}

/* Returns 0, or the last error; the other sites are unregistered nevertheless. */
static int drop_some(const unsigned long *sites, unsigned int some, unsigned int count,
		     unsigned long addr)
{
	int err, last = 0;

	while (some--) {
		err = unregister_ftrace_direct(sites[some], entry_of(some, count, addr));
		if (err)
			last = err;
	}
	return last;
}

static int drop(struct massif_direct *direct, const unsigned long *sites, unsigned int count,
		unsigned long addr)
{
	return drop_some(sites, count, count, addr);
}

static int add(struct massif_direct *direct, const unsigned long *sites, unsigned int count,
	       unsigned long addr)
{
	unsigned int i;
	int err;

	BUILD_BUG_ON(ARRAY_SIZE(entries) < MASSIF_HOOK_COUNT);
	for (i = 0; i < count; i++) {
		err = register_ftrace_direct(sites[i], entry_of(i, count, addr));
		if (err) {
			if (!drop_some(sites, i, count, addr))
				return err;
			keep(direct);
			return -EIO;
		}
	}
	return 0;
}

#endif

/*
 * Disarming waits until no thread is in the code that calls the function: ftrace does so while it holds its own locks, and
 * so does the module, which must not be unloaded before. A thread that sleeps elsewhere or returns to user mode is not in
 * that code, but one that does neither is waited for, and a program can have such a thread: with io_uring, for example, a
 * thread of the kernel that looks for new requests in a loop (IORING_SETUP_SQPOLL). All sessions would wait for it, in
 * close() and in SETUP.
 *
 * Therefore such threads of io_uring are made to report (quiescent.c). There may be others, so ftrace is only asked to disarm
 * the functions when a grace period has shown that there is no such thread at present. Until then they stay armed, and are
 * used again if there is another session. As no address space is a target then, a call costs about ten instructions.
 */

/* How long massif_direct_disarm() waits. It usually takes some tenths of a second, and about a second on 5.10. */
#define PATIENCE	(5 * HZ)

/*
 * Held while functions are armed and disarmed. A program that has no such thread during the grace period may have one
 * afterwards, so the wait for this mutex is killable.
 */
static DEFINE_MUTEX(change_lock);

/* Protects the fields armed, wanted and leaving of every set. */
static DEFINE_SPINLOCK(state_lock);

/* Since Linux 6.10, ftrace does not wait when direct calls are registered. No header shows that. */
#if !defined(MASSIF_HAVE_DIRECT) || LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)

static int ask(void)
{
	return 0;
}

#else

static struct rcu_head question;
static bool asking;
static unsigned long asked;	/* jiffies when asking was set */

static void answered(struct rcu_head *rcu)
{
	/* The store comes before wake_up_var() looks whether anybody waits. */
	smp_store_mb(asking, false);
	wake_up_var(&asking);
	/* The module is not unloaded before massif_detour_exit() has waited for a later grace period. */
	module_put(THIS_MODULE);
}

/*
 * These kernels also wait for a grace period, with their locks held, when functions are armed. So ask first whether it would
 * end. Returns 0, or -EBUSY if a grace period takes longer than PATIENCE. A thread that begins after this, and does not
 * sleep, is waited for nevertheless.
 */
static int ask(void)
{
	const unsigned long start = jiffies;
	unsigned long rest;

	lockdep_assert_held(&change_lock);
	/* An answer to an earlier question says nothing about threads that have begun since. */
	do {
		if (!READ_ONCE(asking)) {
			WRITE_ONCE(asking, true);
			asked = jiffies;
			/* __module_get() is safe: the open file of the session holds a reference to the module. */
			__module_get(THIS_MODULE);
			call_rcu_tasks(&question, answered);
		}
		rest = jiffies - start;
		if (rest >= PATIENCE || !wait_var_event_timeout(&asking, !READ_ONCE(asking), PATIENCE - rest))
			return -EBUSY;
	} while (time_before(asked, start));
	return 0;
}

#endif

/* Called with state_lock held. */
static bool is_left(const struct massif_direct *direct)
{
	return direct->armed && !direct->wanted;
}

/* Disarms the functions unless they are wanted again. Returns false if there is nothing to disarm. */
static bool disarm_left(struct massif_direct *direct)
{
	bool left;

	mutex_lock(&change_lock);
	spin_lock(&state_lock);
	left = is_left(direct);
	spin_unlock(&state_lock);
	if (left) {
		if (drop(direct, direct->sites, direct->count, direct->addr))
			keep(direct);
		spin_lock(&state_lock);
		direct->armed = false;
		spin_unlock(&state_lock);
	}
	mutex_unlock(&change_lock);
	return left;
}

static void ask_for_passed(struct massif_direct *direct);

/*
 * RCU callback: no thread that was executing the functions' first instructions when the grace period began does so any more.
 *
 * The grace period has waited only for threads that existed when it began. If it was long, another thread that never sleeps
 * may have begun meanwhile, for which ftrace would wait. So only a short one tells that there is no such thread at present.
 */
static void passed(struct rcu_head *rcu)
{
	struct massif_direct *direct = container_of(rcu, struct massif_direct, rcu);

	if (time_after(jiffies, direct->asked + PATIENCE))
		ask_for_passed(direct);
	else
		queue_work(system_long_wq, &direct->work);
}

/* Has the work run after a short grace period. */
static void ask_for_passed(struct massif_direct *direct)
{
	direct->asked = jiffies;
	call_rcu_tasks(&direct->rcu, passed);
}

/**
 * massif_direct_leave() - disarm functions that are no longer wanted. The work of struct massif_direct.
 * Context: process context; sleeps, possibly for as long as a program likes.
 */
void massif_direct_leave(struct work_struct *work)
{
	struct massif_direct *direct = container_of(work, struct massif_direct, work);
	bool again;

	if (disarm_left(direct)) {
		synchronize_rcu_tasks();
		if (direct->done)
			direct->done();
	}
	spin_lock(&state_lock);
	again = is_left(direct);
	if (!again) {
		massif_quiescent_end();
		/* The module is not unloaded before massif_direct_exit() has waited for the end of this function. */
		module_put(THIS_MODULE);
		WRITE_ONCE(direct->leaving, false);
	}
	spin_unlock(&state_lock);
	if (again) {
		/* Another session has begun and ended meanwhile. */
		ask_for_passed(direct);
		return;
	}
	/* The store to leaving comes before wake_up_var() looks whether anybody waits. */
	smp_mb();
	wake_up_var(&direct->leaving);
}

/**
 * massif_direct_resume() - use the functions again if they are still armed.
 * Context: process context; sleeps.
 * Return: 1 if they are armed; 0 if not, and the caller calls massif_direct_arm(); -EINTR after a fatal signal.
 */
int massif_direct_resume(struct massif_direct *direct)
{
	bool armed;

	if (mutex_lock_killable(&change_lock))
		return -EINTR;
	spin_lock(&state_lock);
	armed = direct->armed;
	if (armed)
		direct->wanted = true;
	spin_unlock(&state_lock);
	mutex_unlock(&change_lock);
	return armed;
}

/**
 * massif_direct_arm() - make every function in the set call @addr first; on error, none of them does.
 * @direct: the set of functions, for which massif_direct_resume() has returned 0.
 * @sites: their ftrace addresses, which the caller keeps until the functions are armed again.
 * @count: number of sites.
 * @addr: the function to call.
 * Context: process context; sleeps.
 * Return: 0; an error from ftrace; -EIO if disarming the functions has failed before: they may still call @addr; -EINTR
 *	after a fatal signal; -EBUSY if ftrace would wait for a thread that never sleeps.
 */
int massif_direct_arm(struct massif_direct *direct, const unsigned long *sites, unsigned int count,
		      unsigned long addr)
{
	int err;

	if (mutex_lock_killable(&change_lock))
		return -EINTR;
	massif_quiescent_begin();
	err = direct->stuck ? -EIO : ask();
	if (!err)
		err = add(direct, sites, count, addr);
	massif_quiescent_end();
	if (!err) {
		direct->sites = sites;
		direct->count = count;
		direct->addr = addr;
		spin_lock(&state_lock);
		direct->armed = true;
		direct->wanted = true;
		spin_unlock(&state_lock);
	}
	mutex_unlock(&change_lock);
	return err;
}

/**
 * massif_direct_disarm() - undo massif_direct_resume() or massif_direct_arm().
 *
 * When it returns, usually no function calls the module any more, and no thread is executing the function that was called.
 * If that takes longer than PATIENCE, it happens later, and the module cannot be unloaded before.
 *
 * Context: process context; sleeps for a few tenths of a second.
 */
void massif_direct_disarm(struct massif_direct *direct)
{
	long left;
	bool begins;

	spin_lock(&state_lock);
	direct->wanted = false;
	begins = !direct->leaving;
	if (begins) {
		WRITE_ONCE(direct->leaving, true);
		direct->since = jiffies;
	}
	left = direct->since + PATIENCE - jiffies;
	spin_unlock(&state_lock);
	if (begins) {
		/* __module_get() is safe: the open file of the session holds a reference to the module. */
		__module_get(THIS_MODULE);
		massif_quiescent_begin();
		ask_for_passed(direct);
	}
	if (left > 0)
		wait_var_event_timeout(&direct->leaving, !READ_ONCE(direct->leaving), left);
}

/**
 * massif_direct_exit() - wait for the end of the work that has disarmed the functions. Called when the module is unloaded.
 * Context: process context; sleeps.
 */
void massif_direct_exit(struct massif_direct *direct)
{
	flush_work(&direct->work);
}
