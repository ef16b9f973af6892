// SPDX-License-Identifier: GPL-2.0
// The mappings of a sample, by name.

#include "residency/areas.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define AREAS_MAX 256u

/* The numbers of @from are added to @to, which then has no single address. */
static void merge(struct mf_residency_area *to, const struct mf_residency_area *from)
{
	to->start = 0;
	to->n += from->n;
	to->mapped += from->mapped;
	to->rss += from->rss;
	to->pss += from->pss;
	to->swapped += from->swapped;
	to->copied += from->copied;
	to->huge += from->huge;
	to->threads += from->threads;
}

int mf_areas_add(struct mf_areas *areas, const char *name, const struct mf_residency_area *area)
{
	struct mf_residency_area *last = areas->n ? &areas->list[areas->n - 1] : NULL;
	char *copy;

	/* The mappings of a file are usually neighbours. */
	if (last && *name && last->band == area->band && !strcmp(last->name, name)) {
		merge(last, area);
		return 0;
	}
	if (areas->n == areas->room) {
		size_t room = areas->room ? 2 * areas->room : 64;
		struct mf_residency_area *more = reallocarray(areas->list, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		areas->list = more;
		areas->room = room;
	}
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	areas->list[areas->n] = *area;
	areas->list[areas->n].areas = 1;
	areas->list[areas->n++].name = copy;
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	const struct mf_residency_area *one = a, *other = b;

	if (one->band != other->band)
		return one->band < other->band ? -1 : 1;
	return strcmp(one->name, other->name) ?: (one->start > other->start) - (one->start < other->start);
}

/* The largest first; those of one size in the order of names, so that the order is always the same. */
static int compare_sizes(const void *a, const void *b)
{
	const struct mf_residency_area *one = a, *other = b;

	return (one->rss < other->rss) - (one->rss > other->rss) ?: compare_names(a, b);
}

static int compare_bands(const void *a, const void *b)
{
	const struct mf_residency_area *one = a, *other = b;

	return (one->band > other->band) - (one->band < other->band) ?: compare_sizes(a, b);
}

static void sort(struct mf_areas *areas, int (*compare)(const void *a, const void *b))
{
	if (areas->n)
		qsort(areas->list, areas->n, sizeof(*areas->list), compare);
}

/* Makes one area of those with the same band and name. */
static void join_names(struct mf_areas *areas)
{
	size_t n = 0;

	sort(areas, compare_names);
	for (size_t i = 0; i < areas->n; i++) {
		struct mf_residency_area *area = &areas->list[i], *last = n ? &areas->list[n - 1] : NULL;

		if (last && *area->name && last->band == area->band && !strcmp(last->name, area->name)) {
			merge(last, area);
			free(area->name);
		} else {
			areas->list[n++] = *area;
		}
	}
	areas->n = n;
}

/* The stack pointer of a thread that has never been seen waiting is not known, but [stack] is that of the first thread. */
static void count_first_thread(struct mf_areas *areas)
{
	for (size_t i = 0; i < areas->n; i++)
		if (areas->list[i].band == MF_BAND_STACKS && !areas->list[i].threads)
			areas->list[i].threads = 1;
}

/* Sums up all but the largest areas, so that AREAS_MAX remain. */
static void sum_up_small(struct mf_areas *areas)
{
	struct mf_residency_area rest[MF_BANDS] = { 0 };
	/* If there is not room for all, each band may need one for the rest. */
	size_t kept = AREAS_MAX - MF_BANDS;

	if (areas->n <= AREAS_MAX)
		return;
	sort(areas, compare_sizes);
	for (size_t i = kept; i < areas->n; i++) {
		struct mf_residency_area *area = &areas->list[i], *sum = &rest[area->band];

		merge(sum, area);
		sum->areas += area->rss != 0;
		sum->n = 0;
		sum->band = area->band;
		/* The rest has no name; the first of its areas gives it the memory for that. */
		if (sum->name)
			free(area->name);
		else
			sum->name = area->name;
	}
	areas->n = kept;
	for (int i = 0; i < MF_BANDS; i++) {
		if (!rest[i].name)
			continue;
		*rest[i].name = '\0';
		areas->list[areas->n++] = rest[i];
	}
}

void mf_areas_finish(struct mf_areas *areas, struct mf_residency_detail *detail)
{
	join_names(areas);
	count_first_thread(areas);
	sum_up_small(areas);
	sort(areas, compare_bands);
	detail->areas = areas->list;
	detail->n_areas = areas->n;
	*areas = (struct mf_areas){ 0 };
}

void mf_areas_deinit(struct mf_areas *areas)
{
	for (size_t i = 0; i < areas->n; i++)
		free(areas->list[i].name);
	free(areas->list);
	*areas = (struct mf_areas){ 0 };
}
