// SPDX-License-Identifier: GPL-2.0
// How much of each page is used by live blocks.

#include "residency/heap_pages.h"

#include <errno.h>
#include <stdlib.h>

#include "model/tally.h"
#include "model/trie.h"
#include "residency/pagemap.h"

/* 32 MB of copies. */
#define COPIED_MAX (1u << 20)

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
	};
	pages->n_ranges++;
	return range->states && range->live && range->used ? range : NULL;
}

void mf_heap_pages_deinit(struct mf_heap_pages *pages)
{
	for (size_t i = 0; i < pages->n_ranges; i++) {
		free(pages->ranges[i].states);
		free(pages->ranges[i].live);
		free(pages->ranges[i].used);
	}
	free(pages->ranges);
	free(pages->blocks);
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

/* A walk over the blocks. The table of blocks has neighbours one after the other, so most are in the range of the last one. */
struct walk {
	struct mf_heap_pages *pages;
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
 * Returns what a block occupies, with its overhead. A chunk of glibc's allocator has a word for its size in front of the
 * block, is a multiple of 16 bytes long and at least 32. A large block has pages of its own, and begins 16 bytes after the
 * first one's start. Other allocators keep their data elsewhere, and round up in ways that are not known here: what they
 * add counts as free.
 */
static struct extent extent_of(const struct mf_heap_pages *pages, const struct mf_heap_range *range,
			       const struct mf_block *block)
{
	uint64_t size = block->size < 24 ? 24 : block->size, page = pages->page;

	if (!pages->is_glibc)
		return (struct extent){ block->address, block->address + ((block->size + 7) & ~7ull) };
	if (is_large(pages, range, block))
		return (struct extent){ block->address - 16, (block->address + block->size + page - 1) & ~(page - 1) };
	return (struct extent){ block->address - 8, block->address - 8 + ((size + 8 + 15) & ~15ull) };
}

/* Adds to the pages of @counts what is between @start and @end, both at most the end of the range. */
static void add(const struct mf_heap_pages *pages, const struct mf_heap_range *range, uint16_t *counts, uint64_t start,
		uint64_t end)
{
	if (end > range->end)
		end = range->end;
	if (start < range->start)
		start = range->start;
	while (start < end) {
		uint64_t number = (start - range->start) / pages->page;
		uint64_t next = range->start + (number + 1) * pages->page, until = next < end ? next : end;
		uint64_t sum = counts[number] + (until - start);

		/* If the program changes the table meanwhile, a block may be counted with another that has taken its place. */
		counts[number] = (uint16_t)(sum > pages->page ? pages->page : sum);
		start = until;
	}
}

/* Drops the copy if there are too many blocks, or too little memory. */
static void copy(struct mf_heap_pages *pages, const struct mf_block *block)
{
	if (pages->lacks_copy)
		return;
	if (pages->n_blocks == pages->room_blocks) {
		size_t room = pages->room_blocks ? 2 * pages->room_blocks : 1024;
		struct mf_block *more = pages->n_blocks < COPIED_MAX ?
						reallocarray(pages->blocks, room, sizeof(*more)) : NULL;

		if (!more) {
			pages->lacks_copy = true;
			return;
		}
		pages->blocks = more;
		pages->room_blocks = room;
	}
	pages->blocks[pages->n_blocks++] = *block;
}

static void fill(const struct mf_block *block, void *data)
{
	struct walk *walk = data;
	struct mf_heap_range *range = range_of(walk, block->address);
	struct extent extent;

	if (block->address == walk->pages->freed)
		return;
	copy(walk->pages, block);
	if (!range) {
		walk->pages->outside += block->size;
		return;
	}
	range->n_blocks++;
	if (walk->pages->is_glibc && block->address == range->start + 16 && is_large(walk->pages, range, block))
		range->has_large_at_start = true;
	extent = extent_of(walk->pages, range, block);
	add(walk->pages, range, range->live, block->address, block->address + block->size);
	add(walk->pages, range, range->used, extent.start, extent.end);
}

/* Only a program with one thread delays a free, and no more than one. */
static void note_freed(const struct mf_block *block, void *data)
{
	struct mf_heap_pages *pages = data;

	pages->freed = block->address;
}

void mf_heap_pages_fill(struct mf_heap_pages *pages, const struct mf_store *store)
{
	struct walk walk = { .pages = pages };

	mf_tally_walk_delayed(store, note_freed, pages);
	mf_blocks_walk(store, fill, &walk);
}

bool mf_heap_pages_are_free(const struct mf_heap_pages *pages, const struct mf_heap_range *range)
{
	if (!pages->is_glibc)
		return range->is_arena || range->n_blocks;
	return range->is_arena || (range->may_be_arena && range->n_blocks && !range->has_large_at_start);
}

/* Collects what each context keeps. */
struct sites {
	struct walk walk;
	struct mf_residency_site *sites; /* of each context */
	uint32_t n;
	uint16_t **seen; /* of each range, for each of its pages: live bytes of the blocks that have been visited */
};

static void charge(struct sites *sites, const struct mf_heap_range *range, const struct mf_block *block)
{
	struct mf_residency_site *site = &sites->sites[block->context];
	const uint64_t page = sites->walk.pages->page;
	uint64_t start = block->address, end = start + block->size;
	uint16_t *seen = sites->seen[sites->walk.range];

	site->live += block->size;
	if (end > range->end || end < start)
		end = range->end;
	while (start < end) {
		uint64_t number = (start - range->start) / page, next = range->start + (number + 1) * page;
		uint64_t until = next < end ? next : end, bytes = until - start, before = seen[number];
		uint64_t live = range->live[number], free = page - range->used[number];

		start = until;
		/* Blocks that came after the pages were filled have no share. */
		if (bytes > live - before)
			bytes = live - before;
		if (!bytes)
			continue;
		seen[number] = (uint16_t)(before + bytes);
		if (range->states[number] & MF_PAGE_PRESENT)
			/* Rounded so that the shares of all blocks add up to the page's free bytes. */
			site->pinned += free * (before + bytes) / live - free * before / live;
		else if (!(range->states[number] & MF_PAGE_SWAPPED))
			site->untouched += bytes;
	}
}

static void visit_site(const struct mf_block *block, void *data)
{
	struct sites *sites = data;
	const struct mf_heap_range *range = range_of(&sites->walk, block->address);

	if (block->context >= sites->n || block->address == sites->walk.pages->freed)
		return;
	if (range)
		charge(sites, range, block);
	else
		sites->sites[block->context].live += block->size;
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
	struct sites sites = { .walk = { .pages = (struct mf_heap_pages *)pages } };
	uint32_t n_contexts = __atomic_load_n(&store->header->n_contexts, __ATOMIC_ACQUIRE);
	int ret = -ENOMEM;

	/* The program can write any number there. */
	if (n_contexts <= mf_trie_contexts_max(store))
		sites.n = n_contexts;

	sites.sites = calloc((size_t)sites.n + 1, sizeof(*sites.sites));
	if (sites.sites && make_seen(&sites, pages)) {
		if (pages->lacks_copy)
			mf_blocks_walk(store, visit_site, &sites);
		else
			for (size_t i = 0; i < pages->n_blocks; i++)
				visit_site(&pages->blocks[i], &sites);
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
