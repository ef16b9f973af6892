// SPDX-License-Identifier: GPL-2.0
// The resident pages of one address space: which pages, of which kind, and which stack first touched each page.

#include "pages/resident.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/trie.h"
#include "pages/accounting.h"

#define PAGE_BYTES 4096ull
#define HUGE_PAGES 512u

static const char *const kind_words[MF_PAGE_KINDS] = {
	[MF_PAGE_ANON] = "[anonymous pages]",
	[MF_PAGE_FILE] = "[file pages]",
	[MF_PAGE_SHMEM] = "[shared memory pages]",
	[MF_PAGE_HUGE + MF_PAGE_ANON] = "[huge pages]",
	[MF_PAGE_HUGE + MF_PAGE_FILE] = "[huge file pages]",
	[MF_PAGE_HUGE + MF_PAGE_SHMEM] = "[huge shared memory pages]",
	[MF_PAGE_UNTOUCHED] = "[mapped, never touched]",
	[MF_PAGE_ABSENT] = "[mapped, not resident any more]",
};

/* Placeholder texts (accounting.h) for records that never had a stack, by the cause of the record. */
static const char *const cause_words[] = {
	[MASSIF_RESIDENT_FAULT] = MF_WORDS_NO_STACK,
	[MASSIF_RESIDENT_POPULATE] = MF_WORDS_NO_STACK,
	[MASSIF_RESIDENT_GONE] = MF_WORDS_KERNEL,
	[MASSIF_RESIDENT_OTHER] = MF_WORDS_KERNEL,
	[MASSIF_RESIDENT_DRIFT] = MF_WORDS_KERNEL,
};

void mf_resident_init(struct mf_resident *r, struct mf_accounting *accounting, bool both)
{
	*r = (struct mf_resident){
		.accounting = accounting,
		.both = both,
		.base_words = MF_WORDS_EXEC,
	};
}

void mf_resident_deinit(struct mf_resident *r)
{
	mf_windows_deinit(&r->windows);
	free(r->homeless.pages);
	free(r->going.pages);
	free(r->inherited.pages);
	free(r->moving.pages);
	*r = (struct mf_resident){0};
}

static int add_page(struct mf_page_list *list, const struct mf_page *page)
{
	if (list->n == list->max) {
		uint32_t max = list->max ? list->max * 2 : 64;
		struct mf_page *more = reallocarray(list->pages, max, sizeof(*more));

		if (!more)
			return -ENOMEM;
		list->pages = more;
		list->max = max;
	}
	list->pages[list->n++] = *page;
	return 0;
}

static unsigned int counter_of(uint8_t kind)
{
	return (kind - MF_PAGE_ANON) % MF_PAGE_HUGE;
}

static uint32_t context_of(struct mf_resident *r, uint32_t site, uint8_t kind)
{
	struct mf_store *store = &r->accounting->store;
	struct mf_frame frame = {0};
	uint32_t node;

	if (!r->objects[kind])
		r->objects[kind] = mf_accounting_object(r->accounting, kind_words[kind]);
	frame.object = r->objects[kind];
	node = mf_trie_child(store, site, frame);
	return node == UINT32_MAX ? MF_CONTEXT_NONE : mf_trie_context(store, node);
}

static void charge(struct mf_resident *r, uint32_t context, int64_t pages)
{
	mf_trie_charge(&r->accounting->store, context, pages * (int64_t)PAGE_BYTES);
}

/* Charges @pages pages that are mapped but not resident to @site, the trie node of the stack that mapped them. */
static void charge_absent(struct mf_resident *r, uint32_t site, bool touched, int64_t pages)
{
	if (!r->both || !pages)
		return;
	charge(r, context_of(r, site, touched ? MF_PAGE_ABSENT : MF_PAGE_UNTOUCHED), pages);
	r->absent += (uint64_t)pages;
}

