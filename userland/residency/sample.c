// SPDX-License-Identifier: GPL-2.0
// One sample of the resident set of a process.

#include "residency/sample.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "model/blocks.h"
#include "residency/areas.h"
#include "residency/heap_pages.h"
#include "residency/huge_zeros.h"
#include "residency/pagemap.h"
#include "residency/smaps.h"

/* The heaps of glibc's arenas begin at a multiple of so many bytes, and reserve as many. */
#define GLIBC_ARENA (64ull << 20)

/*
 * A larger anonymous mapping, apart from the heap, counts as the program's own: to read which of its pages are present would
 * take long. Address sanitizers and virtual machines of languages have such mappings, mostly empty.
 */
#define ANONYMOUS_MAX (16ull << 30)

/* What smaps says of a range of heap pages. */
struct mapping {
	struct mf_smaps_sizes sizes;
	char *name; /* NULL: none */
};

struct taking {
	pid_t pid;
	uint64_t budget; /* for mf_huge_zeros_find() */
	uint64_t inode;  /* of the store's file; 0: it is not in a file, or has been found among the mappings */
	const struct mf_store *store;
	const struct mf_thread_stacks *stacks;
	struct mf_own_range own[MF_STORE_OWN_MAX]; /* massif's memory, in ascending order */
	size_t n_own;
	struct mf_heap_pages *pages;
	struct mapping *mappings; /* of each range of @pages */
	size_t room;
	struct mf_pagemap pagemap;
	struct mf_areas areas;
	struct mf_touched touched;
	struct mf_residency_detail *detail;
};

static bool begins_with(const char *text, const char *beginning)
{
	return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* Returns the band of a mapping that has no blocks, or -1 if it may have some. */
static int band_of(const struct mf_proc_mapping *map)
{
	static const struct {
		const char *beginning;
		int band;
	} names[] = {
		{ "[heap]", -1 },
		{ "[anon", -1 },
		{ "[stack", MF_BAND_STACKS },
		{ "[", MF_BAND_OTHER },
		{ "/memfd:massif-", MF_BAND_MASSIF },
		{ "/memfd:", MF_BAND_SHARED },
		{ "/dev/shm/", MF_BAND_SHARED },
		{ "/dev/zero", MF_BAND_SHARED },
		{ "/SYSV", MF_BAND_SHARED },
	};

	if (!*map->path)
		return -1;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (begins_with(map->path, names[i].beginning))
			return names[i].band;
	return strstr(map->path, "/libmassif-preload.so") ? MF_BAND_MASSIF : MF_BAND_FILES;
}

static int out_of_memory(struct mf_error *err)
{
	return mf_error_set(err, -ENOMEM, "out of memory");
}

static int make_room(struct taking *taking)
{
	size_t room = taking->room ? 2 * taking->room : 64;
	struct mapping *more;

	if (taking->pages->n_ranges <= taking->room)
		return 0;
	more = reallocarray(taking->mappings, room, sizeof(*more));
	if (!more)
		return -ENOMEM;
	taking->mappings = more;
	taking->room = room;
	return 0;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct mf_own_range *one = a, *other = b;

	return (one->start > other->start) - (one->start < other->start);
}

/* The program can write anything into the table. */
static void list_own(struct taking *taking)
{
	const struct mf_own_range *own = taking->store->header->own;

	for (size_t i = 0; i < MF_STORE_OWN_MAX; i++) {
		struct mf_own_range range = { __atomic_load_n(&own[i].start, __ATOMIC_ACQUIRE),
					      __atomic_load_n(&own[i].end, __ATOMIC_ACQUIRE) };

		if (range.start && range.start < range.end)
			taking->own[taking->n_own++] = range;
	}
	qsort(taking->own, taking->n_own, sizeof(*taking->own), compare_ranges);
}

/* Returns how many bytes between @start and @end are massif's own. */
static uint64_t own_between(const struct taking *taking, uint64_t start, uint64_t end)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < taking->n_own && taking->own[i].start < end; i++) {
		uint64_t from = taking->own[i].start > start ? taking->own[i].start : start;
		uint64_t to = taking->own[i].end < end ? taking->own[i].end : end;

		if (from < to)
			bytes += to - from;
		start = to > start ? to : start;
	}
	return bytes;
}

