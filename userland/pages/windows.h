/* SPDX-License-Identifier: GPL-2.0 */
/* The pages of an address space that are resident, or were: in windows of 16 pages. */
#ifndef MASSIF_PAGES_WINDOWS_H
#define MASSIF_PAGES_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

/* As many as the kernel maps around a fault in a file, and aligned in the same way. */
#define MF_WINDOW_PAGES 16u
#define MF_WINDOW_BYTES (MF_WINDOW_PAGES * 4096ull)

/* Bit or element i is the page at address + i * 4096. */
struct mf_window {
	uint64_t address;
	uint32_t context[MF_WINDOW_PAGES]; /* under which it is charged, if its kind is not 0 */
	uint8_t kind[MF_WINDOW_PAGES];	   /* the owner's; 0: not resident */
	uint16_t uncertain; /* it may be another page near it, or anywhere, that is resident */
	uint16_t touched;   /* resident now, or was since it was mapped */
	uint32_t next;	    /* of the same bucket, or of the free ones */
};

/* A hash table. Windows are in one array; links are indexes; [0] is unused. All zero is empty. */
struct mf_windows {
	struct mf_window *windows;
	uint32_t *buckets;
	uint32_t bits; /* of the number of buckets */
	uint32_t n, max, free, count;
};

void mf_windows_deinit(struct mf_windows *windows);

/* The window of @address, or NULL: nothing is known of it. Valid until the next mf_windows_make. */
struct mf_window *mf_windows_find(const struct mf_windows *windows, uint64_t address);

/* The same, made if it is not there. NULL when memory ran out. */
struct mf_window *mf_windows_make(struct mf_windows *windows, uint64_t address);

/* Told of a window, and which pages of it lie in the range. Returns false to stop. */
typedef bool (*mf_windows_visit)(struct mf_window *window, uint16_t pages, void *data);

/*
 * Visits the windows that have pages from @start to @end, in no order to rely on. The visitor may
 * not make windows; those that it leaves without a bit in touched and any kind are freed.
 */
void mf_windows_each(struct mf_windows *windows, uint64_t start, uint64_t end,
		     mf_windows_visit visit, void *data);

static inline unsigned int mf_window_index(uint64_t address)
{
	return (unsigned int)(address / 4096 % MF_WINDOW_PAGES);
}

#endif
