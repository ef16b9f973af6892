// SPDX-License-Identifier: GPL-2.0
// How much of each page is used by live blocks.

#include "residency/heap_pages.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "model/trie.h"
#include "residency/pagemap.h"

/* glibc gives no smaller block pages of its own, unless the program asks for it (M_MMAP_THRESHOLD). */
#define LARGE_LEAST (128u << 10)

struct mf_heap_range *mf_heap_pages_add(struct mf_heap_pages *pages, uint64_t start, uint64_t end)
{
	size_t n = (size_t)((end - start) / pages->page);
	struct mf_heap_range *range;

	if (pages->n_ranges == pages->room) {
		size_t room = pages->room ? 2 * pages->room : 64;
		struct mf_heap_range *more = reallocarray(pages->ranges, room, sizeof(*more));

		if (!more)
			return NULL;
		pages->ranges = more;
		pages->room = room;
	}
	range = &pages->ranges[pages->n_ranges];
	*range = (struct mf_heap_range){
		.start = start,
		.end = end,
		.states = calloc(n, sizeof(*range->states)),
		.live = calloc(n, sizeof(*range->live)),
		.used = calloc(n, sizeof(*range->used)),
		.has_blocks = calloc(n / MF_HEAP_PART + 1, sizeof(*range->has_blocks)),
	};
	pages->n_ranges++;
	return range->states && range->live && range->used && range->has_blocks ? range : NULL;
}

void mf_heap_pages_reset(struct mf_heap_pages *pages)
{
	for (size_t i = 0; i < pages->n_ranges; i++) {
		free(pages->ranges[i].states);
		free(pages->ranges[i].live);
		free(pages->ranges[i].used);
		free(pages->ranges[i].has_blocks);
	}
	mf_live_blocks_reset(&pages->blocks);
	*pages = (struct mf_heap_pages){
		.page = pages->page,
		.ranges = pages->ranges,
		.room = pages->room,
		.blocks = pages->blocks,
	};
}

void mf_heap_pages_deinit(struct mf_heap_pages *pages)
{
	mf_heap_pages_reset(pages);
	free(pages->ranges);
	mf_live_blocks_deinit(&pages->blocks);
	*pages = (struct mf_heap_pages){ .page = pages->page };
}