/* The kernel makes one mapping of neighbours, so that the shim's memory can be in a mapping of the program's. */
static void mark_own(const struct taking *taking, struct mf_heap_range *range)
{
	const uint64_t page = taking->pages->page;

	for (size_t i = 0; i < taking->n_own && taking->own[i].start < range->end; i++) {
		uint64_t from = taking->own[i].start > range->start ? taking->own[i].start : range->start;
		uint64_t to = taking->own[i].end < range->end ? taking->own[i].end : range->end;

		for (uint64_t at = from; at < to; at += page)
			range->states[(at - range->start) / page] |= MF_PAGE_OWN;
	}
}

/* Adds an anonymous mapping, in which there may be blocks. */
static int add_range(struct taking *taking, const struct mf_smaps_mapping *mapping, struct mf_error *err)
{
	size_t before = taking->pages->n_ranges;
	struct mf_heap_range *range = mf_heap_pages_add(taking->pages, mapping->map.start, mapping->map.end);
	const char *path = mapping->map.path;
	struct mapping *noted;
	int ret = 0;

	if (taking->pages->n_ranges == before || make_room(taking))
		return out_of_memory(err);
	noted = &taking->mappings[taking->pages->n_ranges - 1];
	*noted = (struct mapping){ mapping->sizes, *path ? strdup(path) : NULL };
	if (!range || (*path && !noted->name))
		return out_of_memory(err);
	range->is_arena = strcmp(path, "[heap]") == 0;
	range->may_be_arena = taking->pages->is_glibc && range->start % GLIBC_ARENA == 0 &&
			      range->end - range->start >= GLIBC_ARENA;
	range->is_shared = mapping->sizes.shared;
	if (mapping->sizes.rss == range->end - range->start && !mapping->sizes.huge && !mapping->sizes.shared)
		memset(range->states, MF_PAGE_PRESENT, (range->end - range->start) / taking->pages->page);
	else if (mapping->sizes.rss || mapping->sizes.swap)
		ret = mf_pagemap_read(&taking->pagemap, range->start, range->end, range->is_shared, range->states);
	if (!ret && mapping->sizes.huge)
		taking->detail->sample.huge_zeros +=
			mf_huge_zeros_find(taking->pid, range->start, taking->pages->page, range->states,
					   (range->end - range->start) / taking->pages->page, &taking->budget);
	mark_own(taking, range);
	return ret ? mf_error_set(err, ret, "cannot read the process's pagemap: %s", strerror(-ret)) : 0;
}

/*
 * The part of an arena that is not used yet cannot be accessed: an arena may be known by it, even if it has no block. Without
 * such a part, what is smaller than an arena is none. Another inaccessible mapping may have become one with the part.
 */
static void look_for_arena(struct mf_heap_pages *pages, const struct mf_proc_mapping *map)
{
	struct mf_heap_range *range = pages->n_ranges ? &pages->ranges[pages->n_ranges - 1] : NULL;

	if (!range || !pages->is_glibc || range->start % GLIBC_ARENA || map->start != range->end ||
	    map->end < range->start + GLIBC_ARENA || !begins_with(map->rights, "---"))
		return;
	range->may_be_arena = true;
	range->is_arena |= map->end == range->start + GLIBC_ARENA;
}

static int add_area(struct taking *taking, const char *name, const struct mf_proc_mapping *map,
		    const struct mf_smaps_sizes *sizes, enum mf_band band, size_t threads)
{
	const struct mf_residency_area area = {
		.band = band,
		.start = map->start,
		.n = 1,
		.mapped = map->end ? map->end - map->start : 0,
		.rss = sizes->rss,
		.pss = sizes->pss,
		.swapped = sizes->swap,
		.copied = band == MF_BAND_FILES ? sizes->anonymous : 0,
		.huge = sizes->huge,
		.threads = threads,
	};

	return mf_areas_add(&taking->areas, name, &area);
}

