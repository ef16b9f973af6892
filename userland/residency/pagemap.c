// SPDX-License-Identifier: GPL-2.0
// Reads from /proc/PID/pagemap which pages of a process are resident.

#include "residency/pagemap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* Number of entries that are read at once. */
#define ENTRIES 4096u

/* Bits of an entry; see the kernel's Documentation/admin-guide/mm/pagemap.rst. */
#define ENTRY_EXCLUSIVE (1ull << 56)
#define ENTRY_OF_FILE	(1ull << 61)
#define ENTRY_SWAPPED	(1ull << 62)
#define ENTRY_PRESENT	(1ull << 63)

int mf_pagemap_open(struct mf_pagemap *pagemap, pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
	pagemap->page = (uint64_t)sysconf(_SC_PAGESIZE);
	pagemap->fd = open(path, O_RDONLY | O_CLOEXEC);
	return pagemap->fd < 0 ? -errno : 0;
}

static uint8_t state_of(uint64_t entry)
{
	return (uint8_t)((entry & ENTRY_PRESENT ? MF_PAGE_PRESENT : 0) | (entry & ENTRY_SWAPPED ? MF_PAGE_SWAPPED : 0) |
			 (entry & ENTRY_OF_FILE ? MF_PAGE_OF_FILE : 0) |
			 (entry & ENTRY_EXCLUSIVE ? MF_PAGE_EXCLUSIVE : 0));
}

int mf_pagemap_read(const struct mf_pagemap *pagemap, uint64_t start, uint64_t end, uint8_t *states)
{
	uint64_t entries[ENTRIES];
	uint64_t first = start / pagemap->page, left = (end - start) / pagemap->page;

	while (left) {
		uint64_t wanted = left < ENTRIES ? left : ENTRIES;
		ssize_t n = pread(pagemap->fd, entries, wanted * sizeof(*entries), (off_t)(first * sizeof(*entries)));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < (ssize_t)sizeof(*entries))
			return n < 0 ? -errno : -ESRCH;
		n /= (ssize_t)sizeof(*entries);
		for (ssize_t i = 0; i < n; i++)
			*states++ = state_of(entries[i]);
		first += (uint64_t)n;
		left -= (uint64_t)n;
	}
	return 0;
}

void mf_pagemap_close(struct mf_pagemap *pagemap)
{
	if (pagemap->fd >= 0)
		close(pagemap->fd);
	pagemap->fd = -1;
}
