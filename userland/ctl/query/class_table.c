// SPDX-License-Identifier: GPL-2.0
// Prints the sizes, the lifetimes or the ages of a program's blocks, by the code that has allocated them if that is wanted.

#include "class_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/message/quantity.h"
#include "ctl/query/label.h"
#include "report/counted.h"
#include "report/sites.h"

#define BAR   20u /* columns of the bar for all blocks */
#define SITES 3u  /* rows of sites below each class, unless --top says otherwise */

struct table {
	const struct mf_terminal *terminal;
	const struct mf_query *query;
	const struct mf_recorded *process;
	enum mf_detail_histogram histogram;
	uint64_t blocks[MF_DETAIL_CLASSES]; /* those in each class */
	uint64_t all;
};

/* In a file that is meant to deceive, sums can overflow: a part would be larger than the whole, and its bar endless. */
static uint64_t add(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

static void add_up(struct table *table)
{
	const struct mf_profile *profile = &table->process->profile;

	for (size_t i = 0; i < profile->n_contexts; i++)
		for (uint32_t class = 0; class < MF_DETAIL_CLASSES; class++)
			table->blocks[class] = add(table->blocks[class], mf_details_count(&profile->details[i],
											 table->histogram, class));
	for (uint32_t class = 0; class < MF_DETAIL_CLASSES; class++)
		table->all = add(table->all, table->blocks[class]);
}

static int compare(const void *left, const void *right)
{
	const struct mf_site *a = left, *b = right;

	if (a->bytes[0] != b->bytes[0])
		return a->bytes[0] < b->bytes[0] ? 1 : -1;
	return strcmp(a->label, b->label);
}

/* Shares of the sites are of the blocks of their class. */
static void print_sites(const struct table *table, uint32_t class, const struct mf_sites *sites)
{
	size_t n = table->query->top ? table->query->top : SITES, rest = 0;
	FILE *out = table->terminal->out;
	uint64_t left = 0;

	for (size_t i = 0; i < sites->count; i++) {
		const struct mf_site *site = &sites->list[i];

		if (i >= n) {
			rest++;
			left = add(left, site->bytes[0]);
			continue;
		}
		fprintf(out, "%12s %12" PRIu64 " %7.2f%%    ", "", site->bytes[0],
			mf_quantity_share(site->bytes[0], table->blocks[class]));
		if (table->query->by == MF_SITES_BY_STACK)
			fputs(site->label, out);
		else
			mf_label_print(table->terminal, site->label, mf_terminal_left(table->terminal, 38));
		putc('\n', out);
	}
	if (rest && table->query->inclusive)
		fprintf(out, "%38s%zu more\n", "", rest);
	else if (rest)
		fprintf(out, "%12s %12" PRIu64 " %7.2f%%    %zu more\n", "", left,
			mf_quantity_share(left, table->blocks[class]), rest);
}

static int print_sites_of(const struct table *table, uint32_t class, struct mf_error *err)
{
	const struct mf_moment moment = {
		.profile = &table->process->profile,
		.snapshot = table->process->end,
		.options = &table->query->options.report,
		.symbolizer = table->process->symbolizer,
	};
	struct mf_sites sites = { .inclusive = table->query->inclusive, .all_calls = table->query->all_calls };
	struct mf_counted counted;
	int code = mf_counted_init_class(&counted, &moment, table->histogram, class, err);

	if (!code)
		code = mf_sites_add(&sites, &counted.moment, table->query->by, 0, err);
	if (!code) {
		mf_sites_keep(&sites, mf_query_filter(table->query));
		if (sites.count)
			qsort(sites.list, sites.count, sizeof(*sites.list), compare);
		print_sites(table, class, &sites);
	}
	mf_counted_deinit(&counted);
	mf_sites_deinit(&sites);
	return code;
}

/* Of several classes in a row without blocks, dots are enough. */
static bool is_left_out(const struct table *table, uint32_t class)
{
	if (table->blocks[class])
		return false;
	if (!table->blocks[class - 1])
		return true;
	if (!table->blocks[class + 1])
		fprintf(table->terminal->out, "%12s\n", "...");
	return !table->blocks[class + 1];
}

static void print_class(const struct table *table, uint32_t class)
{
	double share = mf_quantity_share(table->blocks[class], table->all);
	bool is_last = class == MF_DETAIL_CLASSES - 1;
	FILE *out = table->terminal->out;

	fprintf(out, "%2s", is_last ? ">" : "<=");
	if (table->histogram == MF_DETAIL_AGES)
		fprintf(out, "%10" PRIu64, mf_details_others(is_last ? class - 1 : class));
	else
		fprintf(out, "%10s", mf_quantity_bytes(mf_size_class_top(is_last ? class - 1 : class)).text);
	fprintf(out, " %12" PRIu64 " %7.2f%%", table->blocks[class], share);
	fputs(share >= 2.5 ? "  " : "", out);
	for (unsigned int columns = (unsigned int)(share / 100 * BAR + 0.5); columns; columns--)
		fputs(table->terminal->utf8 ? "█" : "#", out);
	putc('\n', out);
}

static uint64_t all_of(const struct mf_profile *profile, enum mf_detail_histogram histogram)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < profile->n_contexts; i++)
		for (uint32_t class = 0; class < MF_DETAIL_CLASSES; class++)
			sum = add(sum, mf_details_count(&profile->details[i], histogram, class));
	return sum;
}

