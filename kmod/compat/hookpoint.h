/* SPDX-License-Identifier: GPL-2.0 */
/* Which kernel function each hook sits on, and what its arguments mean. */
#ifndef MASSIF_COMPAT_HOOKPOINT_H
#define MASSIF_COMPAT_HOOKPOINT_H

#include "mapping.h"

/*
 * Where a call says which address space it is about: for the question that must be cheap. AT: the
 * argument points at the pointer. detour.c has a case for each.
 */
enum massif_mm_place {
	MASSIF_MM_CURRENT,
	MASSIF_MM_ARG0,
	MASSIF_MM_ARG2,
	MASSIF_MM_VMA0,
	MASSIF_MM_VMA1,
	MASSIF_MM_VMA0_AT,
};

struct massif_hookpoint {
	const char *symbol;
	enum massif_mm_place mm;
	/* arg: the first six, each as a word. */
	void (*decode)(const unsigned long *arg, struct massif_change *change);
};

extern const struct massif_hookpoint massif_hookpoints[MASSIF_HOOK_COUNT];

/* What handles faults, on all: (vma, addr, flags, regs); regs is NULL if nobody has touched a page. */
#define MASSIF_FAULT_SYMBOL	"handle_mm_fault"

/* What brings in a whole range; only the first is everywhere. */
#define MASSIF_POPULATE_COUNT	3
extern const struct massif_hookpoint massif_populatepoints[MASSIF_POPULATE_COUNT];

#endif
