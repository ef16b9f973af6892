/* SPDX-License-Identifier: GPL-2.0 */
/* What is resident of one address space: which pages, of which kind, and who touched them first. */
#ifndef MASSIF_PAGES_RESIDENT_H
#define MASSIF_PAGES_RESIDENT_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/massif.h>

#include "pages/space.h"
#include "pages/windows.h"

struct mf_accounting;

/* The innermost frame of a stack in the tree: what its pages are. */
enum mf_page_kind {
	MF_PAGE_NONE,
	MF_PAGE_ANON, /* in the order of MASSIF_RSS_* */
	MF_PAGE_FILE,
	MF_PAGE_SHMEM,
	MF_PAGE_HUGE, /* to be added to one of the three */
	MF_PAGE_UNTOUCHED = 8,
	MF_PAGE_ABSENT,
	MF_PAGE_KINDS
};

#define MF_RESIDENT_COUNTERS 3u /* that are resident; MASSIF_RSS_SWAP is not */

/* A page that has no place for a moment. */
struct mf_page {
	uint64_t address;
	uint32_t context;
	uint32_t thread; /* that is unmapping it */
	uint8_t kind;
	bool uncertain, touched;
};

struct mf_page_list {
	struct mf_page *pages;
	uint32_t n, max;
};

/*
 * The sum of the pages of each counter is always that of the last record. A page whose place is not
 * known is put where one of its kind may be, and marked uncertain; it gives way to what is known.
 *
 * Contexts are those of the accounting's store; a site is the trie's node of a stack, to which the
 * kind is added as the innermost frame.
 */
struct mf_resident {
	struct mf_accounting *accounting;
	bool both; /* what is mapped and not resident is charged, too, to who mapped it */
	struct mf_windows windows;
	uint64_t pages[MF_RESIDENT_COUNTERS]; /* by MASSIF_RSS_* */
	uint64_t placed;		      /* of them, where something is mapped */
	uint64_t absent;		      /* mapped, and not resident; with both only */
	uint64_t huge;			      /* of them */
	uint64_t swapped;
	uint64_t faults;	/* records of pages that came */
	uint64_t unattributed;	/* pages that were never told of by whom */
	uint32_t objects[MF_PAGE_KINDS]; /* the store's, of the kinds' words; 0: not yet */
	uint32_t thread; /* whose turn it is */
	uint64_t cursor; /* where a place was last found for a page of which it is not known */
	const char *base_words; /* for what is resident at a BASE that nobody touched */
	struct mf_page_list homeless; /* no place is known, and there was no room for a guess */
	struct mf_page_list going; /* their mapping went, and they are about to */
	struct mf_page_list inherited; /* by a fork, until the child's BASE */
	struct mf_page_list moving;
};

void mf_resident_init(struct mf_resident *resident, struct mf_accounting *accounting, bool both);
void mf_resident_deinit(struct mf_resident *resident);

/* @thread is about to do something else than a RESIDENT record says. */
int mf_resident_turn(struct mf_resident *resident, uint32_t thread);

/* A RESIDENT record, whose stack is that of @site; 0: none, and words take its place. */
int mf_resident_take(struct mf_resident *resident, const struct massif_rec_resident *record,
		     uint32_t site);

/* @interval was mapped: nobody has touched it. */
int mf_resident_mapped(struct mf_resident *resident, const struct mf_interval *interval);

/*
 * @part of a mapping goes; @gone: all that was resident there has been told to go before, and else it
 * will be. Called while the space is changed; when it is whole, call the second.
 */
void mf_resident_unmapped(struct mf_resident *resident, const struct mf_interval *part, bool gone);
int mf_resident_settle(struct mf_resident *resident);

/* What is resident from @from on is to be @to; the mappings change between the two calls. */
int mf_resident_lift(struct mf_resident *resident, uint64_t from, uint64_t bytes);
int mf_resident_land(struct mf_resident *resident, uint64_t from, uint64_t to);

/* Notes what @child, new, may find resident of @parent's when its BASE comes. */
int mf_resident_inherit(struct mf_resident *child, const struct mf_resident *parent);

#endif