/* Returns the number of the range that contains @address, or of the number of ranges if there is none. */
static size_t find(const struct mf_heap_pages *pages, uint64_t address)
{
	size_t low = 0, high = pages->n_ranges;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (pages->ranges[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < pages->n_ranges && pages->ranges[low].start <= address ? low : pages->n_ranges;
}

/* A walk over the blocks. Most are in the range of the last one. */
struct walk {
	struct mf_heap_pages *pages;
	unsigned int page_bits; /* log2 of the size of a page */
	size_t range;
};

static struct mf_heap_range *range_of(struct walk *walk, uint64_t address)
{
	struct mf_heap_pages *pages = walk->pages;

	if (walk->range >= pages->n_ranges || address < pages->ranges[walk->range].start ||
	    address >= pages->ranges[walk->range].end)
		walk->range = find(pages, address);
	return walk->range < pages->n_ranges ? &pages->ranges[walk->range] : NULL;
}

static unsigned int bits_of(uint64_t page)
{
	return (unsigned int)__builtin_ctzll(page);
}

struct extent {
	uint64_t start, end;
};

/* Returns whether a block of glibc's allocator has pages of its own. */
static bool is_large(const struct mf_heap_pages *pages, const struct mf_heap_range *range, const struct mf_block *block)
{
	return !range->is_arena && block->address % pages->page == 16 &&
	       (!range->may_be_arena || block->address == range->start + 16);
}

/*
 * Returns whether a block is not glibc's, but of an allocator of the program's own that declares its blocks: it is neither in
 * an arena, nor has it pages of its own.
 */
static bool is_foreign(const struct mf_heap_pages *pages, const struct mf_heap_range *range, const struct mf_block *block)
{
	return pages->is_glibc && !range->is_arena && !range->may_be_arena && !is_large(pages, range, block) &&
	       block->size < LARGE_LEAST;
}

/*
 * Returns what a block occupies, with its overhead. A chunk of glibc's allocator has a word for its size in front of the
 * block, is a multiple of 16 bytes long and at least 32. A large block has pages of its own, and begins 16 bytes after the
 * first one's start. Other allocators keep their data elsewhere, and round up in ways that are not known here: what they
 * add counts as free.
 */
static struct extent extent_of(const struct mf_heap_pages *pages, const struct mf_heap_range *range,
			       const struct mf_block *block)
{
	uint64_t size = block->size < 24 ? 24 : block->size, page = pages->page;

	if (!pages->is_glibc || is_foreign(pages, range, block))
		return (struct extent){ block->address, block->address + ((block->size + 7) & ~7ull) };
	if (is_large(pages, range, block) || (!range->is_arena && !range->may_be_arena))
		return (struct extent){ block->address - 16, (block->address + block->size + page - 1) & ~(page - 1) };
	return (struct extent){ block->address - 8, block->address - 8 + ((size + 8 + 15) & ~15ull) };
}

/* Adds @bytes to a page's count. If the program changes the table meanwhile, a block may be counted with its successor. */
static void add_to(uint16_t *count, uint64_t bytes, uint64_t page)
{
	uint64_t sum = *count + bytes;

	*count = (uint16_t)(sum > page ? page : sum);
}

/* Adds to the pages of @counts what is between @start and @end, both at most the end of the range. */
static void add(const struct mf_heap_range *range, uint16_t *counts, uint64_t page, unsigned int page_bits, uint64_t start,
		uint64_t end)
{
	if (end > range->end || end < start)
		end = range->end;
	if (start < range->start)
		start = range->start;
	while (start < end) {
		uint64_t number = (start - range->start) >> page_bits;
		uint64_t next = range->start + ((number + 1) << page_bits), until = next < end ? next : end;

		add_to(&counts[number], until - start, page);
		range->has_blocks[number / MF_HEAP_PART] = 1;
		start = until;
	}
}

/* Most blocks lie in a single page. The block is inside its extent. */
static bool is_in_a_page(const struct walk *walk, const struct mf_heap_range *range, const struct extent *extent)
{
	return extent->start >= range->start && extent->end <= range->end && extent->start < extent->end &&
	       extent->start >> walk->page_bits == (extent->end - 1) >> walk->page_bits;
}

static void fill(const struct mf_block *block, void *data)
{
	struct walk *walk = data;
	const uint64_t page = walk->pages->page;
	struct mf_heap_range *range = range_of(walk, block->address);
	struct extent extent;

	if (!range) {
		walk->pages->outside += block->size;
		return;
	}
	range->n_blocks++;
	range->n_foreign += is_foreign(walk->pages, range, block);
	if (walk->pages->is_glibc && block->address == range->start + 16 && is_large(walk->pages, range, block))
		range->has_large_at_start = true;
	extent = extent_of(walk->pages, range, block);
	if (is_in_a_page(walk, range, &extent)) {
		uint64_t number = (extent.start - range->start) >> walk->page_bits;

		add_to(&range->live[number], block->size, page);
		add_to(&range->used[number], extent.end - extent.start, page);
		range->has_blocks[number / MF_HEAP_PART] = 1;
		return;
	}
	add(range, range->live, page, walk->page_bits, block->address, block->address + block->size);
	add(range, range->used, page, walk->page_bits, extent.start, extent.end);
}

int mf_heap_pages_fill(struct mf_heap_pages *pages, const struct mf_store *store)
{
	struct walk walk = { .pages = pages, .page_bits = bits_of(pages->page) };
	int ret = mf_live_blocks_read(&pages->blocks, store);

	if (!ret)
		mf_live_blocks_each(&pages->blocks, store, fill, &walk);
	return ret;
}

bool mf_heap_pages_are_free(const struct mf_heap_pages *pages, const struct mf_heap_range *range)
{
	if (!pages->is_glibc)
		return range->is_arena || range->n_blocks;
	return range->is_arena || range->n_foreign || (range->may_be_arena && range->n_blocks && !range->has_large_at_start);
}

/* Collects what each context keeps. */
struct sites {
	struct walk walk;
	struct mf_residency_site *sites; /* of each context */
	uint32_t n;
	uint16_t **seen; /* of each range, for each of its pages: live bytes of the blocks that have been visited */
	const uint16_t *page; /* the page visited last, as a pointer to its number of live bytes */
	uint64_t per_byte; /* its free bytes for each live byte, times 2^32 */
};

/*
 * Returns which share of a page's free bytes belongs to its first @bytes live bytes, rounded down: the free bytes times @bytes,
 * divided by the live bytes. Neighbours are usually in the same page, so that there is one division for a page. The quotient
 * is rounded up; as there are at most 2^15 bytes in a page, the result is the same as that of a division.
 */
static uint32_t share_of(struct sites *sites, const struct mf_heap_range *range, uint64_t number, uint32_t bytes)
{
	if (sites->page != &range->live[number]) {
		uint64_t free_bytes = sites->walk.pages->page - range->used[number];

		sites->page = &range->live[number];
		sites->per_byte = free_bytes ? (free_bytes << 32) / *sites->page + 1 : 0;
	}
	return (uint32_t)(bytes * sites->per_byte >> 32);
}

/* Charges a site with @bytes of a page whose first @before live bytes belong to blocks that have been visited. */
static void charge_page(struct sites *sites, struct mf_residency_site *site, const struct mf_heap_range *range,
			uint64_t number, uint32_t before, uint32_t bytes)
{
	uint8_t state = range->states[number];

	if (!(state & MF_PAGE_PRESENT)) {
		site->untouched += state & MF_PAGE_SWAPPED ? 0 : bytes;
		return;
	}
	if (range->is_shared && !(state & MF_PAGE_EXCLUSIVE))
		site->shared += bytes;
	if (state & MF_PAGE_HUGE)
		site->huge += bytes;
	if (state & MF_PAGE_ZEROS)
		site->huge_zeros += bytes;
	/* Rounded so that the shares of all blocks add up to the page's free bytes. */
	site->pinned += share_of(sites, range, number, before + bytes) - share_of(sites, range, number, before);
}

static void charge(struct sites *sites, const struct mf_heap_range *range, uint64_t start, uint64_t size,
		   struct mf_residency_site *site)
{
	uint16_t *seen = sites->seen[sites->walk.range];
	uint64_t end = start + size;

	if (end > range->end || end < start)
		end = range->end;
	while (start < end) {
		uint64_t number = (start - range->start) >> sites->walk.page_bits;
		uint64_t next = range->start + ((number + 1) << sites->walk.page_bits), until = next < end ? next : end;
		uint32_t bytes = (uint32_t)(until - start), before = seen[number], live = range->live[number];

		start = until;
		/* Blocks that came after the pages were filled have no share. */
		if (bytes > live - before)
			bytes = live - before;
		if (!bytes)
			continue;
		seen[number] = (uint16_t)(before + bytes);
		charge_page(sites, site, range, number, before, bytes);
	}
}

static void add_site(const struct mf_block *block, void *data)
{
	struct sites *sites = data;
	const struct mf_heap_range *range;

	if (block->context >= sites->n)
		return;
	range = range_of(&sites->walk, block->address);
	sites->sites[block->context].live += block->size;
	if (range)
		charge(sites, range, block->address, block->size, &sites->sites[block->context]);
}

static bool make_seen(struct sites *sites, const struct mf_heap_pages *pages)
{
	sites->seen = calloc(pages->n_ranges + 1, sizeof(*sites->seen));
	for (size_t i = 0; sites->seen && i < pages->n_ranges; i++) {
		const struct mf_heap_range *range = &pages->ranges[i];

		sites->seen[i] = calloc((size_t)((range->end - range->start) / pages->page), sizeof(**sites->seen));
		if (!sites->seen[i])
			return false;
	}
	return sites->seen;
}

static void free_seen(struct sites *sites, const struct mf_heap_pages *pages)
{
	for (size_t i = 0; sites->seen && i < pages->n_ranges; i++)
		free(sites->seen[i]);
	free(sites->seen);
}

int mf_heap_pages_list_sites(const struct mf_heap_pages *pages, const struct mf_store *store,
			     struct mf_residency_site **sites_out, size_t *n)
{
	/* The walk only reads the pages. */
	struct sites sites = { .walk = { .pages = (struct mf_heap_pages *)pages, .page_bits = bits_of(pages->page) } };
	uint32_t n_contexts = __atomic_load_n(&store->header->n_contexts, __ATOMIC_ACQUIRE);
	int ret = -ENOMEM;

	/* The program can write any number there. */
	if (n_contexts <= mf_trie_contexts_max(store))
		sites.n = n_contexts;

	sites.sites = calloc((size_t)sites.n + 1, sizeof(*sites.sites));
	if (sites.sites && make_seen(&sites, pages)) {
		mf_live_blocks_each(&sites.walk.pages->blocks, store, add_site, &sites);
		*n = 0;
		for (uint32_t i = MF_CONTEXT_FIRST; i < sites.n; i++) {
			if (!sites.sites[i].live)
				continue;
			sites.sites[*n] = sites.sites[i];
			sites.sites[(*n)++].context = i - MF_CONTEXT_FIRST;
		}
		*sites_out = sites.sites;
		sites.sites = NULL;
		ret = 0;
	}
	free_seen(&sites, pages);
	free(sites.sites);
	return ret;
}