/* Prints the number of blocks that are in no class, because they have no lifetime or no age. */
static void print_rest(const struct table *table)
{
	const struct mf_profile *profile = &table->process->profile;
	FILE *out = table->terminal->out;
	uint64_t live = 0, freed;

	for (size_t i = 0; i < profile->n_contexts && profile->counts; i++)
		live = add(live, profile->counts[i].live);
	if (table->histogram == MF_DETAIL_AGES) {
		freed = all_of(profile, MF_DETAIL_LIFETIMES);
		fprintf(out, "%12s %12" PRIu64 "  freed by another thread\n", "by others",
			freed > table->all ? freed - table->all : 0);
	}
	if (table->histogram != MF_DETAIL_SIZES)
		fprintf(out, "%12s %12" PRIu64 "\n", "live at end", live);
	if (profile->details_lost)
		fprintf(out, "%12s %12" PRIu64 "\n", "not known", profile->details_lost);
}

int mf_class_table_print(const struct mf_terminal *terminal, const struct mf_query *query,
			 const struct mf_recorded *process, enum mf_detail_histogram histogram, struct mf_error *err)
{
	struct table table = { terminal, query, process, histogram, .all = 0 };
	static const char *const titles[] = { "size", "lifetime", "allocations" };
	static const char *const meanings[] = {
		[MF_DETAIL_SIZES] = "",
		[MF_DETAIL_LIFETIMES] = "Bytes that the program allocated between a block's allocation and its free:\n",
		[MF_DETAIL_AGES] = "Other blocks that a block's thread allocated before the same thread freed the block:\n",
	};
	uint32_t first = MF_DETAIL_CLASSES, last = 0;
	int code = 0;

	if (!process->profile.details)
		return mf_error_set(err, -ENODATA, "the file does not say which stack has allocated blocks of which sizes, "
						   "and how long they lived: make the recording with --record-detail=full");
	if (histogram == MF_DETAIL_AGES && !process->profile.has_ages)
		return mf_error_set(err, -ENODATA, "the file does not say how many allocations each stack's blocks lived "
						   "through, because an earlier version of massif has made it: make it again "
						   "with --record-detail=full");
	add_up(&table);
	for (uint32_t i = 0; i < MF_DETAIL_CLASSES; i++) {
		if (!table.blocks[i])
			continue;
		first = first < i ? first : i;
		last = i;
	}
	fputs(meanings[histogram], terminal->out);
	fprintf(terminal->out, "%s%12s %12s %8s%s%s%s\n", mf_terminal_bold(terminal),
		titles[histogram], "blocks", "share", query->by_given ? "    " : "",
		query->by_given ? mf_sites_by_names[query->by] : "", mf_terminal_plain(terminal));
	for (uint32_t i = first; i <= last && table.all && !code; i++) {
		/* The first and the last class have blocks. */
		if (is_left_out(&table, i))
			continue;
		print_class(&table, i);
		if (query->by_given && table.blocks[i])
			code = print_sites_of(&table, i, err);
	}
	fprintf(terminal->out, "%12s %12" PRIu64 " %7.2f%%\n", "in all", table.all, table.all ? 100.0 : 0.0);
	print_rest(&table);
	return code;
}