static void charge_absent_at(struct mf_resident *r, uint64_t address, bool touched, int64_t pages)
{
	const struct mf_interval *interval =
		r->both ? mf_space_find(&r->accounting->space, address) : NULL;

	if (interval)
		charge_absent(r, interval->context, touched, pages);
}

static void count(struct mf_resident *r, uint8_t kind, int64_t pages)
{
	r->pages[counter_of(kind)] += (uint64_t)pages;
	if (kind > MF_PAGE_HUGE)
		r->huge += (uint64_t)pages;
}

/* Records @page as resident at page->address, which must be mapped and have no resident page yet. */
static int place(struct mf_resident *r, const struct mf_page *page)
{
	struct mf_window *window = mf_windows_make(&r->windows, page->address);
	unsigned int i = mf_window_index(page->address);
	uint16_t bit = (uint16_t)(1u << i);

	if (!window)
		return -ENOMEM;
	charge_absent_at(r, page->address, window->touched & bit, -1);
	charge(r, page->context, 1);
	count(r, page->kind, 1);
	r->placed++;
	window->context[i] = page->context;
	window->kind[i] = page->kind;
	window->touched |= bit;
	if (page->uncertain)
		window->uncertain |= bit;
	return 0;
}

/* Removes and returns page number @i of @window. The page must still be mapped. */
static struct mf_page take(struct mf_resident *r, struct mf_window *window, unsigned int i)
{
	uint16_t bit = (uint16_t)(1u << i);
	struct mf_page page = {
		.address = window->address + i * PAGE_BYTES,
		.context = window->context[i],
		.kind = window->kind[i],
		.uncertain = window->uncertain & bit,
		.touched = true,
	};

	charge(r, page.context, -1);
	count(r, page.kind, -1);
	r->placed--;
	window->kind[i] = MF_PAGE_NONE;
	window->uncertain &= (uint16_t)~bit;
	charge_absent_at(r, page.address, true, 1);
	return page;
}

static bool is_free(const struct mf_resident *r, uint64_t address)
{
	const struct mf_window *window = mf_windows_find(&r->windows, address);

	return !window || !window->kind[mf_window_index(address)];
}

static bool is_mapped(const struct mf_resident *r, uint64_t address)
{
	return mf_space_find(&r->accounting->space, address);
}

/* Returns whether there is a mapped address without a resident page. */
static bool has_room(const struct mf_resident *r)
{
	return r->placed < r->accounting->space.total / PAGE_BYTES;
}

/*
 * Adds @page to @list, one of the lists of resident pages that are not in any window. (A window, struct mf_window, is a
 * block of 16 pages, each recorded at its address.) The page still counts as resident. If out of memory, drops the
 * page, which then no longer counts; the next RESIDENT record corrects the total.
 */
static void keep_outside(struct mf_resident *r, struct mf_page_list *list, const struct mf_page *page)
{
	if (!add_page(list, page))
		return;
	charge(r, page->context, -1);
	count(r, page->kind, -1);
}

/* Adds @page, which is resident but does not have an address in a mapping yet. */
static void come_outside(struct mf_resident *r, const struct mf_page *page)
{
	charge(r, page->context, 1);
	count(r, page->kind, 1);
	keep_outside(r, &r->homeless, page);
}

/*
 * Records up to *@n resident pages that are copies of @page except for their addresses. Uses the addresses from @start
 * to @end that have no resident page yet; the whole range must be mapped. Subtracts the number of recorded pages from
 * *@n. Returns 0 or -ENOMEM.
 */
static int fill(struct mf_resident *r, struct mf_page page, uint64_t start, uint64_t end,
		uint64_t *n)
{
	int code = 0;

	for (page.address = start; *n && !code && page.address < end; page.address += PAGE_BYTES) {
		if (!is_free(r, page.address))
			continue;
		code = place(r, &page);
		r->cursor = page.address;
		*n -= 1;
	}
	return code;
}

/*
 * Records resident pages like fill(), but only at mapped addresses. If @file is NULL, uses all mappings; otherwise uses
 * only file mappings if *@file is true, or only anonymous mappings if it is false.
 */
