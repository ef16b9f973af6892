// SPDX-License-Identifier: GPL-2.0
// Reads from /proc/PID/pagemap which pages of a process are resident.

#include "residency/pagemap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Number of entries that are read at once. */
#define ENTRIES 4096u

/* Bits of an entry; see the kernel's Documentation/admin-guide/mm/pagemap.rst. */
#define ENTRY_EXCLUSIVE (1ull << 56)
#define ENTRY_SWAPPED	(1ull << 62)
#define ENTRY_PRESENT	(1ull << 63)

/*
 * Lists ranges of pages with the same properties, without an entry for each page: the ioctl PAGEMAP_SCAN of Linux 6.7. The
 * structures are those of the kernel's <linux/fs.h>, which older systems do not have.
 */
struct region {
	uint64_t start, end, categories;
};

struct scan {
	uint64_t size, flags, start, end, walk_end, regions, n_regions, max_pages;
	uint64_t inverted, all_of, any_of, wanted;
};

#define SCAN	       _IOWR('f', 16, struct scan)
#define SCAN_PRESENT   (1ull << 3)
#define SCAN_SWAPPED   (1ull << 4)
#define SCAN_PAGE_OF_0 (1ull << 5)
#define SCAN_HUGE      (1ull << 6)
#define REGIONS	       512u /* that are read at once */

int mf_pagemap_open(struct mf_pagemap *pagemap, pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
	*pagemap = (struct mf_pagemap){ .page = (uint64_t)sysconf(_SC_PAGESIZE) };
	pagemap->fd = open(path, O_RDONLY | O_CLOEXEC);
	return pagemap->fd < 0 ? -errno : 0;
}

static uint8_t state_of(uint64_t entry)
{
	return (uint8_t)((entry & ENTRY_PRESENT ? MF_PAGE_PRESENT : 0) | (entry & ENTRY_SWAPPED ? MF_PAGE_SWAPPED : 0) |
			 (entry & ENTRY_EXCLUSIVE ? MF_PAGE_EXCLUSIVE : 0));
}

/* Reads an entry for each page. Of those, takes the bits @bits. */
static int read_entries(const struct mf_pagemap *pagemap, uint64_t start, uint64_t end, uint8_t bits, uint8_t *states)
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
		/* Most are absent. Their states are 0 already, and take no memory unless they are written. */
		for (ssize_t i = 0; i < n; i++, states++)
			if (entries[i])
				*states |= state_of(entries[i]) & bits;
		first += (uint64_t)n;
		left -= (uint64_t)n;
	}
	return 0;
}

static uint8_t state_of_region(uint64_t categories)
{
	if (categories & SCAN_SWAPPED)
		return MF_PAGE_SWAPPED;
	if (categories & SCAN_PAGE_OF_0)
		return 0;
	return categories & SCAN_HUGE ? MF_PAGE_PRESENT | MF_PAGE_HUGE : MF_PAGE_PRESENT;
}

static int read_regions(const struct mf_pagemap *pagemap, uint64_t start, uint64_t end, uint8_t *states)
{
	struct region regions[REGIONS];
	struct scan scan = {
		.size = sizeof(scan),
		.end = end,
		.walk_end = start,
		.regions = (uintptr_t)regions,
		.n_regions = REGIONS,
		.any_of = SCAN_PRESENT | SCAN_SWAPPED,
		.wanted = SCAN_PRESENT | SCAN_SWAPPED | SCAN_PAGE_OF_0 | SCAN_HUGE,
	};

	while (scan.walk_end < end) {
		int n;

		scan.start = scan.walk_end;
		n = ioctl(pagemap->fd, SCAN, &scan);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		for (int i = 0; i < n; i++)
			memset(states + (regions[i].start - start) / pagemap->page, state_of_region(regions[i].categories),
			       (regions[i].end - regions[i].start) / pagemap->page);
	}
	return 0;
}

int mf_pagemap_read(struct mf_pagemap *pagemap, uint64_t start, uint64_t end, bool wants_exclusive, uint8_t *states)
{
	int ret = pagemap->cannot_scan ? -ENOTTY : read_regions(pagemap, start, end, states);

	if (ret == -ENOTTY || ret == -EINVAL) {
		pagemap->cannot_scan = true;
		return read_entries(pagemap, start, end, 0xff, states);
	}
	return !ret && wants_exclusive ? read_entries(pagemap, start, end, MF_PAGE_EXCLUSIVE, states) : ret;
}

bool mf_pagemap_is_alive(const struct mf_pagemap *pagemap)
{
	uint64_t entry;

	return pread(pagemap->fd, &entry, sizeof(entry), 0) == sizeof(entry);
}

void mf_pagemap_close(struct mf_pagemap *pagemap)
{
	if (pagemap->fd >= 0)
		close(pagemap->fd);
	pagemap->fd = -1;
}
