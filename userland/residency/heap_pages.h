/* SPDX-License-Identifier: GPL-2.0 */
/* How much of each page is used by live blocks. */
#ifndef MASSIF_RESIDENCY_HEAP_PAGES_H
#define MASSIF_RESIDENCY_HEAP_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/blocks.h"
#include "model/store.h"
#include "profile/residency.h"
#include "residency/live_blocks.h"

/* Number of pages in a part of a range. It has a page of states and two pages of each count. */
#define MF_HEAP_PART 4096u

/* A range of pages in which there may be blocks. */
struct mf_heap_range {
	uint64_t start, end; /* addresses of pages */
	uint8_t *states;     /* of each page: MF_PAGE_... */
	bool is_shared;	     /* other processes have some of its pages, too; these are present, but not exclusive */
	uint16_t *live;	     /* of each page: bytes of live blocks, as requested */
	uint16_t *used;	     /* of each page: the same, with the overhead of the blocks */
	/*
	 * Of each part: have its pages blocks? The counts of other parts are all 0. They are not even read: most of a large
	 * range can be empty, and to read its counts would take longer than all the rest of a sample.
	 */
	uint8_t *has_blocks;
	uint64_t n_blocks;   /* blocks that begin in the range */
	uint64_t n_foreign;  /* those of them that are of an allocator of the program's own, beside glibc's */
	bool is_arena; /* the heap (brk), or that of an arena of glibc's allocator */
	/*
	 * It begins where an arena could, and is as large as one, or what follows cannot be accessed. Then it is an arena if it
	 * has blocks, but for a large one at its start: glibc gives a large block pages of its own.
	 */
	bool may_be_arena;
	bool has_large_at_start;
};

/* Zero-initialise it, but for the size of a page. To look at the process again, call mf_heap_pages_reset(). */
struct mf_heap_pages {
	uint64_t page; /* size of a page in bytes, at most 32 KiB */
	bool is_glibc; /* the blocks are those of glibc's allocator, whose layout is known */
	struct mf_heap_range *ranges; /* in ascending order */
	size_t n_ranges, room;
	uint64_t outside; /* bytes of live blocks outside all ranges */
	struct mf_live_blocks blocks;
};

/*
 * Adds a range above all others. The states of its pages are all 0; the caller fills them in. Returns the range, which is
 * valid until the next one is added, or NULL if out of memory.
 */
struct mf_heap_range *mf_heap_pages_add(struct mf_heap_pages *pages, uint64_t start, uint64_t end);

/* Returns whether pages of the range without blocks are free pages of the allocator. Call this after mf_heap_pages_fill(). */
bool mf_heap_pages_are_free(const struct mf_heap_pages *pages, const struct mf_heap_range *range);

/*
 * Enters the live blocks of @store. The program may be running. The caller can have called mf_live_blocks_begin() before.
 * Returns 0 or -errno.
 */
int mf_heap_pages_fill(struct mf_heap_pages *pages, const struct mf_store *store);

/*
 * Lists the contexts that have live blocks, with what they keep, in *@sites; to be freed by the caller. Call this after
 * mf_heap_pages_fill(). If there was no copy of the blocks, what the program has allocated or freed since then is left out.
 * Returns 0 or -ENOMEM.
 */
int mf_heap_pages_list_sites(const struct mf_heap_pages *pages, const struct mf_store *store,
			     struct mf_residency_site **sites, size_t *n);

/* Forgets all but the size of a page, and what saves work when the same process is looked at again. */
void mf_heap_pages_reset(struct mf_heap_pages *pages);

void mf_heap_pages_deinit(struct mf_heap_pages *pages);

#endif
