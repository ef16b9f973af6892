/* SPDX-License-Identifier: GPL-2.0 */
/* The pages of an address space that are or were resident, in windows of 16 pages. */
#ifndef MASSIF_PAGES_WINDOWS_H
#define MASSIF_PAGES_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * On a fault in a file mapping, the kernel also maps nearby pages: those in a window of this many pages, aligned to its
 * size.
 */
#define MF_WINDOW_PAGES 16u
#define MF_WINDOW_BYTES (MF_WINDOW_PAGES * 4096ull)

/* In each member, bit or element i describes the page at @address + i * 4096. */
struct mf_window {
	uint64_t address;
	uint32_t context[MF_WINDOW_PAGES]; /* context to which the page is charged while it is resident */
	/*
	 * kind of the page, as set by the code that uses the windows (enum mf_page_kind); 0 if the page is not resident
	 */
	uint8_t kind[MF_WINDOW_PAGES];
	uint16_t uncertain; /* the page's address is a guess: a page elsewhere may be resident instead */
	uint16_t touched;   /* the page is resident, or has been since it was mapped */
	uint32_t next;	    /* next window in the same bucket or in the free list */
};

/*
 * A hash table of windows, each of which describes MF_WINDOW_PAGES adjacent pages of an address space. All windows are
 * elements of one array, and links between them are indexes into it; element 0 is unused. Zero-initialise the table.
 */
struct mf_windows {
	struct mf_window *windows;
	uint32_t *buckets;
	uint32_t bits; /* log2 of the number of buckets */
	uint32_t n, max, free, count;
};

void mf_windows_deinit(struct mf_windows *windows);

/* Returns the window that contains @address, or NULL if there is none. Valid until the next mf_windows_make(). */
struct mf_window *mf_windows_find(const struct mf_windows *windows, uint64_t address);

/* Like mf_windows_find(), but creates the window if it is missing. Returns NULL if out of memory. */
struct mf_window *mf_windows_make(struct mf_windows *windows, uint64_t address);

/* Called with a window and a bitmap of its pages that are in the range. Returns false to stop. */
typedef bool (*mf_windows_visit)(struct mf_window *window, uint16_t pages, void *data);

/*
 * Calls @visit for each window (MF_WINDOW_PAGES adjacent pages) that has pages from @start to @end, in no particular
 * order. @visit must not create windows. A window is freed if it contains no touched or resident pages after the call.
 */
void mf_windows_each(struct mf_windows *windows, uint64_t start, uint64_t end,
		     mf_windows_visit visit, void *data);

static inline unsigned int mf_window_index(uint64_t address)
{
	return (unsigned int)(address / 4096 % MF_WINDOW_PAGES);
}

#endif
