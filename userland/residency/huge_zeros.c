// SPDX-License-Identifier: GPL-2.0
// Finds the pages of zeros in huge pages.
//
// The kernel does not say which parts of a huge page were used. But it clears a huge page before the program gets it, so that a
// part that is not all zeros was written to. The kernel itself looks for zeros when it splits huge pages that are little used.

#include "residency/huge_zeros.h"

#include <stdbool.h>
#include <string.h>
#include <sys/uio.h>

#include "residency/pagemap.h"

#define BYTES 65536u /* that are read at once */

static bool is_zero(const char *bytes, size_t size)
{
	/* Each byte is compared with the one before, and the first with 0. */
	return !*bytes && !memcmp(bytes, bytes + 1, size - 1);
}

/* Returns how many of the first @n pages are in huge pages. */
static size_t count_huge(const uint8_t *states, size_t n)
{
	size_t i = 0;

	while (i < n && states[i] & MF_PAGE_HUGE)
		i++;
	return i;
}

uint64_t mf_huge_zeros_find(pid_t pid, uint64_t start, uint64_t page, uint8_t *states, size_t n, uint64_t *budget)
{
	char bytes[BYTES];
	uint64_t zeros = 0;

	for (size_t i = 0; i < n && *budget >= sizeof(bytes);) {
		size_t pages = count_huge(states + i, n - i < sizeof(bytes) / page ? n - i : sizeof(bytes) / page);
		struct iovec to = { bytes, pages * page }, from = { (void *)(uintptr_t)(start + i * page), pages * page };

		if (!pages) {
			i++;
			continue;
		}
		if (process_vm_readv(pid, &to, 1, &from, 1, 0) != (ssize_t)to.iov_len)
			return zeros;
		*budget -= to.iov_len;
		for (size_t k = 0; k < pages; k++) {
			if (!is_zero(bytes + k * page, page))
				continue;
			states[i + k] |= MF_PAGE_ZEROS;
			zeros += page;
		}
		i += pages;
	}
	return zeros;
}
