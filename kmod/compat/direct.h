/* SPDX-License-Identifier: GPL-2.0 */
/* Direct calls: kernel functions whose first instruction calls a function of this module. */
#ifndef MASSIF_COMPAT_DIRECT_H
#define MASSIF_COMPAT_DIRECT_H

#include <linux/ftrace.h>
#include <linux/types.h>

/* Another architecture needs its own version of detour_64.S. */
#if defined(CONFIG_X86_64) && defined(CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS)
#define MASSIF_HAVE_DIRECT
#endif

/* A set of kernel functions that all call the same function of this module. They are armed and disarmed together. */
struct massif_direct {
	bool stuck;			/* disarming has failed: kernel functions may still call into the module */
#ifdef CONFIG_FUNCTION_TRACER
	struct ftrace_ops ops;		/* not used on kernels where a direct call needs no ftrace_ops */
#endif
};

int massif_direct_arm(struct massif_direct *direct, const unsigned long *sites, unsigned int count,
		      unsigned long addr);
void massif_direct_disarm(struct massif_direct *direct, const unsigned long *sites,
			  unsigned int count, unsigned long addr);

#endif
