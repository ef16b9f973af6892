/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel function of each hook, and how to decode the arguments of that function. */
#ifndef MASSIF_COMPAT_HOOKPOINT_H
#define MASSIF_COMPAT_HOOKPOINT_H

#include "mapping.h"

struct massif_hookpoint {
	const char *symbol;
	/* Fills in @change from @arg, an array of the hooked function's first six arguments, each as a word. */
	void (*decode)(const unsigned long *arg, struct massif_change *change);
	/* The prototype that decode expects, in the format of struct massif_btf_row. */
	const char *prototype;
};

extern const struct massif_hookpoint massif_hookpoints[MASSIF_HOOK_COUNT];

/*
 * The kernel's page fault handler, which has the same name in all kernels. It is called with (vma, addr, flags, regs);
 * regs is NULL if the kernel populates pages that no thread has touched.
 */
#define MASSIF_FAULT_SYMBOL	"handle_mm_fault"

/* Functions that populate a whole range with pages. Only the first exists in all kernels. */
#define MASSIF_POPULATE_COUNT	3
extern const struct massif_hookpoint massif_populatepoints[MASSIF_POPULATE_COUNT];

#endif
