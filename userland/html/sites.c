// SPDX-License-Identifier: GPL-2.0
// The sites of a profile's stacks, and which of them are in the page.

#include "html/sites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int mf_html_sites_init(struct mf_html_sites *sites, size_t n_contexts)
{
	sites->of_contexts = malloc((n_contexts + 1) * sizeof(*sites->of_contexts));
	if (!sites->of_contexts)
		return -ENOMEM;
	sites->n_contexts = n_contexts;
	for (size_t i = 0; i < n_contexts; i++)
		sites->of_contexts[i] = MF_HTML_NO_SITE;
	return 0;
}

int mf_html_sites_set(struct mf_html_sites *sites, uint32_t context, uint32_t call)
{
	uint32_t *number = mf_index_put(&sites->index, call, 0, (uint32_t)sites->count);

	if (!number)
		return -ENOMEM;
	sites->of_contexts[context] = *number;
	if (*number < sites->count)
		return 0;
	if (sites->count == sites->room) {
		size_t room = sites->room ? sites->room * 2 : 256;
		struct mf_html_site *list = reallocarray(sites->list, room, sizeof(*list));

		if (!list)
			return -ENOMEM;
		sites->list = list;
		sites->room = room;
	}
	sites->list[sites->count++] = (struct mf_html_site){ .call = call };
	return 0;
}

int mf_html_sites_weigh(struct mf_html_sites *sites, const struct mf_leaf *leaves, size_t n)
{
	double total = 0;

	if (!sites->sums)
		sites->sums = calloc(sites->count + 1, sizeof(*sites->sums));
	if (!sites->sums)
		return -ENOMEM;
	memset(sites->sums, 0, sites->count * sizeof(*sites->sums));
	for (size_t i = 0; i < n; i++) {
		uint32_t site = sites->of_contexts[leaves[i].context];

		if (site == MF_HTML_NO_SITE)
			continue;
		sites->sums[site] += leaves[i].bytes;
		total += (double)leaves[i].bytes;
	}
	for (size_t i = 0; i < sites->count && total > 0; i++) {
		float share = (float)((double)sites->sums[i] / total);

		if (share > sites->list[i].share)
			sites->list[i].share = share;
	}
	return 0;
}

/* Those with stacks that are merged come first, those of them that matter most before others. */
static int compare(const void *left, const void *right, void *data)
{
	const struct mf_html_site *list = data;
	const uint32_t i = *(const uint32_t *)left, k = *(const uint32_t *)right;

	if (!list[i].stacks != !list[k].stacks)
		return list[i].stacks ? -1 : 1;
	if (list[i].share != list[k].share)
		return list[i].share < list[k].share ? 1 : -1;
	return i < k ? -1 : i > k;
}

int mf_html_sites_choose(struct mf_html_sites *sites, const bool *is_merged, size_t n)
{
	size_t n_used = 0;

	free(sites->order);
	sites->order = calloc(sites->count + 1, sizeof(*sites->order));
	if (!sites->order)
		return -ENOMEM;
	for (size_t i = 0; i < sites->count; i++) {
		sites->list[i].stacks = 0;
		sites->order[i] = (uint32_t)i;
	}
	for (size_t i = 0; i < sites->n_contexts; i++)
		if (is_merged[i] && !sites->list[sites->of_contexts[i]].stacks++)
			n_used++;
	if (sites->count)
		qsort_r(sites->order, sites->count, sizeof(*sites->order), compare, sites->list);
	sites->n_kept = n < n_used ? n : n_used;
	sites->n_rest = n_used - sites->n_kept;
	sites->n_printed = sites->n_kept + (sites->n_rest > 0);
	for (size_t i = 0; i < sites->count; i++)
		sites->list[sites->order[i]].id = (uint32_t)(i < sites->n_kept ? i : sites->n_kept);
	return 0;
}

uint32_t mf_html_sites_of(const struct mf_html_sites *sites, uint32_t context)
{
	return sites->list[sites->of_contexts[context]].id;
}

void mf_html_sites_deinit(struct mf_html_sites *sites)
{
	free(sites->list);
	free(sites->of_contexts);
	free(sites->sums);
	free(sites->order);
	mf_index_deinit(&sites->index);
}
