/* SPDX-License-Identifier: GPL-2.0 */
/* Sets a profile right where the kernel lists what is really mapped. */
#ifndef MASSIF_PAGES_RESYNC_H
#define MASSIF_PAGES_RESYNC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pages/accounting.h"

/* What is mapped, as a resync tells it. */
struct mf_resync_vma {
	uint64_t start, end, offset;
	uint32_t file; /* that is mapped; for the unwinder */
	uint32_t name; /* as a number of struct mf_files; for words */
};

enum mf_resync_reason {
	MF_RESYNC_EXEC,	  /* what the kernel mapped to start a program */
	MF_RESYNC_FORK,	  /* what the child has of its parent's */
	MF_RESYNC_LOST,	  /* what had not been told */
	MF_RESYNC_ATTACH, /* what the program had mapped before */
};

/* The truth about start..end: exactly vmas[], in the order of their addresses, are mapped. */
struct mf_resync {
	enum mf_resync_reason reason;
	bool last; /* of the parts of an address space */
	uint64_t start, end;
	size_t n_vmas;
	struct mf_resync_vma vmas[];
};

/*
 * Unmaps what is not listed; what is listed and was mapped keeps its context; what is listed and
 * was not gets one of words, or, after a fork, what the parent had there. Returns as
 * mf_accounting_map.
 */
int mf_resync_apply(struct mf_accounting *accounting, const struct mf_resync *resync,
		    uint64_t time_ns);

#endif
