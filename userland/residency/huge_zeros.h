/* SPDX-License-Identifier: GPL-2.0 */
/* Finds the pages of zeros in huge pages. */
#ifndef MASSIF_RESIDENCY_HUGE_ZEROS_H
#define MASSIF_RESIDENCY_HUGE_ZEROS_H

#include <stdint.h>
#include <sys/types.h>

/* So many bytes of a process are read for a sample; further pages are not looked at. */
#define MF_HUGE_ZEROS_BYTES (64ull << 20)

/*
 * Sets MF_PAGE_ZEROS for those of the @n pages of @page bytes from address @start whose states have MF_PAGE_HUGE and that hold
 * nothing but zeros. Subtracts what it has read from *@budget (in bytes), and stops when that is used up. All pages that are
 * read are present. Returns the number of bytes of such pages.
 */
uint64_t mf_huge_zeros_find(pid_t pid, uint64_t start, uint64_t page, uint8_t *states, size_t n, uint64_t *budget);

#endif
