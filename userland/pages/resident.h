/* SPDX-License-Identifier: GPL-2.0 */
/* The resident pages of one address space: which pages, of which kind, and which stack first touched each page. */
#ifndef MASSIF_PAGES_RESIDENT_H
#define MASSIF_PAGES_RESIDENT_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/massif.h>

#include "pages/space.h"
#include "pages/windows.h"

struct mf_accounting;

/* The kind of a page. In the trie, the kind is added to the page's stack as the innermost frame. */
enum mf_page_kind {
	MF_PAGE_NONE,
	MF_PAGE_ANON, /* the kinds ANON, FILE and SHMEM have the same order as the kernel's counters MASSIF_RSS_* */
	MF_PAGE_FILE,
	MF_PAGE_SHMEM,
	MF_PAGE_HUGE, /* flag, added to ANON, FILE or SHMEM: the page is part of a huge page */
	MF_PAGE_UNTOUCHED = 8,
	MF_PAGE_ABSENT,
	MF_PAGE_KINDS
};

/* number of the kernel's RSS counters that count resident pages: all but MASSIF_RSS_SWAP */
#define MF_RESIDENT_COUNTERS 3u

/*
 * A page that is temporarily kept outside the windows (struct mf_window) that describe the pages of an address space.
 */
struct mf_page {
	uint64_t address;
	uint32_t context;
	uint32_t thread; /* the thread that is unmapping the page */
	uint8_t kind;
	bool uncertain, touched;
};

struct mf_page_list {
	struct mf_page *pages;
	uint32_t n, max;
};

/*
 * The resident pages of an address space. After each RESIDENT record, the number of pages for each of the kernel's
 * counters equals that counter's value in the record. A page whose address is unknown is recorded at an address where a
 * page of its kind could be, and is marked as uncertain. It is moved elsewhere if that address turns out to hold
 * another page, or if the mapping there is removed or replaced.
 *
 * All contexts are in the store of @accounting. A site is the trie node of a stack. The context of a page is a child of
 * a site in the trie; its innermost frame is a pseudo-frame that names the kind of page.
 */
struct mf_resident {
	struct mf_accounting *accounting;
	bool both; /* also account for pages that are mapped but not resident, charging them to the stack that mapped
		    * them */
	struct mf_windows windows;
	/* numbers of resident pages, one for each of the kernel's counters MASSIF_RSS_* */
	uint64_t pages[MF_RESIDENT_COUNTERS];
	/* number of resident pages whose address, known or guessed, is in a mapping */
	uint64_t placed;
	/* number of mapped pages that are not resident; 0 unless these are also accounted for (@both) */
	uint64_t absent;
	uint64_t huge;			      /* number of resident pages that belong to huge pages */
	uint64_t swapped;
	uint64_t faults;	/* number of FAULT records */
	/* number of times that pages became resident without a known cause (MASSIF_RESIDENT_DRIFT) */
	uint64_t unattributed;
	/* for each kind of page: number of the pseudo-object that names the kind in reports; 0 if not created yet */
	uint32_t objects[MF_PAGE_KINDS];
	uint32_t thread; /* thread that caused the current event */
	uint64_t cursor; /* address at which fill() last placed a page; searches for free addresses start here */
	const char *base_words; /* placeholder text for pages of a BASE record whose first touch was not recorded */
	/* resident pages that have been counted, but not yet recorded at an address in a mapping */
	struct mf_page_list homeless;
	struct mf_page_list going; /* pages whose mapping was removed but whose own removal has not been reported yet */
	struct mf_page_list inherited; /* after a fork: the parent's pages, until the child's BASE record */
	struct mf_page_list moving;
};

/* Initialises @resident with no pages. @accounting must outlive it. For @both, see struct mf_resident. */
void mf_resident_init(struct mf_resident *resident, struct mf_accounting *accounting, bool both);
void mf_resident_deinit(struct mf_resident *resident);

/*
 * Call this before each event that is not a RESIDENT record. @thread is the thread that caused the event, which means
 * that any earlier unmapping by this thread has finished. Returns 0 or -ENOMEM.
 */
int mf_resident_turn(struct mf_resident *resident, uint32_t thread);

/*
 * Applies a RESIDENT record. @site is the trie node of the record's call stack, or 0 if the record has none, in which
 * case a placeholder (MF_WORDS_*) is used instead. Returns 0 or -ENOMEM.
 */
int mf_resident_take(struct mf_resident *resident, const struct massif_rec_resident *record,
		     uint32_t site);

/* Records that @interval was mapped and that none of its pages has been touched. Returns 0 or -ENOMEM. */
int mf_resident_mapped(struct mf_resident *resident, const struct mf_interval *interval);

/*
 * mf_resident_unmapped() records that @part of a mapping was removed. If @gone is true, the module has already reported
 * the removal of the resident pages in @part; otherwise it will do so later. The list of mappings (struct mf_space) may
 * be inconsistent during the call, because it is being changed. After the change, call mf_resident_settle(), which
 * returns 0 or -ENOMEM.
 */
void mf_resident_unmapped(struct mf_resident *resident, const struct mf_interval *part, bool gone);
int mf_resident_settle(struct mf_resident *resident);

/*
 * These two functions move the resident pages of a range of @bytes bytes from @from to @to. mf_resident_lift() takes
 * the pages out before the mappings change, and mf_resident_land() puts them back afterwards. Both return 0 or -ENOMEM.
 */
int mf_resident_lift(struct mf_resident *resident, uint64_t from, uint64_t bytes);
int mf_resident_land(struct mf_resident *resident, uint64_t from, uint64_t to);

/*
 * Copies the pages of @parent to @child, which is new. The child's BASE record then determines which of these copies it
 * keeps. Returns 0 or -ENOMEM.
 */
int mf_resident_inherit(struct mf_resident *child, const struct mf_resident *parent);

#endif