static int add_mapping(struct taking *taking, const struct mf_smaps_mapping *mapping, struct mf_error *err)
{
	struct mf_residency_sample *sample = &taking->detail->sample;
	const struct mf_proc_mapping *map = &mapping->map;
	bool is_accessible = !begins_with(map->rights, "---");
	uint64_t own = own_between(taking, map->start, map->end);
	int band = own == map->end - map->start ? MF_BAND_MASSIF : band_of(map);
	bool can_have_blocks = band < 0 && (map->rights[1] == 'w' || own) && map->rights[3] == 'p' &&
			       (map->end - map->start <= ANONYMOUS_MAX || strcmp(map->path, "[heap]") == 0);

	if (map->inode == taking->inode && begins_with(map->path, "/memfd:"))
		taking->inode = 0;
	look_for_arena(taking->pages, map);
	if (is_accessible && band != MF_BAND_MASSIF)
		sample->mapped += map->end - map->start - own;
	sample->swapped += mapping->sizes.swap;
	sample->pss += mapping->sizes.pss;
	sample->huge += mapping->sizes.huge;
	sample->shared += mapping->sizes.shared;
	if (can_have_blocks) {
		sample->shared_heap += mapping->sizes.shared;
		return add_range(taking, mapping, err);
	}
	if (band < 0)
		band = map->rights[3] == 's' ? MF_BAND_SHARED : MF_BAND_ANONYMOUS;
	sample->bands[band] += mapping->sizes.rss;
	mf_touched_add_mapping(&taking->touched, (enum mf_band)band, map->start, map->end);
	if ((is_accessible || mapping->sizes.rss) &&
	    add_area(taking, map->path, map, &mapping->sizes, (enum mf_band)band,
		     band == MF_BAND_STACKS ? mf_thread_stacks_between(taking->stacks, map->start, map->end) : 0))
		return out_of_memory(err);
	return 0;
}

static int read_mappings(struct taking *taking, pid_t pid, struct mf_error *err)
{
	struct mf_smaps_mapping mapping;
	struct mf_smaps smaps;
	int ret = mf_smaps_open(&smaps, pid);

	if (ret)
		return mf_error_set(err, ret, "cannot read /proc/%d/smaps: %s", (int)pid, strerror(-ret));
	while (!ret && mf_smaps_next(&smaps, &mapping))
		ret = add_mapping(taking, &mapping, err);
	mf_smaps_close(&smaps);
	if (!ret && !mf_pagemap_is_alive(&taking->pagemap))
		ret = mf_error_set(err, -ESRCH, "process %d has ended", (int)pid);
	/*
	 * It has executed another program, whose blocks are not in the store, or it was forked and has not mapped the store
	 * yet.
	 */
	if (!ret && taking->inode)
		ret = mf_error_set(err, -EAGAIN, "process %d has not mapped its profile", (int)pid);
	return ret;
}

/* What the pages of a range hold, in bytes. */
struct sums {
	uint64_t live, overhead, free_parts; /* in pages with blocks */
	uint64_t empty; /* pages without a block */
	uint64_t own;	/* massif's pages */
	uint64_t untouched, swapped; /* live bytes that are not resident */
	uint64_t fillings[MF_FILLINGS];
};

static enum mf_filling filling_of(uint64_t used, uint64_t page)
{
	uint64_t percent = used * 100 / page;

	return percent < 10 ? MF_FILLING_10 : percent < 25 ? MF_FILLING_25 : percent < 50 ? MF_FILLING_50 : MF_FILLING_MORE;
}

static void add_page(struct sums *sums, const struct mf_heap_range *range, size_t i, uint64_t page)
{
	uint64_t live = range->live[i], used = range->used[i] > live ? range->used[i] : live;

	if (!(range->states[i] & MF_PAGE_PRESENT)) {
		*(range->states[i] & MF_PAGE_SWAPPED ? &sums->swapped : &sums->untouched) += live;
	} else if (range->states[i] & MF_PAGE_OWN) {
		sums->own += page;
	} else if (used) {
		sums->live += live;
		sums->overhead += used - live;
		sums->free_parts += page - used;
		sums->fillings[filling_of(used, page)] += page;
	} else {
		sums->empty += page;
	}
}

/* The same for pages from number @i to @end of a part without blocks. */
static void add_empty_pages(struct sums *sums, const struct mf_heap_range *range, size_t i, size_t end, uint64_t page)
{
	static const uint8_t absent[64];

	while (i < end) {
		if (!range->states[i] && end - i >= sizeof(absent) && !memcmp(range->states + i, absent, sizeof(absent))) {
			i += sizeof(absent);
			continue;
		}
		if (range->states[i] & MF_PAGE_PRESENT)
			*(range->states[i] & MF_PAGE_OWN ? &sums->own : &sums->empty) += page;
		i++;
	}
}

