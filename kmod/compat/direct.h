/* SPDX-License-Identifier: GPL-2.0 */
/* Direct calls: functions of the kernel whose first instruction calls one of ours. */
#ifndef MASSIF_COMPAT_DIRECT_H
#define MASSIF_COMPAT_DIRECT_H

#include <linux/ftrace.h>
#include <linux/types.h>

/* An architecture needs detour_64.S's functions in its own words. */
#if defined(CONFIG_X86_64) && defined(CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS)
#define MASSIF_HAVE_DIRECT
#endif

/* One set of functions that call the same of ours; they are armed and disarmed together. */
struct massif_direct {
#ifdef CONFIG_FUNCTION_TRACER
	struct ftrace_ops ops;		/* some kernels need none */
#endif
};

int massif_direct_arm(struct massif_direct *direct, const unsigned long *sites, unsigned int count,
		      unsigned long addr);
void massif_direct_disarm(struct massif_direct *direct, const unsigned long *sites,
			  unsigned int count, unsigned long addr);

#endif