static int fill_mapped(struct mf_resident *r, const struct mf_page *page, uint64_t start,
		       uint64_t end, const bool *file, uint64_t *n)
{
	const struct mf_interval *i = mf_space_next(&r->accounting->space, start);
	int code = 0;

	for (; i && i->start < end && *n && !code;
	     i = mf_space_next(&r->accounting->space, i->end)) {
		if (file && *file != (i->file != 0))
			continue;
		code = fill(r, *page, i->start > start ? i->start : start,
			    i->end < end ? i->end : end, n);
	}
	return code;
}

/*
 * Records @n resident pages of the same kind and context as @page at free mapped addresses, because their real
 * addresses are unknown. Prefers anonymous mappings for anonymous pages, and file mappings for file and shared memory
 * pages.
 */
static int fill_anywhere(struct mf_resident *r, struct mf_page page, uint64_t n)
{
	const bool file = counter_of(page.kind) != MASSIF_RSS_ANON, other = !file;
	uint64_t from = r->cursor; /* the search for free addresses starts where fill() last placed a page */
	int code;

	page.uncertain = true;
	code = fill_mapped(r, &page, from, UINT64_MAX, &file, &n);
	if (!code && n)
		code = fill_mapped(r, &page, 0, from, &file, &n);
	if (!code && n)
		code = fill_mapped(r, &page, 0, UINT64_MAX, &other, &n);
	/* More pages are resident than mapped, because the MAP record of a mapping has not arrived yet. */
	for (; !code && n; n--)
		come_outside(r, &page);
	return code;
}

/*
 * Finds a new address for @page, whose old address is occupied by another page or is not mapped. @page must not be
 * counted at this point. The new address is near the old one or, if there is no room there, anywhere.
 */
static int resettle(struct mf_resident *r, struct mf_page page)
{
	uint64_t start = page.address & ~(MF_WINDOW_BYTES - 1), n = 1;
	int code;

	page.uncertain = true;
	if (!has_room(r)) {
		come_outside(r, &page);
		return 0;
	}
	code = fill_mapped(r, &page, start, start + MF_WINDOW_BYTES, NULL, &n);
	return code || !n ? code : fill_anywhere(r, page, n);
}

/*
 * Tries again to place the pages in r->homeless, which did not fit into any mapping. A page is placed at its own
 * address if that address is now mapped and free. If @anywhere is set, the remaining pages are placed at any free
 * addresses.
 */
static int settle(struct mf_resident *r, bool anywhere)
{
	struct mf_page_list list = r->homeless;
	int code = 0;

	if (!list.n || (anywhere && !has_room(r)))
		return 0;
	r->homeless = (struct mf_page_list){0};
	for (uint32_t i = 0; i < list.n && !code; i++) {
		const struct mf_page *page = &list.pages[i];
		bool own = is_mapped(r, page->address) && is_free(r, page->address);

		charge(r, page->context, -1);
		count(r, page->kind, -1);
		if (own)
			code = place(r, page);
		else if (anywhere)
			code = resettle(r, *page);
		else
			come_outside(r, page);
	}
	free(list.pages);
	return code;
}

/*
 * Returns the start of the range in which a fault at @address made @n pages resident. If @n is a power of two, the
 * range is @n pages, aligned to their size. Otherwise, it is the window of MF_WINDOW_PAGES pages that the kernel maps
 * around a fault in a file.
 */
static uint64_t block_of(uint64_t address, uint64_t n)
{
	uint64_t bytes = n * PAGE_BYTES;

	return n & (n - 1) ? address & ~(MF_WINDOW_BYTES - 1) : address & ~(bytes - 1);
}

/*
 * Adds @n pages that a fault at @address made resident. If several anonymous pages become resident at once, they form
 * one large, aligned page. For a file, the kernel maps whichever pages in the window around the fault are already in
 * memory. We do not know which pages these are, except that the touched page is one of them.
 */