static struct sums sum_pages(const struct mf_heap_range *range, uint64_t page)
{
	size_t n = (size_t)((range->end - range->start) / page), end;
	struct sums sums = { 0 };

	for (size_t i = 0; i < n; i = end) {
		end = n - i < MF_HEAP_PART ? n : i + MF_HEAP_PART;
		if (!range->has_blocks[i / MF_HEAP_PART])
			add_empty_pages(&sums, range, i, end, page);
		else
			for (size_t k = i; k < end; k++)
				add_page(&sums, range, k, page);
	}
	return sums;
}

static void take_from(uint64_t *from, uint64_t *bytes)
{
	uint64_t part = *from < *bytes ? *from : *bytes;

	*from -= part;
	*bytes -= part;
}

/*
 * Makes the sums equal to the resident bytes that smaps has counted. They differ if the program has touched or given back
 * pages since then, and if it has read pages that it has never written: the kernel maps a page of zeros for these, which is
 * present but is not counted as resident.
 */
static void settle(struct sums *sums, uint64_t rss)
{
	uint64_t sum = sums->live + sums->overhead + sums->free_parts + sums->empty + sums->own;

	if (sum < rss) {
		sums->empty += rss - sum;
	} else {
		uint64_t excess = sum - rss;

		take_from(&sums->empty, &excess);
		take_from(&sums->free_parts, &excess);
		take_from(&sums->overhead, &excess);
		take_from(&sums->live, &excess);
		take_from(&sums->own, &excess);
	}
}

/* Returns the band of a range's pages that hold no block. */
static enum mf_band band_of_empty(const struct taking *taking, const struct mf_heap_range *range)
{
	if (mf_heap_pages_are_free(taking->pages, range))
		return MF_BAND_FREE_PAGES;
	return mf_thread_stacks_between(taking->stacks, range->start, range->end) ? MF_BAND_STACKS :
											      MF_BAND_ANONYMOUS;
}

/*
 * A mapping can have several areas: the allocator's pages, massif's, and others. Only the first of these that it has gets the
 * sizes besides the resident one.
 */
static int add_areas_of(struct taking *taking, size_t i, const struct sums *sums, enum mf_band other)
{
	const struct mf_heap_range *range = &taking->pages->ranges[i];
	const struct mf_proc_mapping map = { .start = range->start, .end = range->end }, part = { .start = range->start };
	const struct mf_smaps_sizes *sizes = &taking->mappings[i].sizes;
	const char *name = taking->mappings[i].name ?: "";
	bool is_free = other == MF_BAND_FREE_PAGES, is_first = true;
	const struct {
		enum mf_band band;
		uint64_t rss;
		bool always; /* although nothing is resident */
	} parts[] = {
		{ MF_BAND_LIVE, sums->live + sums->overhead + sums->free_parts + (is_free ? sums->empty : 0), is_free },
		{ other, is_free ? 0 : sums->empty, !is_free && !sums->live && !sums->own },
		{ MF_BAND_MASSIF, sums->own, false },
	};
	char of_thread[80];
	int ret = 0;

	for (size_t k = 0; k < sizeof(parts) / sizeof(parts[0]) && !ret; k++) {
		struct mf_smaps_sizes its = is_first ? *sizes : (struct mf_smaps_sizes){ 0 };
		bool is_stack = parts[k].band == MF_BAND_STACKS;

		if (!parts[k].rss && !parts[k].always)
			continue;
		its.rss = parts[k].rss;
		ret = add_area(taking, is_stack ? mf_thread_stacks_name(taking->stacks, range->start, range->end, of_thread,
									sizeof(of_thread)) : name,
			       is_first ? &map : &part, &its, parts[k].band,
			       is_stack ? mf_thread_stacks_between(taking->stacks, range->start, range->end) : 0);
		is_first = false;
	}
	return ret;
}

