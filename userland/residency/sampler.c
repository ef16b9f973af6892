// SPDX-License-Identifier: GPL-2.0
// Samples the resident set of a process that is profiled in heap mode, while it runs.

#include "residency/sampler.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model/blocks.h"
#include "residency/heap_pages.h"
#include "residency/pagemap.h"
#include "residency/smaps.h"

/* The heaps of glibc's arenas begin at a multiple of so many bytes, and reserve as many. */
#define GLIBC_ARENA (64ull << 20)

/*
 * A larger anonymous mapping, apart from the heap, counts as the program's own: to read which of its pages are present would
 * take long. Address sanitizers and virtual machines of languages have such mappings, mostly empty.
 */
#define ANONYMOUS_MAX (16ull << 30)

/* Samples may take one part in so many of a processor's time. */
#define DUTY 33u
#define INTERVAL_MS 50u

struct taking {
	struct mf_sampler *sampler;
	const struct mf_store *store;
	struct mf_heap_pages pages;
	uint64_t *rss; /* of each range of @pages: resident bytes according to smaps */
	size_t room;
	struct mf_pagemap pagemap;
	struct mf_residency_detail detail;
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

/* Adds an anonymous mapping, in which there may be blocks. */
static int add_range(struct taking *taking, const struct mf_smaps_mapping *mapping, struct mf_error *err)
{
	struct mf_heap_range *range = mf_heap_pages_add(&taking->pages, mapping->map.start, mapping->map.end);
	int ret = 0;

	if (!range)
		return out_of_memory(err);
	range->is_arena = strcmp(mapping->map.path, "[heap]") == 0;
	range->may_be_arena = taking->pages.is_glibc && mapping->map.start % GLIBC_ARENA == 0;
	if (taking->pages.n_ranges > taking->room) {
		size_t room = taking->room ? 2 * taking->room : 64;
		uint64_t *more = reallocarray(taking->rss, room, sizeof(*more));

		if (!more)
			return out_of_memory(err);
		taking->rss = more;
		taking->room = room;
	}
	taking->rss[taking->pages.n_ranges - 1] = mapping->sizes.rss;
	if (mapping->sizes.rss || mapping->sizes.swap)
		ret = mf_pagemap_read(&taking->pagemap, range->start, range->end, range->states);
	return ret ? mf_error_set(err, ret, "cannot read the process's pagemap: %s", strerror(-ret)) : 0;
}

/* The part of an arena that is not used yet cannot be accessed: an arena may be known by it, even if it has no block. */
static void look_for_arena(struct mf_heap_pages *pages, const struct mf_proc_mapping *map)
{
	struct mf_heap_range *range = pages->n_ranges ? &pages->ranges[pages->n_ranges - 1] : NULL;

	if (range && range->may_be_arena && map->start == range->end && map->end == range->start + GLIBC_ARENA &&
	    begins_with(map->rights, "---"))
		range->is_arena = true;
}

static int add_mapping(struct taking *taking, const struct mf_smaps_mapping *mapping, struct mf_error *err)
{
	struct mf_residency_sample *sample = &taking->detail.sample;
	int band = band_of(&mapping->map);
	bool can_have_blocks = band < 0 && mapping->map.rights[1] == 'w' && mapping->map.rights[3] == 'p' &&
			       (mapping->map.end - mapping->map.start <= ANONYMOUS_MAX ||
				strcmp(mapping->map.path, "[heap]") == 0);

	look_for_arena(&taking->pages, &mapping->map);
	if (!begins_with(mapping->map.rights, "---") && band != MF_BAND_MASSIF)
		sample->mapped += mapping->map.end - mapping->map.start;
	sample->swapped += mapping->sizes.swap;
	sample->pss += mapping->sizes.pss;
	sample->huge += mapping->sizes.huge;
	if (can_have_blocks)
		return add_range(taking, mapping, err);
	if (band < 0)
		band = mapping->map.rights[3] == 's' ? MF_BAND_SHARED : MF_BAND_ANONYMOUS;
	sample->bands[band] += mapping->sizes.rss;
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
	return ret;
}

/* What the pages of a range hold, in bytes. */
struct sums {
	uint64_t live, overhead, free_parts; /* in pages with blocks */
	uint64_t empty; /* pages without a block */
	uint64_t untouched, swapped; /* live bytes that are not resident */
	uint64_t fillings[MF_FILLINGS];
};

static enum mf_filling filling_of(uint64_t used, uint64_t page)
{
	uint64_t percent = used * 100 / page;