static int come_at(struct mf_resident *r, struct mf_page page, uint64_t address, uint64_t n)
{
	const struct mf_interval *i = mf_space_find(&r->accounting->space, address);
	bool certain = n == 1 || counter_of(page.kind) == MASSIF_RSS_ANON || n >= HUGE_PAGES;
	uint64_t start = block_of(address, n), end, low, high;
	struct mf_window *window = mf_windows_find(&r->windows, address);
	struct mf_page former = {0};
	int code;

	page.address = address;
	if (!i) {
		for (; n; n--, page.address += PAGE_BYTES)
			come_outside(r, &page);
		return 0;
	}
	if (window && window->kind[mf_window_index(address)])
		former = take(r, window, mf_window_index(address));
	code = place(r, &page);
	n--;
	low = i->start;
	high = i->end;
	end = start + (certain ? (n + 1) * PAGE_BYTES : MF_WINDOW_BYTES);
	page.uncertain = !certain;
	if (!code && n)
		code = fill(r, page, start > low ? start : low, end < high ? end : high, &n);
	page.uncertain = true;
	if (!code && n)
		code = fill(r, page, end < high ? end : high, high, &n);
	if (!code && n)
		code = fill_anywhere(r, page, n);
	if (!code && former.kind)
		code = resettle(r, former);
	return code;
}

struct search {
	struct mf_resident *resident;
	unsigned int counter;
	bool uncertain;
	uint64_t n; /* number of pages still to be removed */
};

static bool take_some(struct mf_window *window, uint16_t pages, void *data)
{
	struct search *search = data;

	for (unsigned int i = 0; i < MF_WINDOW_PAGES && search->n; i++) {
		bool uncertain = window->uncertain & 1u << i;

		if (!(pages & 1u << i) || !window->kind[i] || uncertain != search->uncertain ||
		    counter_of(window->kind[i]) != search->counter)
			continue;
		take(search->resident, window, i);
		search->n--;
	}
	return search->n;
}

/*
 * Removes from @list up to search->n pages that are counted in search->counter (MASSIF_RSS_*) and have addresses from
 * @start to @end. Pages in such a list are in no window (struct mf_window); take_some() handles the pages in windows.
 */
static void take_outside(struct search *search, struct mf_page_list *list, uint64_t start, uint64_t end)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < list->n; i++) {
		const struct mf_page *page = &list->pages[i];

		if (!search->n || counter_of(page->kind) != search->counter || page->address < start ||
		    page->address >= end) {
			list->pages[left++] = *page;
			continue;
		}
		charge(search->resident, page->context, -1);
		count(search->resident, page->kind, -1);
		search->n--;
	}
	list->n = left;
}

/* Removes @n pages of @counter between @start and @end. If fewer are recorded there, also removes pages elsewhere. */
static void go_from(struct mf_resident *r, unsigned int counter, uint64_t start, uint64_t end,
		    uint64_t n)
{
	struct search search = {.resident = r, .counter = counter, .n = n};

	take_outside(&search, &r->going, start, end);
	mf_windows_each(&r->windows, start, end, take_some, &search);
	/*
	 * If several threads remove pages at the same time, the module may report pages removed by one thread in the
	 * RESIDENT record of another thread, whose range does not contain them. This has certainly happened if the
	 * record counts more pages than fit into its range, and has probably happened if we know of no pages of the
	 * record's kind in the range.
	 */
	if (search.n > (end - start) / PAGE_BYTES)
		take_outside(&search, &r->going, 0, UINT64_MAX);
	search.uncertain = true;
	if (search.n)
		mf_windows_each(&r->windows, start, end, take_some, &search);
	take_outside(&search, &r->going, 0, UINT64_MAX);
	take_outside(&search, &r->homeless, 0, UINT64_MAX);
	if (search.n)
		mf_windows_each(&r->windows, 0, UINT64_MAX, take_some, &search);
	search.uncertain = false;
	if (search.n)
		mf_windows_each(&r->windows, 0, UINT64_MAX, take_some, &search);
}

