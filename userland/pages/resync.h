/* SPDX-License-Identifier: GPL-2.0 */
/* Corrects a profile using the kernel's list of existing mappings (a resync). */
#ifndef MASSIF_PAGES_RESYNC_H
#define MASSIF_PAGES_RESYNC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pages/accounting.h"

/* One mapping of the list. */
struct mf_resync_vma {
	uint64_t start, end, offset;
	uint32_t file; /* the mapped file, for the unwinder */
	uint32_t name; /* its name, as a file number (files.h); shown if the stack is unknown */
};

enum mf_resync_reason {
	MF_RESYNC_EXEC,	  /* the list shows what the kernel mapped to start a program */
	MF_RESYNC_FORK,	  /* the list shows what a forked child got from its parent */
	MF_RESYNC_LOST,	  /* the list shows everything, because records were lost */
	MF_RESYNC_ATTACH, /* the list shows what the program had mapped before the attach */
};

/* A part of the list. vmas[], ordered by address, are exactly the mappings that exist between start and end. */
struct mf_resync {
	enum mf_resync_reason reason;
	bool last; /* this is the last part of the address space's list */
	uint64_t start, end;
	size_t n_vmas;
	struct mf_resync_vma vmas[];
};

/*
 * Unmaps what is not listed. A listed mapping that is already in the profile keeps its context. A new one gets a
 * context that consists of words (accounting.h) or, after a fork, the parent's context. Returns 0, -EINVAL or -ENOMEM.
 */
int mf_resync_apply(struct mf_accounting *accounting, const struct mf_resync *resync,
		    uint64_t time_ns);

#endif
