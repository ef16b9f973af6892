// SPDX-License-Identifier: GPL-2.0
// The sites of a running profile: what they hold, and how fast that grows.

#include "table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "model/trie.h"

const char *const mf_live_sort_names[MF_LIVE_SORTS] = {
	[MF_LIVE_HELD] = "held",
	[MF_LIVE_GROWTH] = "growth",
	[MF_LIVE_ALLOCATIONS] = "allocations",
};

const char *const mf_live_by_names[MF_LIVE_BYS] = {
	[MF_LIVE_BY_SITE] = "site",
	[MF_LIVE_BY_FUNCTION] = "function",
};

/* Rates of less time would be those of a few events. The last update of a process, when it ends, can be that early. */
#define LEAST_MS 90

/* What is less than this part is far down in the table. */
#define SEEN_SHARE 100

static const char unnamed[] = "(names are being looked up)";

/* Returns the number of the site with @label, or MF_LIVE_IGNORED if out of memory. */
static uint32_t find_site(struct mf_live_sites *sites, const char *label)
{
	uint64_t hash = mf_hash_text(label, 0);
	uint32_t *number;

	/* Different labels with the same hash are told apart by the second key. */
	for (uint32_t i = 0;; i++) {
		number = mf_index_put(&sites->index, hash, i, (uint32_t)sites->count);
		if (!number)
			return MF_LIVE_IGNORED;
		if (*number == sites->count)
			break;
		if (strcmp(sites->list[*number].label, label) == 0)
			return *number;
	}
	if (sites->count == sites->room) {
		size_t room = sites->room ? sites->room * 2 : 256;
		struct mf_live_site *list = reallocarray(sites->list, room, sizeof(*list));

		if (!list)
			return MF_LIVE_IGNORED;
		sites->list = list;
		sites->room = room;
	}
	label = strdup(label);
	if (!label)
		return MF_LIVE_IGNORED;
	sites->list[sites->count] = (struct mf_live_site){ .label = label };
	return (uint32_t)sites->count++;
}

int mf_live_table_init(struct mf_live_table *table, struct mf_error *err)
{
	*table = (struct mf_live_table){ 0 };
	for (int by = 0; by < MF_LIVE_BYS; by++) {
		table->sites[by].n_contexts = MF_CONTEXT_FIRST;
		table->sites[by].contexts = calloc(MF_CONTEXT_FIRST, sizeof(uint32_t));
		if (!table->sites[by].contexts || find_site(&table->sites[by], unnamed) != MF_LIVE_UNNAMED) {
			mf_live_table_deinit(table);
			return mf_error_set(err, -ENOMEM, "out of memory");
		}
		/* Number 1 is for blocks that do not count. */
		for (uint32_t i = 0; i < MF_CONTEXT_FIRST; i++)
			table->sites[by].contexts[i] = MF_LIVE_IGNORED;
	}
	return 0;
}

void mf_live_table_deinit(struct mf_live_table *table)
{
	for (int by = 0; by < MF_LIVE_BYS; by++) {
		struct mf_live_sites *sites = &table->sites[by];

		for (size_t i = 0; i < sites->count; i++)
			free((char *)sites->list[i].label);
		free(sites->list);
		free(sites->contexts);
		mf_index_deinit(&sites->index);
	}
	free(table->before);
	*table = (struct mf_live_table){ 0 };
}

int mf_live_table_name(struct mf_live_table *table, const struct mf_live_batch *batch, struct mf_error *err)
{
	for (int by = 0; by < MF_LIVE_BYS; by++) {
		struct mf_live_sites *sites = &table->sites[by];
		uint32_t *contexts;

		if (batch->first != sites->n_contexts)
			continue;
		contexts = reallocarray(sites->contexts, batch->end, sizeof(*contexts));
		if (!contexts)
			return mf_error_set(err, -ENOMEM, "out of memory");
		sites->contexts = contexts;
		for (uint32_t i = batch->first; i < batch->end; i++) {
			const char *label = batch->labels[by][i - batch->first];

			contexts[i] = label ? find_site(sites, label) : MF_LIVE_IGNORED;
		}
		sites->n_contexts = batch->end;
	}
	return 0;
}

static void add(struct mf_live_counts *to, const struct mf_live_counts *counts)
{
	to->bytes += counts->bytes;
	to->allocations += counts->allocations;
	to->allocated += counts->allocated;
}

double mf_live_table_seconds(const struct mf_live_table *table)
{
	int64_t ms = table->at_ms - table->before_ms;

	return ms > 0 ? (double)ms / 1000 : 0.001;
}

static void add_context(struct mf_live_sites *sites, uint32_t context, const struct mf_live_counts *now,
			const struct mf_live_counts *before)
{
	uint32_t number = context < sites->n_contexts ? sites->contexts[context] : MF_LIVE_UNNAMED;

	if (number == MF_LIVE_IGNORED)
		return;
	add(&sites->list[number].now, now);
	if (before)
		add(&sites->list[number].before, before);
}