/*
 * Called when @thread (0: every thread) has finished unmapping. If the module has still not reported the removal of a
 * page, the page is still resident. Its recorded address must therefore have been wrong: the page is actually mapped at
 * some other address.
 */
static void stop_going(struct mf_resident *r, uint32_t thread)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < r->going.n; i++) {
		struct mf_page *page = &r->going.pages[i];

		if (thread && page->thread != thread) {
			r->going.pages[left++] = *page;
			continue;
		}
		page->uncertain = true;
		keep_outside(r, &r->homeless, page);
	}
	r->going.n = left;
}

int mf_resident_turn(struct mf_resident *r, uint32_t thread)
{
	r->thread = thread;
	if (!r->going.n)
		return 0;
	stop_going(r, thread);
	return settle(r, true);
}

static uint32_t site_of_words(struct mf_resident *r, const struct massif_rec_resident *record)
{
	const char *words = MF_WORDS_KERNEL;

	if (record->cause < sizeof(cause_words) / sizeof(cause_words[0]) &&
	    cause_words[record->cause])
		words = cause_words[record->cause];
	if (record->h.flags & MASSIF_RF_EXTERNAL)
		words = MF_WORDS_EXTERNAL;
	if (record->h.flags & MASSIF_RF_IN_EXEC)
		words = MF_WORDS_EXEC;
	if (record->cause == MASSIF_RESIDENT_DRIFT)
		r->unattributed++;
	return mf_accounting_note(r->accounting, words);
}

/*
 * Records that, according to @record, @n more pages of the kernel's counter @counter (MASSIF_RSS_*) are resident. They
 * are charged to the stack @site or, if @site is 0, to a placeholder (MF_WORDS_*).
 */
static int come(struct mf_resident *r, const struct massif_rec_resident *record,
		unsigned int counter, uint32_t site, uint64_t n)
{
	uint8_t kind = (uint8_t)(MF_PAGE_ANON + counter);
	struct mf_page page = {.kind = kind};
	int code = 0;

	/* If a single fault brings in HUGE_PAGES pages or more, they are part of a huge page. */
	if (record->cause == MASSIF_RESIDENT_FAULT && n >= HUGE_PAGES)
		page.kind = (uint8_t)(kind + MF_PAGE_HUGE);
	page.context = context_of(r, site ? site : site_of_words(r, record), page.kind);
	switch (record->cause) {
	case MASSIF_RESIDENT_FAULT:
		return come_at(r, page, record->addr, n);
	case MASSIF_RESIDENT_POPULATE:
		code = fill_mapped(r, &page, record->addr, record->addr + record->len, NULL, &n);
		break;
	}
	return code || !n ? code : fill_anywhere(r, page, n);
}

/*
 * Records the resident pages of the parent for a forked child, at the addresses that the child still maps. The number
 * of pages of each kind is limited to the kernel's counter in @record.
 */
static int come_home(struct mf_resident *r, const struct massif_rec_resident *record)
{
	int code = 0;

	for (uint32_t i = 0; i < r->inherited.n && !code; i++) {
		const struct mf_page *page = &r->inherited.pages[i];

		if (r->pages[counter_of(page->kind)] < record->rss[counter_of(page->kind)] &&
		    is_mapped(r, page->address) && is_free(r, page->address))
			code = place(r, page);
	}
	free(r->inherited.pages);
	r->inherited = (struct mf_page_list){0};
	return code;
}

