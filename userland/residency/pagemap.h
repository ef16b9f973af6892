/* SPDX-License-Identifier: GPL-2.0 */
/* Reads from /proc/PID/pagemap which pages of a process are resident. No privilege is needed for one's own processes. */
#ifndef MASSIF_RESIDENCY_PAGEMAP_H
#define MASSIF_RESIDENCY_PAGEMAP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Bits of the state of a page. A page without any has never been touched, or has been given back. */
#define MF_PAGE_PRESENT	  (1u << 0) /* in memory; before Linux 6.7 also the kernel's page of zeros, which is not resident */
#define MF_PAGE_SWAPPED	  (1u << 1) /* swapped out */
#define MF_PAGE_EXCLUSIVE (1u << 2) /* mapped by this process only; never set for the page of zeros */
#define MF_PAGE_HUGE	  (1u << 3) /* part of a huge page; not known before Linux 6.7 */
#define MF_PAGE_OWN	  (1u << 4) /* massif's own memory; not set by this file */
#define MF_PAGE_ZEROS	  (1u << 5) /* has nothing but zeros; not set by this file */

struct mf_pagemap {
	int fd;
	uint64_t page;	  /* size of a page in bytes */
	bool cannot_scan; /* the kernel cannot list ranges of pages (before Linux 6.7) */
};

/* Opens the list of pages of process @pid. Returns 0 or -errno. */
int mf_pagemap_open(struct mf_pagemap *pagemap, pid_t pid);

/*
 * Reads the states of the pages from @start to @end, which are addresses of pages, to @states, which are 0. If
 * @wants_exclusive, also finds out which pages are exclusive, which takes longer. The process may be running. Returns 0 or
 * -errno; -ESRCH if its memory is gone.
 */
int mf_pagemap_read(struct mf_pagemap *pagemap, uint64_t start, uint64_t end, bool wants_exclusive, uint8_t *states);

/*
 * Returns whether the process still has its memory. If it has, what was read from its /proc files before is complete: a file
 * that is read while the process ends seems to end early, without an error.
 */
bool mf_pagemap_is_alive(const struct mf_pagemap *pagemap);

void mf_pagemap_close(struct mf_pagemap *pagemap);

#endif
