/* SPDX-License-Identifier: GPL-2.0 */
/* The resident pages of one address space: which pages, of which kind, and which stack touched each first. */
#ifndef MASSIF_PAGES_RESIDENT_H
#define MASSIF_PAGES_RESIDENT_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/massif.h>

#include "pages/space.h"
#include "pages/windows.h"

struct mf_accounting;

/* The kind of a page. It is the innermost frame of the page's stack in the trie. */
enum mf_page_kind {
	MF_PAGE_NONE,
	MF_PAGE_ANON, /* the first three are in the order of MASSIF_RSS_* */
	MF_PAGE_FILE,
	MF_PAGE_SHMEM,
	MF_PAGE_HUGE, /* a flag, added to one of the first three */
	MF_PAGE_UNTOUCHED = 8,
	MF_PAGE_ABSENT,
	MF_PAGE_KINDS
};

#define MF_RESIDENT_COUNTERS 3u /* the module's counters of resident pages; MASSIF_RSS_SWAP is not one of them */

/* A page that is temporarily not in a window (windows.h). */
struct mf_page {
	uint64_t address;
	uint32_t context;
	uint32_t thread; /* the thread that is unmapping it */
	uint8_t kind;
	bool uncertain, touched;
};

struct mf_page_list {
	struct mf_page *pages;
	uint32_t n, max;
};

/*
 * The number of pages of each counter always equals that of the last record. If the address of a page is not known, the
 * page is put where one of its kind may be and marked uncertain. If a page or mapping that is certain needs this
 * address, the uncertain page moves to another one.
 *
 * Contexts are those of the accounting's store. A site is the trie node of a stack; the kind of a page is added to it
 * as the innermost frame.
 */
struct mf_resident {
	struct mf_accounting *accounting;
	bool both; /* pages that are mapped but not resident are charged as well, to the stack that mapped them */
	struct mf_windows windows;
	uint64_t pages[MF_RESIDENT_COUNTERS]; /* resident pages, indexed by MASSIF_RSS_* */
	uint64_t placed;		      /* resident pages that have an address in a mapping */
	uint64_t absent;		      /* mapped but not resident pages; only counted if both is set */
	uint64_t huge;			      /* resident pages that belong to huge pages */
	uint64_t swapped;
	uint64_t faults;	/* number of FAULT records */
	uint64_t unattributed;	/* pages for which no cause was ever reported */
	uint32_t objects[MF_PAGE_KINDS]; /* store's object that names each kind in reports; 0: not made yet */
	uint32_t thread; /* thread that causes the present event */
	uint64_t cursor; /* where the last page of unknown address was put */
	const char *base_words; /* words for pages of a BASE record whose first touch was not recorded */
	struct mf_page_list homeless; /* pages of unknown address that fit into no mapping */
	struct mf_page_list going; /* pages whose mapping was removed; the record of their removal is to come */
	struct mf_page_list inherited; /* the parent's pages after a fork, until the child's BASE record */
	struct mf_page_list moving;
};

/* Initialises @resident without pages. @accounting must outlive it; for @both see the field. */
void mf_resident_init(struct mf_resident *resident, struct mf_accounting *accounting, bool both);
void mf_resident_deinit(struct mf_resident *resident);

/*
 * Call before each event that is not a RESIDENT record. Because @thread caused the event, it has finished its earlier
 * unmapping. Returns 0 or -ENOMEM.
 */
int mf_resident_turn(struct mf_resident *resident, uint32_t thread);

/*
 * Applies a RESIDENT record. @site is the site of its stack; 0: it has no stack, so words (MF_WORDS_*) are used.
 * Returns 0 or -ENOMEM.
 */
int mf_resident_take(struct mf_resident *resident, const struct massif_rec_resident *record,
		     uint32_t site);

/* Notes that @interval was mapped and that none of its pages was touched. Returns 0 or -ENOMEM. */
int mf_resident_mapped(struct mf_resident *resident, const struct mf_interval *interval);

/*
 * Notes that @part of a mapping is removed. With @gone, the module has already reported the removal of its resident
 * pages; otherwise it will do so later. mf_resident_unmapped() may be called while the space is being changed. Call
 * mf_resident_settle() when the space is consistent again; it returns 0 or -ENOMEM.
 */
void mf_resident_unmapped(struct mf_resident *resident, const struct mf_interval *part, bool gone);
int mf_resident_settle(struct mf_resident *resident);

/*
 * Move the resident pages of @bytes bytes from @from to @to: mf_resident_lift() takes them out before the mappings
 * change, mf_resident_land() puts them back afterwards. Both return 0 or -ENOMEM.
 */
int mf_resident_lift(struct mf_resident *resident, uint64_t from, uint64_t bytes);
int mf_resident_land(struct mf_resident *resident, uint64_t from, uint64_t to);

/*
 * Copies the pages of @parent for @child, which is new. At its BASE record, the child looks there for its own pages.
 * Returns 0 or -ENOMEM.
 */
int mf_resident_inherit(struct mf_resident *child, const struct mf_resident *parent);

#endif