/* Adds or removes pages until our sums equal those in @record, which come from the kernel. */
static int agree(struct mf_resident *r, const struct massif_rec_resident *record)
{
	bool base = record->cause == MASSIF_RESIDENT_BASE;
	int code = 0;

	for (unsigned int i = 0; i < MF_RESIDENT_COUNTERS && !code; i++) {
		uint64_t missing = record->rss[i] - r->pages[i];
		struct mf_page page = {.kind = (uint8_t)(MF_PAGE_ANON + i)};

		if (record->rss[i] < r->pages[i]) {
			go_from(r, i, 0, 0, r->pages[i] - record->rss[i]);
			continue;
		}
		if (!missing)
			continue;
		page.context = context_of(r, mf_accounting_note(r->accounting,
								base ? r->base_words :
								       MF_WORDS_LOST),
					  page.kind);
		code = fill_anywhere(r, page, missing);
	}
	if (base)
		r->base_words = MF_WORDS_LOST;
	return code;
}

int mf_resident_take(struct mf_resident *r, const struct massif_rec_resident *record, uint32_t site)
{
	int code = 0;

	/* When a BASE record arrives, the list of mappings is complete and every removal of pages has been reported. */
	if (record->cause == MASSIF_RESIDENT_BASE) {
		stop_going(r, 0);
		code = settle(r, true);
		if (!code)
			code = come_home(r, record);
	}
	/* Remove pages first, then add pages: both may affect the same address. */
	for (unsigned int i = 0; i < MF_RESIDENT_COUNTERS; i++)
		if (record->change[i] < 0)
			go_from(r, i, record->addr, record->addr + record->len,
				(uint64_t) - (int64_t)record->change[i]);
	stop_going(r, record->h.tid);
	for (unsigned int i = 0; i < MF_RESIDENT_COUNTERS && !code; i++)
		if (record->change[i] > 0)
			code = come(r, record, i, site, (uint64_t)record->change[i]);
	r->faults += record->cause == MASSIF_RESIDENT_FAULT;
	r->swapped = record->rss[MASSIF_RSS_SWAP];
	if (!code)
		code = agree(r, record);
	return code ? code : settle(r, true);
}

struct arriving {
	uint64_t resident, touched;
};

static bool arrive(struct mf_window *window, uint16_t pages, void *data)
{
	struct arriving *arriving = data;

	for (unsigned int i = 0; i < MF_WINDOW_PAGES; i++)
		arriving->resident += pages & 1u << i && window->kind[i];
	arriving->touched += (uint64_t)__builtin_popcount(window->touched & pages);
	return true;
}

/* If a resync has reported the mapping, some of its pages may already be recorded as resident. */
int mf_resident_mapped(struct mf_resident *r, const struct mf_interval *interval)
{
	int64_t pages = (int64_t)((interval->end - interval->start) / PAGE_BYTES);
	struct arriving arriving = {0};

	mf_windows_each(&r->windows, interval->start, interval->end, arrive, &arriving);
	charge_absent(r, interval->context, false, pages - (int64_t)arriving.touched);
	charge_absent(r, interval->context, true,
		      (int64_t)(arriving.touched - arriving.resident));
	return settle(r, false);
}

struct leaving {
	struct mf_resident *resident;
	bool gone;
	uint64_t pages, touched;
};

/*
 * Called for pages whose mapping is being removed. Normally, the module will report the removal of each page later. But
 * when threads map and unmap at the same time, the module may attribute pages to the wrong thread. So if it has already
 * reported the removals in this range, or if a page's address was uncertain, we assume that the page is really
 * elsewhere and later choose an address for it.
 */
static bool leave(struct mf_window *window, uint16_t pages, void *data)
{
	struct leaving *leaving = data;
	struct mf_resident *r = leaving->resident;

	for (unsigned int i = 0; i < MF_WINDOW_PAGES; i++) {
		struct mf_page page = {
			.address = window->address + i * PAGE_BYTES,
			.context = window->context[i],
			.kind = window->kind[i],
			.uncertain = leaving->gone || window->uncertain & 1u << i,
			.thread = r->thread,
		};

		if (!(pages & 1u << i) || !page.kind)
			continue;
		window->kind[i] = MF_PAGE_NONE;
		r->placed--;
		leaving->pages++;
		keep_outside(r, page.uncertain ? &r->homeless : &r->going, &page);
	}
	leaving->touched += (uint64_t)__builtin_popcount(window->touched & pages);
	window->touched &= (uint16_t)~pages;
	window->uncertain &= (uint16_t)~pages;
	return true;
}

