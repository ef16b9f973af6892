// SPDX-License-Identifier: GPL-2.0
// Resident pages, and pages that are only mapped, compared page by page with a simulated kernel.

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "kselftest_harness.h"
#include "model/trie.h"
#include "pages/accounting.h"

#define PAGE   4096ull
#define PAGES  512u
#define BASE   0x7f0000000000ull
#define SITES  4u
#define THREAD 7u
#define OTHER  8u /* another thread of the process */

/* The expected state of a page. */
struct page {
	/*
	 * the call stacks (sites) that mapped the page and that made it resident; @mapper is 0 if the page is not
	 * mapped, @toucher if it is not resident
	 */
	uint32_t mapper, toucher;
	bool touched;
};

FIXTURE(resident)
{
	struct mf_files files;
	struct mf_accounting *ours;
	struct page pages[PAGES];
	uint32_t sites[SITES];
	uint64_t rss[MASSIF_RSS_COUNT];
};

FIXTURE_VARIANT(resident)
{
	/* true if the UNMAP record comes before the records of its pages, as in Linux 6.12 and later */
	bool unmap_first;
};

FIXTURE_VARIANT_ADD(resident, pages_go_last) { true };
FIXTURE_VARIANT_ADD(resident, pages_go_first) { false };

FIXTURE_SETUP(resident)
{
	static const char *const words[SITES] = { "[a]", "[b]", "[c]", "[d]" };
	static const struct mf_model_options options = {
		.peak_inaccuracy = 1.0,
		.max_snapshots = 100,
		.detailed_freq = 1,
		.time_unit = MF_TIME_BYTES,
		.alignment = 16,
	};

	memset(self, 0, sizeof(*self));
	mf_files_init(&self->files);
	ASSERT_EQ(mf_accounting_create(&options, &self->files, 0, &self->ours, NULL), 0);
	mf_accounting_show(self->ours, MF_PAGES_BOTH);
	for (uint32_t i = 0; i < SITES; i++)
		self->sites[i] = mf_accounting_note(self->ours, words[i]);
}

FIXTURE_TEARDOWN(resident)
{
	mf_accounting_destroy(self->ours);
	mf_files_deinit(&self->files);
}

typedef FIXTURE_DATA(resident) kernel_t;

static uint64_t tree(kernel_t *kernel)
{
	const struct mf_store *store = &kernel->ours->store;
	uint64_t sum = 0, bytes;

	for (uint32_t i = MF_CONTEXT_FIRST; i < store->header->n_contexts; i++) {
		mf_trie_sum(store, i, 1, &bytes);
		sum += bytes;
	}
	return sum;
}

/*
 * Returns the number of pages attributed to the stack whose outer frames are those of @site and whose innermost frame
 * is the placeholder named @kind, such as "[anonymous pages]".
 */
static uint64_t charged(kernel_t *kernel, uint32_t site, const char *kind)
{
	struct mf_store *store = &kernel->ours->store;
	struct mf_frame frame = { .object = mf_accounting_object(kernel->ours, kind) };
	uint64_t bytes;

	mf_trie_sum(store, mf_trie_context(store, mf_trie_child(store, site, frame)), 1, &bytes);
	return bytes / PAGE;
}

/*
 * Checks that the bytes of all contexts add up to the total, and that at most PAGES mapped pages are counted as not
 * resident. This must hold at all times, even while a range is being unmapped.
 */
static bool sums_up(kernel_t *kernel)
{
	const struct mf_model *model = mf_model_of(&kernel->ours->store);

	return tree(kernel) == model->heap + model->extra && model->extra <= PAGES * PAGE;
}

/*
 * Checks the state between two system calls: the bytes of all contexts add up to the total, and the total equals the
 * size of the mapped pages. Each resident page is counted for the call stack (site) that touched it, and each other
 * mapped page for the site that mapped it.
 */