static int sum_up(struct taking *taking)
{
	struct mf_residency_sample *sample = &taking->detail->sample;
	int ret = 0;

	for (size_t i = 0; i < taking->pages->n_ranges && !ret; i++) {
		const struct mf_heap_range *range = &taking->pages->ranges[i];
		struct sums sums = sum_pages(range, taking->pages->page);
		enum mf_band empty = band_of_empty(taking, range);

		settle(&sums, taking->mappings[i].sizes.rss);
		mf_touched_add_range(&taking->touched, range, taking->pages->page, empty);
		sample->bands[MF_BAND_LIVE] += sums.live;
		sample->bands[MF_BAND_OVERHEAD] += sums.overhead;
		sample->bands[MF_BAND_FREE_PARTS] += sums.free_parts;
		sample->bands[empty] += sums.empty;
		sample->bands[MF_BAND_MASSIF] += sums.own;
		sample->untouched += sums.untouched;
		sample->heap_swapped += sums.swapped;
		if (empty == MF_BAND_FREE_PAGES)
			sums.fillings[MF_FILLING_NONE] = sums.empty;
		for (int j = 0; j < MF_FILLINGS; j++)
			taking->detail->fillings[j] += sums.fillings[j];
		ret = add_areas_of(taking, i, &sums, empty);
	}
	return ret;
}

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static uint64_t inode_of(int file)
{
	struct stat status;

	return file && !fstat(file, &status) ? (uint64_t)status.st_ino : 0;
}

static int unreadable_blocks(int code, struct mf_error *err)
{
	return mf_error_set(err, code, "cannot read the table of blocks: %s", strerror(-code));
}

static int take(struct taking *taking, pid_t pid, struct mf_error *err)
{
	struct mf_residency_detail *detail = taking->detail;
	int ret = mf_pagemap_open(&taking->pagemap, pid);

	if (ret)
		return mf_error_set(err, ret, "cannot read /proc/%d/pagemap: %s", (int)pid, strerror(-ret));
	taking->pages->page = taking->pagemap.page;
	taking->pages->is_glibc = mf_blocks_granule_bits(taking->store) > MF_BLOCKS_ALIGN_BITS;
	list_own(taking);
	ret = mf_live_blocks_begin(&taking->pages->blocks, taking->store);
	if (ret)
		return unreadable_blocks(ret, err);
	ret = read_mappings(taking, pid, err);
	if (ret)
		return ret;
	ret = mf_heap_pages_fill(taking->pages, taking->store);
	if (ret)
		return unreadable_blocks(ret, err);
	if (sum_up(taking) || mf_touched_finish(&taking->touched, detail) ||
	    mf_heap_pages_list_sites(taking->pages, taking->store, &detail->sites, &detail->n_sites))
		return out_of_memory(err);
	mf_areas_finish(&taking->areas, detail);
	return 0;
}

int mf_sample_take(pid_t pid, const struct mf_store *store, int memory, struct mf_sample_memory *earlier,
		   const struct mf_touch_source *touches, struct mf_residency_detail *detail, struct mf_error *err)
{
	struct taking taking = {
		.pid = pid,
		.budget = MF_HUGE_ZEROS_BYTES,
		.inode = inode_of(memory),
		.store = store,
		.stacks = &earlier->stacks,
		.pages = &earlier->pages,
		.pagemap = { .fd = -1 },
		.touched = { .source = touches },
		.detail = detail,
	};
	uint64_t begun = now_us();
	int ret = mf_thread_stacks_look(&earlier->stacks, pid);

	mf_live_blocks_change(&earlier->pages.blocks, memory);
	*detail = (struct mf_residency_detail){ 0 };
	ret = ret ? mf_error_set(err, ret, "cannot list the threads of process %d: %s", (int)pid, strerror(-ret)) :
		    take(&taking, pid, err);
	detail->sample.took_us = now_us() - begun;
	mf_pagemap_close(&taking.pagemap);
	for (size_t i = 0; i < earlier->pages.n_ranges && i < taking.room; i++)
		free(taking.mappings[i].name);
	free(taking.mappings);
	mf_heap_pages_reset(&earlier->pages);
	mf_areas_deinit(&taking.areas);
	mf_touched_deinit(&taking.touched);
	return ret;
}

void mf_sample_memory_deinit(struct mf_sample_memory *earlier)
{
	mf_thread_stacks_deinit(&earlier->stacks);
	mf_heap_pages_deinit(&earlier->pages);
}