void mf_resident_unmapped(struct mf_resident *r, const struct mf_interval *part, bool gone)
{
	struct leaving leaving = {.resident = r, .gone = gone};
	int64_t pages = (int64_t)((part->end - part->start) / PAGE_BYTES);

	mf_windows_each(&r->windows, part->start, part->end, leave, &leaving);
	charge_absent(r, part->context, true, (int64_t)(leaving.pages - leaving.touched));
	charge_absent(r, part->context, false, (int64_t)leaving.touched - pages);
}

int mf_resident_settle(struct mf_resident *r)
{
	return settle(r, true);
}

struct lifting {
	struct mf_resident *resident;
	int code;
};

static bool lift(struct mf_window *window, uint16_t pages, void *data)
{
	struct lifting *lifting = data;
	struct mf_resident *r = lifting->resident;

	for (unsigned int i = 0; i < MF_WINDOW_PAGES; i++) {
		struct mf_page page = {
			.address = window->address + i * PAGE_BYTES,
			.touched = true,
		};

		if (!(pages & window->touched & 1u << i))
			continue;
		if (window->kind[i])
			page = take(r, window, i);
		lifting->code = add_page(&r->moving, &page);
		if (lifting->code)
			return false;
	}
	return true;
}

int mf_resident_lift(struct mf_resident *r, uint64_t from, uint64_t bytes)
{
	struct lifting lifting = {.resident = r};

	r->moving.n = 0;
	mf_windows_each(&r->windows, from, from + bytes, lift, &lifting);
	return lifting.code;
}

int mf_resident_land(struct mf_resident *r, uint64_t from, uint64_t to)
{
	int code = 0;

	for (uint32_t i = 0; i < r->moving.n && !code; i++) {
		struct mf_page page = r->moving.pages[i];
		struct mf_window *window;
		uint16_t bit;

		page.address += to - from;
		if (page.kind && is_mapped(r, page.address) && is_free(r, page.address)) {
			code = place(r, &page);
			continue;
		}
		if (page.kind) {
			code = resettle(r, page);
			continue;
		}
		window = mf_windows_make(&r->windows, page.address);
		bit = (uint16_t)(1u << mf_window_index(page.address));
		if (!window)
			return -ENOMEM;
		if (window->touched & bit)
			continue;
		window->touched |= bit;
		charge_absent_at(r, page.address, false, -1);
		charge_absent_at(r, page.address, true, 1);
	}
	r->moving.n = 0;
	return code;
}

int mf_resident_inherit(struct mf_resident *child, const struct mf_resident *parent)
{
	const struct mf_store *store = &parent->accounting->store;
	struct mf_frame frames[MF_CONTEXT_FRAMES_MAX + 1];
	uint32_t last = 0, context = 0;
	int code = 0;

	child->base_words = MF_WORDS_FORK;
	/* The child inherits all anonymous pages of the parent, but only some of its file pages. */
	for (uint32_t w = 1; w < parent->windows.n && !code; w++) {
		const struct mf_window *window = &parent->windows.windows[w];

		for (unsigned int i = 0; i < MF_WINDOW_PAGES && !code; i++) {
			struct mf_page page = {
				.address = window->address + i * PAGE_BYTES,
				.kind = window->kind[i],
				.uncertain = window->uncertain & 1u << i,
			};

			if (!page.kind)
				continue;
			if (window->context[i] != last || !context) {
				uint32_t n;

				last = window->context[i];
				n = mf_trie_frames(store, last, frames, MF_CONTEXT_FRAMES_MAX + 1);
				context = mf_trie_insert(&child->accounting->store, frames, n);
			}
			page.context = context;
			page.uncertain |= counter_of(page.kind) != MASSIF_RSS_ANON;
			code = add_page(&child->inherited, &page);
		}
	}
	return code;
}