static bool is_right(kernel_t *kernel)
{
	const struct mf_model *model = mf_model_of(&kernel->ours->store);
	uint64_t mapped = 0;

	for (uint32_t i = 0; i < SITES; i++) {
		uint64_t resident = 0, untouched = 0, absent = 0;

		for (uint32_t p = 0; p < PAGES; p++) {
			const struct page *page = &kernel->pages[p];

			resident += page->toucher == kernel->sites[i];
			mapped += page->mapper == kernel->sites[i];
			if (page->mapper == kernel->sites[i] && !page->toucher)
				*(page->touched ? &absent : &untouched) += 1;
		}
		if (charged(kernel, kernel->sites[i], "[anonymous pages]") != resident ||
		    charged(kernel, kernel->sites[i], "[mapped, never touched]") != untouched ||
		    charged(kernel, kernel->sites[i], "[mapped, not resident any more]") != absent)
			return false;
	}
	return sums_up(kernel) && model->heap + model->extra == mapped * PAGE;
}

static int tell_by(kernel_t *kernel, uint32_t thread, uint32_t cause, uint32_t first, uint32_t n,
		   uint32_t counter, int32_t change, uint32_t site)
{
	struct massif_rec_resident record = {
		.h.tid = thread,
		.addr = BASE + first * PAGE,
		.len = n * PAGE,
		.cause = cause,
	};

	record.change[counter] = change;
	kernel->rss[counter] += (uint64_t)(int64_t)change;
	memcpy(record.rss, kernel->rss, sizeof(record.rss));
	return mf_accounting_resident(kernel->ours, &record, site);
}

static int tell(kernel_t *kernel, uint32_t cause, uint32_t first, uint32_t n, uint32_t counter,
		int32_t change, uint32_t site)
{
	return tell_by(kernel, THREAD, cause, first, n, counter, change, site);
}

/* Removes the resident pages among the @n pages starting at @first, and reports them as gone. */
static int take_away(kernel_t *kernel, uint32_t first, uint32_t n)
{
	int32_t change = 0;

	for (uint32_t i = first; i < first + n; i++) {
		change -= kernel->pages[i].toucher != 0;
		kernel->pages[i].toucher = 0;
	}
	return change ? tell(kernel, MASSIF_RESIDENT_GONE, first, n, MASSIF_RSS_ANON, change, 0) : 0;
}

static int unmap(struct __test_metadata *_metadata, kernel_t *kernel, bool unmap_first, uint32_t first,
		 uint32_t n)
{
	int code = 0;

	if (!unmap_first)
		code = take_away(kernel, first, n);
	if (!code)
		code = mf_accounting_turn(kernel->ours, THREAD);
	if (!code)
		code = mf_accounting_unmap(kernel->ours, BASE + first * PAGE, BASE + (first + n) * PAGE,
					   !unmap_first, 0);
	EXPECT_TRUE(sums_up(kernel));
	if (!code && unmap_first)
		code = take_away(kernel, first, n);
	memset(&kernel->pages[first], 0, n * sizeof(struct page));
	return code;
}

static int map(kernel_t *kernel, uint32_t first, uint32_t n, uint32_t site)
{
	struct mf_interval interval = {
		.start = BASE + first * PAGE,
		.end = BASE + (first + n) * PAGE,
		.context = site,
	};
	int code = mf_accounting_turn(kernel->ours, THREAD);

	for (uint32_t i = first; i < first + n; i++)
		kernel->pages[i] = (struct page){ .mapper = site };
	return code ? code : mf_accounting_map(kernel->ours, &interval, 0);
}

static int touch(kernel_t *kernel, uint32_t first, uint32_t n, uint32_t site)
{
	int code = 0;

	for (uint32_t i = first; i < first + n && !code; i++) {
		struct page *page = &kernel->pages[i];

		if (!page->mapper || page->toucher)
			continue;
		page->toucher = site;
		page->touched = true;
		code = tell(kernel, MASSIF_RESIDENT_FAULT, i, 1, MASSIF_RSS_ANON, 1, site);
	}
	return code;
}

