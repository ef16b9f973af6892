/* SPDX-License-Identifier: GPL-2.0 */
/* Reads from /proc/PID/pagemap which pages of a process are resident. No privilege is needed for one's own processes. */
#ifndef MASSIF_RESIDENCY_PAGEMAP_H
#define MASSIF_RESIDENCY_PAGEMAP_H

#include <stdint.h>
#include <sys/types.h>

/* Bits of the state of a page. A page without any has never been touched, or has been given back. */
#define MF_PAGE_PRESENT	  (1u << 0) /* in memory, or the kernel's page of zeros, which is not counted as resident */
#define MF_PAGE_SWAPPED	  (1u << 1) /* swapped out */
#define MF_PAGE_OF_FILE	  (1u << 2) /* belongs to a file or to shared memory */
#define MF_PAGE_EXCLUSIVE (1u << 3) /* mapped by this process only; never set for the page of zeros */

struct mf_pagemap {
	int fd;
	uint64_t page; /* size of a page in bytes */
};

/* Opens the list of pages of process @pid. Returns 0 or -errno. */
int mf_pagemap_open(struct mf_pagemap *pagemap, pid_t pid);

/*
 * Reads the states of the pages from @start to @end, which are addresses of pages, to @states. The process may be running.
 * Returns 0 or -errno; -ESRCH if its memory is gone.
 */
int mf_pagemap_read(const struct mf_pagemap *pagemap, uint64_t start, uint64_t end, uint8_t *states);

void mf_pagemap_close(struct mf_pagemap *pagemap);

#endif
