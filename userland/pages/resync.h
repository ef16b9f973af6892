/* SPDX-License-Identifier: GPL-2.0 */
/* Corrects a profile using the kernel's list of existing mappings (a resync). */
#ifndef MASSIF_PAGES_RESYNC_H
#define MASSIF_PAGES_RESYNC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pages/accounting.h"

/* One mapping in the kernel's list. */
struct mf_resync_vma {
	uint64_t start, end, offset;
	uint32_t file; /* number of the mapped file (files.h), for the unwinder */
	/* number of the file (files.h) whose path is the mapping's name, shown if the stack is unknown */
	uint32_t name;
};

enum mf_resync_reason {
	MF_RESYNC_EXEC,	  /* the kernel started a program: the list of mappings shows the program's first ones */
	MF_RESYNC_FORK,	  /* the process was created by a fork: the list of mappings shows the inherited ones */
	MF_RESYNC_LOST,	  /* records were lost: the list of mappings shows all that exist now */
	MF_RESYNC_ATTACH, /* massif-ctl attached: the list of mappings shows those that already existed */
};

/* A part of the kernel's list of mappings: all mappings between @start and @end, sorted by address. */
struct mf_resync {
	enum mf_resync_reason reason;
	bool last; /* this is the last part of the kernel's list of the mappings in the address space */
	uint64_t start, end;
	size_t n_vmas;
	struct mf_resync_vma vmas[];
};

/*
 * Unmaps everything that is not in the kernel's list. A listed mapping that is already in the profile keeps its
 * context. A new mapping gets a placeholder (accounting.h) as its context or, after a fork, the context that it has in
 * the parent. Returns 0, -EINVAL or -ENOMEM.
 */
int mf_resync_apply(struct mf_accounting *accounting, const struct mf_resync *resync,
		    uint64_t time_ns);

#endif