/* mremap to a free address: resident pages move along with the mapping. */
static int move(struct __test_metadata *_metadata, kernel_t *kernel, uint32_t from, uint32_t to,
		uint32_t n, uint32_t site)
{
	struct page pages[PAGES];
	int code;

	memcpy(pages, &kernel->pages[from], n * sizeof(*pages));
	for (uint32_t i = 0; i < n; i++) {
		if (!pages[i].mapper)
			pages[i] = (struct page){0};
		pages[i].mapper = site;
	}
	code = mf_resident_lift(&kernel->ours->resident, BASE + from * PAGE, n * PAGE);
	memset(&kernel->pages[from], 0, n * sizeof(*pages));
	if (!code)
		code = mf_accounting_unmap(kernel->ours, BASE + from * PAGE, BASE + (from + n) * PAGE,
					   false, 0);
	EXPECT_TRUE(sums_up(kernel));
	if (!code)
		code = map(kernel, to, n, site);
	memcpy(&kernel->pages[to], pages, n * sizeof(*pages));
	return code ? code : mf_accounting_land(kernel->ours, BASE + from * PAGE, BASE + to * PAGE);
}

TEST_F(resident, random_calls_equal_pages)
{
	srandom(5);
	for (int step = 0; step < 5000; step++) {
		uint32_t first = (uint32_t)random() % PAGES, n = 1 + (uint32_t)random() % 60;
		uint32_t site = self->sites[random() % SITES];
		bool first_half = first + n <= PAGES / 2;

		if (n > PAGES - first)
			n = PAGES - first;
		switch (random() % 6) {
		case 0:
			ASSERT_EQ(0, unmap(_metadata, self, variant->unmap_first, first, n));
			break;
		case 1:
			ASSERT_EQ(0, unmap(_metadata, self, variant->unmap_first, first, n));
			ASSERT_EQ(0, map(self, first, n, site));
			break;
		case 2:
			ASSERT_EQ(0, take_away(self, first, n));
			break;
		case 3:
			if (!first_half)
				break;
			ASSERT_EQ(0, unmap(_metadata, self, variant->unmap_first, first + PAGES / 2, n));
			ASSERT_EQ(0, mf_accounting_turn(self->ours, THREAD));
			ASSERT_EQ(0, move(_metadata, self, first, first + PAGES / 2, n, site));
			break;
		default:
			ASSERT_EQ(0, touch(self, first, n, site));
			break;
		}
		ASSERT_TRUE(is_right(self)) {
			TH_LOG("step %d", step);
		}
	}
}

/*
 * When massif-ctl attaches to a process, it learns only how many pages are resident, not their addresses. It assigns
 * them to mappings in which some pages are not known to be resident. If other pages of such a mapping become resident
 * later, the totals are still right, even after the mapping has been removed.
 */
TEST_F(resident, what_was_there_before_finds_a_place)
{
	const uint32_t shared = 0, library = 256, n = 100;
	uint32_t site = self->sites[0];

	ASSERT_EQ(0, map(self, shared, n, site));
	ASSERT_EQ(0, map(self, library, n, site));
	ASSERT_EQ(0, mf_space_set_file(&self->ours->space, BASE, BASE + PAGES * PAGE, 1, 0));
	self->rss[MASSIF_RSS_FILE] = 90;
	ASSERT_EQ(0, tell(self, MASSIF_RESIDENT_BASE, 0, 0, MASSIF_RSS_FILE, 0, 0));
	EXPECT_TRUE(sums_up(self));
	for (uint32_t i = 0; i < n; i += 2) {
		ASSERT_EQ(0, tell(self, MASSIF_RESIDENT_FAULT, shared + i, 1, MASSIF_RSS_SHMEM, 1, site));
		ASSERT_TRUE(sums_up(self));
	}
	EXPECT_EQ(tree(self), 2 * n * PAGE);

	ASSERT_EQ(0, mf_accounting_turn(self->ours, THREAD));
	if (!variant->unmap_first)
		ASSERT_EQ(0, tell(self, MASSIF_RESIDENT_GONE, shared, n, MASSIF_RSS_SHMEM, -(int)n / 2, 0));
	ASSERT_EQ(0, mf_accounting_unmap(self->ours, BASE, BASE + n * PAGE, !variant->unmap_first, 0));
	EXPECT_TRUE(sums_up(self));
	if (variant->unmap_first)
		ASSERT_EQ(0, tell(self, MASSIF_RESIDENT_GONE, shared, n, MASSIF_RSS_SHMEM, -(int)n / 2, 0));
	EXPECT_TRUE(sums_up(self));
	EXPECT_EQ(tree(self), n * PAGE);
	EXPECT_EQ(mf_model_of(&self->ours->store)->heap, 90 * PAGE);
}

