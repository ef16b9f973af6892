// SPDX-License-Identifier: GPL-2.0
// Makes ftrace direct calls, using whichever of the three interfaces the kernel has for them.
#include <linux/errno.h>
#include <linux/ftrace.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/string.h>

#include "compat/direct.h"
#include "compat/entries.h"
#include "mapping.h"

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
			if (drop_some(sites, i, count, addr))
				keep(direct);
			return err;
		}
	}
	return 0;
}

#endif

/**
 * massif_direct_arm() - make every function in the set call @addr first; on error, none of them does.
 * @direct: the set of functions.
 * @sites: their ftrace addresses.
 * @count: number of sites.
 * @addr: the function to call.
 * Context: process context; sleeps.
 * Return: 0, an error from ftrace, or -EIO if disarming the functions has failed before: they may still call @addr.
 */
int massif_direct_arm(struct massif_direct *direct, const unsigned long *sites, unsigned int count,
		      unsigned long addr)
{
	return direct->stuck ? -EIO : add(direct, sites, count, addr);
}

/**
 * massif_direct_disarm() - undo massif_direct_arm(), with the same arguments.
 *
 * When it returns, no thread is executing @addr any more: each thread that was there has since slept elsewhere or run
 * in user mode.
 *
 * Context: process context; sleeps for a few tenths of a second.
 */
void massif_direct_disarm(struct massif_direct *direct, const unsigned long *sites,
			  unsigned int count, unsigned long addr)
{
	if (drop(direct, sites, count, addr))
		keep(direct);
	synchronize_rcu_tasks();
}
