/* SPDX-License-Identifier: GPL-2.0 */
/* Which kernel function each hook sits on, and what its arguments mean. */
#ifndef MASSIF_COMPAT_HOOKPOINT_H
#define MASSIF_COMPAT_HOOKPOINT_H

#include "mapping.h"

struct massif_hookpoint {
	const char *symbol;
	/* arg: the first six, each as a word. */
	void (*decode)(const unsigned long *arg, struct massif_change *change);
	/* What decode takes it for, in the words of struct massif_btf_row. */
	const char *prototype;
};

extern const struct massif_hookpoint massif_hookpoints[MASSIF_HOOK_COUNT];

/* What handles faults, on all: (vma, addr, flags, regs); regs is NULL if nobody has touched a page. */
#define MASSIF_FAULT_SYMBOL	"handle_mm_fault"

/* What brings in a whole range; only the first is everywhere. */
#define MASSIF_POPULATE_COUNT	3
extern const struct massif_hookpoint massif_populatepoints[MASSIF_POPULATE_COUNT];

#endif