/*
 * A fault is reported after its page has been unmapped, because the thread released the mapping's lock while handling
 * the fault.
 */
TEST_F(resident, a_page_that_is_told_of_too_late)
{
	ASSERT_EQ(0, map(self, 0, 100, self->sites[0]));
	ASSERT_EQ(0, touch(self, 0, 50, self->sites[1]));
	ASSERT_EQ(0, unmap(_metadata, self, variant->unmap_first, 90, 10));
	ASSERT_EQ(0, tell(self, MASSIF_RESIDENT_FAULT, 95, 1, MASSIF_RSS_ANON, 1, self->sites[2]));
	EXPECT_TRUE(sums_up(self));
	EXPECT_EQ(tree(self), 90 * PAGE);
	EXPECT_EQ(charged(self, self->sites[2], "[anonymous pages]"), 1);
}

/* A fault is reported before its mapping; the page is assigned to the mapping when that is reported. */
TEST_F(resident, a_page_that_is_told_of_too_early)
{
	ASSERT_EQ(0, tell(self, MASSIF_RESIDENT_FAULT, 5, 1, MASSIF_RSS_ANON, 1, self->sites[1]));
	EXPECT_TRUE(sums_up(self));
	ASSERT_EQ(0, map(self, 100, 10, self->sites[0]));
	ASSERT_EQ(0, map(self, 0, 10, self->sites[0]));
	self->pages[5] = (struct page){
		.mapper = self->sites[0], .toucher = self->sites[1], .touched = true};
	EXPECT_TRUE(is_right(self));
	ASSERT_EQ(0, take_away(self, 0, 10));
	EXPECT_TRUE(is_right(self));
}

/* Unmaps @n pages, but the module reports the removal of only @told of them. */
static int unmap_of_which(struct __test_metadata *_metadata, kernel_t *kernel, bool unmap_first, uint32_t n,
			  int32_t told)
{
	int code = 0;

	if (!unmap_first && told)
		code = tell(kernel, MASSIF_RESIDENT_GONE, 0, n, MASSIF_RSS_ANON, -told, 0);
	if (!code)
		code = mf_accounting_turn(kernel->ours, THREAD);
	if (!code)
		code = mf_accounting_unmap(kernel->ours, BASE, BASE + n * PAGE, !unmap_first, 0);
	if (!code && unmap_first && told)
		code = tell(kernel, MASSIF_RESIDENT_GONE, 0, n, MASSIF_RSS_ANON, -told, 0);
	EXPECT_TRUE(sums_up(kernel));
	return code;
}

/*
 * Two threads change the counters of resident pages at the same time, and both changes are attributed to one of them.
 * Only a later record from either thread can correct that.
 */
TEST_F(resident, pages_that_another_brings_amid_an_unmapping)
{
	ASSERT_EQ(0, map(self, 0, 100, self->sites[0]));
	ASSERT_EQ(0, map(self, 200, 100, self->sites[1]));
	ASSERT_EQ(0, touch(self, 0, 100, self->sites[0]));
	/*
	 * While 100 pages are unmapped, another thread adds 50 pages, so the counter of resident pages drops by only
	 * 50.
	 */
	ASSERT_EQ(0, unmap_of_which(_metadata, self, variant->unmap_first, 100, 50));
	EXPECT_EQ(tree(self), 100 * PAGE);
	EXPECT_EQ(mf_model_of(&self->ours->store)->heap, 50 * PAGE);
	ASSERT_EQ(0, tell_by(self, OTHER, MASSIF_RESIDENT_GONE, 200, 100, MASSIF_RSS_ANON, -50, 0));
	EXPECT_EQ(tree(self), 100 * PAGE);
	EXPECT_EQ(mf_model_of(&self->ours->store)->heap, 0);
}

