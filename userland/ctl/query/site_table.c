// SPDX-License-Identifier: GPL-2.0
// Prints a table of sites: which code holds how much, at one or two moments.

#include "site_table.h"

#include <errno.h>
#include <inttypes.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/message/quantity.h"

static int compare(const void *left, const void *right, void *data)
{
	const struct mf_site *a = left, *b = right;
	unsigned int first = *(const unsigned int *)data;

	if (a->bytes[first] != b->bytes[first])
		return a->bytes[first] < b->bytes[first] ? 1 : -1;
	if (a->bytes[!first] != b->bytes[!first])
		return a->bytes[!first] < b->bytes[!first] ? 1 : -1;
	return strcmp(a->label, b->label);
}

/* Removes the sites that do not match --filter. */
static void filter_sites(const struct mf_query *query, struct mf_sites *sites)
{
	size_t kept = 0;

	for (size_t i = 0; i < sites->count; i++)
		if (!query->filter || regexec(&query->regex, sites->list[i].label, 0, NULL, 0) == 0)
			sites->list[kept++] = sites->list[i];
	sites->count = kept;
}

static uint64_t sum_of(const struct mf_sites *sites, unsigned int side)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < sites->count; i++)
		sum += sites->list[i].bytes[side];
	return sum;
}

static double share_of(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

static void print_rows(const struct mf_terminal *terminal, const struct mf_site_table *table,
		       const struct mf_sites *sites)
{
	uint64_t whole = sum_of(sites, table->sort);
	size_t n = table->query->top ? table->query->top : 10, rest = 0;
	uint64_t left[MF_SITES_SIDES] = { 0 };
	FILE *out = terminal->out;

	fprintf(out, "%s%10s %10s %7s  %s%s\n", mf_terminal_bold(terminal), table->titles[0], table->titles[1],
		"share", mf_sites_by_names[table->by], mf_terminal_plain(terminal));
	for (size_t i = 0; i < sites->count; i++) {
		const struct mf_site *site = &sites->list[i];

		if (i >= n || !site->bytes[table->sort]) {
			for (unsigned int side = 0; side < MF_SITES_SIDES; side++)
				left[side] += site->bytes[side];
			rest++;
			continue;
		}
		fprintf(out, "%10s %10s %6.2f%%  ", mf_quantity_bytes(site->bytes[0]).text,
			mf_quantity_bytes(site->bytes[1]).text, share_of(site->bytes[table->sort], whole));
		/* A stack is long, and worth its lines. */
		if (table->by == MF_SITES_BY_STACK)
			fputs(site->label, out);
		else
			mf_terminal_print_cut(terminal, site->label, terminal->width - 32);
		putc('\n', out);
	}
	if (rest)
		fprintf(out, "%10s %10s %6.2f%%  %zu more\n", mf_quantity_bytes(left[0]).text,
			mf_quantity_bytes(left[1]).text, share_of(left[table->sort], whole), rest);
	fprintf(out, "%10s %10s %6.2f%%  in all\n", mf_quantity_bytes(sum_of(sites, 0)).text,
		mf_quantity_bytes(sum_of(sites, 1)).text, share_of(whole, whole));
}

int mf_site_table_print(const struct mf_terminal *terminal, const struct mf_site_table *table, struct mf_error *err)
{
	struct mf_sites sites = { 0 };
	unsigned int sort = table->sort;
	int code = 0;

	for (unsigned int side = 0; side < MF_SITES_SIDES && !code; side++) {
		const struct mf_moment moment = {
			.profile = &table->sides[side].process->profile,
			.snapshot = table->sides[side].snapshot,
			.options = &table->query->options.report,
			.symbolizer = table->sides[side].process->symbolizer,
		};

		code = mf_sites_add(&sites, &moment, table->by, side, err);
	}
	if (!code) {
		filter_sites(table->query, &sites);
		if (sites.count)
			qsort_r(sites.list, sites.count, sizeof(*sites.list), compare, &sort);
		print_rows(terminal, table, &sites);
	}
	mf_sites_deinit(&sites);
	return code;
}