	return percent < 10 ? MF_FILLING_10 : percent < 25 ? MF_FILLING_25 : percent < 50 ? MF_FILLING_50 : MF_FILLING_MORE;
}

static struct sums sum_pages(const struct mf_heap_range *range, uint64_t page)
{
	size_t n = (size_t)((range->end - range->start) / page);
	struct sums sums = { 0 };

	for (size_t i = 0; i < n; i++) {
		uint64_t live = range->live[i], used = range->used[i] > live ? range->used[i] : live;

		if (!(range->states[i] & MF_PAGE_PRESENT)) {
			*(range->states[i] & MF_PAGE_SWAPPED ? &sums.swapped : &sums.untouched) += live;
		} else if (used) {
			sums.live += live;
			sums.overhead += used - live;
			sums.free_parts += page - used;
			sums.fillings[filling_of(used, page)] += page;
		} else {
			sums.empty += page;
		}
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
	uint64_t sum = sums->live + sums->overhead + sums->free_parts + sums->empty;

	if (sum < rss) {
		sums->empty += rss - sum;
	} else {
		uint64_t excess = sum - rss;

		take_from(&sums->empty, &excess);
		take_from(&sums->free_parts, &excess);
		take_from(&sums->overhead, &excess);
		take_from(&sums->live, &excess);
	}
}

/* Returns the band of a range's pages that hold no block. */
static enum mf_band band_of_empty(const struct taking *taking, const struct mf_heap_range *range)
{
	if (mf_heap_pages_are_free(&taking->pages, range))
		return MF_BAND_FREE_PAGES;
	return mf_thread_stacks_between(&taking->sampler->stacks, range->start, range->end) ? MF_BAND_STACKS :
											      MF_BAND_ANONYMOUS;
}

static void sum_up(struct taking *taking)
{
	struct mf_residency_sample *sample = &taking->detail.sample;

	for (size_t i = 0; i < taking->pages.n_ranges; i++) {
		const struct mf_heap_range *range = &taking->pages.ranges[i];
		struct sums sums = sum_pages(range, taking->pages.page);
		enum mf_band empty = band_of_empty(taking, range);

		settle(&sums, taking->rss[i]);
		sample->bands[MF_BAND_LIVE] += sums.live;
		sample->bands[MF_BAND_OVERHEAD] += sums.overhead;
		sample->bands[MF_BAND_FREE_PARTS] += sums.free_parts;
		sample->bands[empty] += sums.empty;
		sample->untouched += sums.untouched;
		sample->heap_swapped += sums.swapped;
		if (empty == MF_BAND_FREE_PAGES)
			sums.fillings[MF_FILLING_NONE] = sums.empty;
		for (int j = 0; j < MF_FILLINGS; j++)
			taking->detail.fillings[j] += sums.fillings[j];
	}
}

static uint64_t now_us(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Returns the largest resident set that the process has had (VmHWM), in bytes; 0 if it is not known. */
static uint64_t read_peak(pid_t pid)
{
	char path[32], line[128];
	uint64_t kib = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	while (file && !kib && fgets(line, sizeof(line), file))
		if (begins_with(line, "VmHWM:"))
			kib = strtoull(line + strlen("VmHWM:"), NULL, 10);
	if (file)
		fclose(file);
	return kib * 1024;
}

static int take(struct taking *taking, pid_t pid, struct mf_error *err)
{
	uint64_t begun = now_us(CLOCK_MONOTONIC);
	int ret = mf_pagemap_open(&taking->pagemap, pid);

	if (ret)
		return mf_error_set(err, ret, "cannot read /proc/%d/pagemap: %s", (int)pid, strerror(-ret));
	taking->pages.page = taking->pagemap.page;
	taking->pages.is_glibc = mf_blocks_granule_bits(taking->store) > MF_BLOCKS_ALIGN_BITS;
	ret = mf_thread_stacks_look(&taking->sampler->stacks, pid);
	if (ret)
		return mf_error_set(err, ret, "cannot list the threads of process %d: %s", (int)pid, strerror(-ret));
	ret = read_mappings(taking, pid, err);
	if (ret)
		return ret;
	taking->sampler->residency.peak_rss = read_peak(pid) ?: taking->sampler->residency.peak_rss;
	mf_heap_pages_fill(&taking->pages, taking->store);
	sum_up(taking);
	if (mf_heap_pages_list_sites(&taking->pages, taking->store, &taking->detail.sites, &taking->detail.n_sites))
		return out_of_memory(err);
	taking->detail.sample.took_us = now_us(CLOCK_MONOTONIC) - begun;
	return 0;
}

/* Drops every second sample. */
static void thin(struct mf_sampler *sampler)
{
	struct mf_residency *residency = &sampler->residency;
	size_t n = 0;

	for (size_t i = 0; i < residency->n_samples; i += 2)
		residency->samples[n++] = residency->samples[i];
	residency->n_samples = n;
	sampler->interval_ms *= 2;
}

static int keep(struct mf_sampler *sampler, const struct mf_residency_sample *sample)
{
	struct mf_residency *residency = &sampler->residency;

	if (!residency->samples) {
		residency->samples = calloc(2 * MF_SAMPLES_KEPT, sizeof(*residency->samples));
		if (!residency->samples)
			return -ENOMEM;
		sampler->interval_ms = INTERVAL_MS;
	}
	if (residency->n_samples == 2 * MF_SAMPLES_KEPT)
		thin(sampler);
	residency->samples[residency->n_samples++] = *sample;
	return 0;
}

static int copy_detail(struct mf_residency_detail *to, const struct mf_residency_detail *from)
{
	struct mf_residency_site *sites = reallocarray(NULL, from->n_sites + 1, sizeof(*sites));

	if (!sites)
		return -ENOMEM;
	memcpy(sites, from->sites, from->n_sites * sizeof(*sites));
	mf_residency_detail_deinit(to);
	*to = *from;
	to->sites = sites;
	return 0;
}

static int note(struct mf_sampler *sampler, struct mf_residency_detail *detail)
{
	struct mf_residency *residency = &sampler->residency;
	int ret = keep(sampler, &detail->sample);

	if (!ret && mf_residency_rss(&detail->sample) > mf_residency_rss(&residency->peak.sample))
		ret = copy_detail(&residency->peak, detail);
	if (ret)
		return ret;
	mf_residency_detail_deinit(&residency->last);
	residency->last = *detail;
	detail->sites = NULL;
	return 0;
}

int mf_sampler_take(struct mf_sampler *sampler, pid_t pid, const struct mf_store *store, uint64_t time_ms,
		    struct mf_error *err)
{
	struct taking taking = { .sampler = sampler, .store = store, .pagemap = { .fd = -1 } };
	uint64_t begun = now_us(CLOCK_THREAD_CPUTIME_ID), pause;
	int ret;

	taking.detail.sample.time_ms = time_ms;
	ret = take(&taking, pid, err);
	if (!ret && note(sampler, &taking.detail))
		ret = out_of_memory(err);
	pause = (now_us(CLOCK_THREAD_CPUTIME_ID) - begun) * DUTY / 1000;
	sampler->next_ms = time_ms + (pause > sampler->interval_ms ? pause : sampler->interval_ms);
	mf_pagemap_close(&taking.pagemap);
	mf_heap_pages_deinit(&taking.pages);
	mf_residency_detail_deinit(&taking.detail);
	free(taking.rss);
	return ret;
}

void mf_sampler_deinit(struct mf_sampler *sampler)
{
	mf_residency_deinit(&sampler->residency);
	mf_thread_stacks_deinit(&sampler->stacks);
	*sampler = (struct mf_sampler){ 0 };
}