TEST_F(resident, an_unmapping_that_another_tells_of)
{
	ASSERT_EQ(0, map(self, 0, 100, self->sites[0]));
	ASSERT_EQ(0, map(self, 200, 100, self->sites[1]));
	ASSERT_EQ(0, touch(self, 0, 50, self->sites[0]));
	ASSERT_EQ(0, tell_by(self, OTHER, MASSIF_RESIDENT_OTHER, 0, 0, MASSIF_RSS_ANON, 30, 0));
	if (!variant->unmap_first)
		ASSERT_EQ(0, tell_by(self, OTHER, MASSIF_RESIDENT_FAULT, 200, 1, MASSIF_RSS_ANON, -50, 0));
	ASSERT_EQ(0, unmap_of_which(_metadata, self, variant->unmap_first, 100, 0));
	if (variant->unmap_first)
		ASSERT_EQ(0, tell_by(self, OTHER, MASSIF_RESIDENT_FAULT, 200, 1, MASSIF_RSS_ANON, -50, 0));
	EXPECT_TRUE(sums_up(self));
	EXPECT_EQ(tree(self), 100 * PAGE);
	EXPECT_EQ(mf_model_of(&self->ours->store)->heap, 30 * PAGE);
}

/*
 * The other thread adds exactly as many pages as were unmapped, so neither thread's record shows a change. The end of
 * the unmapping is recorded nevertheless.
 */
TEST_F(resident, an_unmapping_that_nothing_is_told_of)
{
	ASSERT_EQ(0, map(self, 0, 100, self->sites[0]));
	ASSERT_EQ(0, map(self, 200, 100, self->sites[1]));
	ASSERT_EQ(0, touch(self, 0, 50, self->sites[0]));
	ASSERT_EQ(0, unmap_of_which(_metadata, self, variant->unmap_first, 100, 0));
	if (variant->unmap_first) {
		EXPECT_EQ(tree(self), 150 * PAGE);
		ASSERT_EQ(0, tell(self, MASSIF_RESIDENT_GONE, 0, 100, MASSIF_RSS_ANON, 0, 0));
	}
	EXPECT_TRUE(sums_up(self));
	EXPECT_EQ(tree(self), 100 * PAGE);
	EXPECT_EQ(mf_model_of(&self->ours->store)->heap, 50 * PAGE);
}

/* number of pages, chosen so large that malloc() must request memory from the kernel to allocate a list of them */
#define MANY (1u << 17)

/*
 * If there is no memory for the list of pages to be moved, mf_resident_lift() returns an error instead of silently
 * losing the pages.
 */
TEST_F(resident, no_memory_for_the_pages_of_a_move)
{
	struct mf_interval interval = {
		.start = BASE,
		.end = BASE + MANY * PAGE,
		.context = self->sites[0],
	};
	struct rlimit limit, none;

#ifdef __SANITIZE_ADDRESS__
	SKIP(return, "AddressSanitizer ends a process that has no memory");
#endif
	ASSERT_EQ(0, mf_accounting_turn(self->ours, THREAD));
	ASSERT_EQ(0, mf_accounting_map(self->ours, &interval, 0));
	ASSERT_EQ(0, tell(self, MASSIF_RESIDENT_FAULT, 0, MANY, MASSIF_RSS_ANON, MANY, self->sites[0]));
	ASSERT_EQ(0, getrlimit(RLIMIT_AS, &limit));
	none = (struct rlimit){ 0, limit.rlim_max };
	ASSERT_EQ(0, setrlimit(RLIMIT_AS, &none));
	EXPECT_EQ(-ENOMEM, mf_resident_lift(&self->ours->resident, BASE, MANY * PAGE));
	ASSERT_EQ(0, setrlimit(RLIMIT_AS, &limit));
	/*
	 * Without the memory limit, mf_resident_lift() succeeds and lists all pages to be moved. This is tested with a
	 * second range of the same size, because the failed call has removed pages from the first one.
	 */
	interval.start += 2 * MANY * PAGE;
	interval.end += 2 * MANY * PAGE;
	ASSERT_EQ(0, mf_accounting_map(self->ours, &interval, 0));
	ASSERT_EQ(0, tell(self, MASSIF_RESIDENT_FAULT, 2 * MANY, MANY, MASSIF_RSS_ANON, MANY, self->sites[0]));
	EXPECT_EQ(0, mf_resident_lift(&self->ours->resident, interval.start, MANY * PAGE));
	EXPECT_EQ(MANY, self->ours->resident.moving.n);
}

TEST_HARNESS_MAIN