void mf_live_table_add_up(struct mf_live_table *table, const struct mf_live_session *session)
{
	double seconds = mf_live_table_seconds(table);

	for (int by = 0; by < MF_LIVE_BYS; by++)
		for (size_t i = 0; i < table->sites[by].count; i++)
			table->sites[by].list[i].now = table->sites[by].list[i].before = (struct mf_live_counts){ 0 };
	/* The counts of a hundred thousand contexts are more than a processor's cache holds, so they are read once. */
	for (uint32_t i = MF_CONTEXT_FIRST; i < session->n_contexts; i++) {
		const struct mf_live_counts *before = i < table->n_before ? &table->before[i] : NULL;

		for (int by = 0; by < MF_LIVE_BYS; by++)
			add_context(&table->sites[by], i, &session->contexts[i], before);
	}
	for (int by = 0; by < MF_LIVE_BYS; by++) {
		for (size_t i = 0; i < table->sites[by].count; i++) {
			struct mf_live_site *site = &table->sites[by].list[i];

			site->growth = (double)(int64_t)(site->now.bytes - site->before.bytes) / seconds;
			site->allocations = (double)(site->now.allocations - site->before.allocations) / seconds;
		}
	}
}

int mf_live_table_update(struct mf_live_table *table, struct mf_live_session *session, struct mf_error *err)
{
	/* What was read last is now what was before. Its array takes the new counts. */
	struct mf_live_counts *last = session->contexts;
	uint32_t n_last = session->n_contexts;
	bool shifts = mf_live_session_age_ms(session) - table->at_ms >= LEAST_MS;
	int ret;

	if (shifts) {
		session->contexts = table->before;
		session->room = session->contexts ? table->n_before : 0;
		session->n_contexts = 0;
		table->before = last;
		table->n_before = last ? n_last : 0;
	}
	ret = mf_live_session_read(session, err);
	if (ret)
		return ret;
	if (shifts) {
		table->before_ms = table->at_ms;
		table->totals_before = table->totals;
	}
	table->at_ms = session->totals.age_ms;
	table->totals = session->totals;
	table->n_contexts = session->n_contexts;
	mf_live_table_add_up(table, session);
	return 0;
}

bool mf_live_table_needs_names(const struct mf_live_table *table)
{
	const struct mf_live_site *hidden = &table->sites[MF_LIVE_BY_SITE].list[MF_LIVE_UNNAMED];
	const struct mf_live_counts *now = &table->totals.counts, *before = &table->totals_before.counts;
	uint64_t allocations = hidden->now.allocations - hidden->before.allocations;

	return hidden->now.bytes > now->bytes / SEEN_SHARE ||
	       allocations > (now->allocations - before->allocations) / SEEN_SHARE;
}

static int compare(double one, double other)
{
	return (one < other) - (one > other);
}

static int by_held(const void *a, const void *b)
{
	const struct mf_live_site *one = *(const struct mf_live_site *const *)a;
	const struct mf_live_site *other = *(const struct mf_live_site *const *)b;

	return (one->now.bytes < other->now.bytes) - (one->now.bytes > other->now.bytes) ?:
	       strcmp(one->label, other->label);
}

static int by_growth(const void *a, const void *b)
{
	const struct mf_live_site *one = *(const struct mf_live_site *const *)a;
	const struct mf_live_site *other = *(const struct mf_live_site *const *)b;

	return compare(one->growth, other->growth) ?: by_held(a, b);
}

static int by_allocations(const void *a, const void *b)
{
	const struct mf_live_site *one = *(const struct mf_live_site *const *)a;
	const struct mf_live_site *other = *(const struct mf_live_site *const *)b;

	return compare(one->allocations, other->allocations) ?: by_held(a, b);
}

static int (*const comparisons[MF_LIVE_SORTS])(const void *a, const void *b) = {
	[MF_LIVE_HELD] = by_held,
	[MF_LIVE_GROWTH] = by_growth,
	[MF_LIVE_ALLOCATIONS] = by_allocations,
};

size_t mf_live_table_list(const struct mf_live_table *table, enum mf_live_by by, enum mf_live_sort sort,
			  const regex_t *regex, const struct mf_live_site ***list)
{
	const struct mf_live_sites *sites = &table->sites[by];
	const struct mf_live_site **found = calloc(sites->count + 1, sizeof(*found));
	size_t n = 0;

	*list = found;
	for (size_t i = 0; found && i < sites->count; i++) {
		const struct mf_live_site *site = &sites->list[i];

		if (!site->now.bytes && !site->before.bytes && !site->allocations)
			continue;
		if (regex && regexec(regex, site->label, 0, NULL, 0) != 0)
			continue;
		found[n++] = site;
	}
	if (n)
		qsort(found, n, sizeof(*found), comparisons[sort]);
	return n;
}
