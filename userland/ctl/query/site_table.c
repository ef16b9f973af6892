// SPDX-License-Identifier: GPL-2.0
// Prints a table of sites: which code holds how much, at two moments, or has allocated how much.

#include "site_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/message/quantity.h"
#include "ctl/query/label.h"

static int64_t growth_of(const struct mf_site *site)
{
	return (int64_t)(site->bytes[1] - site->bytes[0]);
}

/* Sorts by one number; sites with the same number are sorted by the others. */
static int compare(const void *left, const void *right, void *data)
{
	const struct mf_site *a = left, *b = right;
	const struct mf_site_table *table = data;
	unsigned int first = table->sort;

	if (table->growth && growth_of(a) != growth_of(b))
		return growth_of(a) < growth_of(b) ? 1 : -1;
	for (unsigned int i = 0; i < MF_SITES_VALUES; i++) {
		unsigned int value = (first + i) % MF_SITES_VALUES;

		if (a->bytes[value] != b->bytes[value])
			return a->bytes[value] < b->bytes[value] ? 1 : -1;
	}
	return strcmp(a->label, b->label);
}

/* The columns of a table: numbers of a site. */
struct columns {
	unsigned int list[MF_SITES_VALUES];
	unsigned int n;
};

static bool has_counts(const struct mf_site_table_part *part)
{
	return part->process->profile.counts != NULL;
}

static bool has_details(const struct mf_site_table_part *part)
{
	return part->process->profile.details && part->snapshots[0]->has_blocks;
}

/* Returns whether the table has the sums of threads, whose stacks are not known. */
static bool is_of_totals(const struct mf_site_table *table)
{
	return table->n_parts && mf_query_is_of_totals(table->query, &table->parts[0].process->profile);
}

/* Returns whether all processes of the table have what @has returns. */
static bool all_have(const struct mf_site_table *table, bool (*has)(const struct mf_site_table_part *part))
{
	for (size_t i = 0; i < table->n_parts; i++)
		if (!has(&table->parts[i]))
			return false;
	return true;
}

static void add_column(struct columns *columns, unsigned int value)
{
	columns->list[columns->n++] = value;
}

static struct columns columns_of(const struct mf_site_table *table)
{
	struct columns columns = { .n = 0 };

	if (table->sort > MF_SITES_LIVE && table->sort != MF_SITES_BLOCKS) {
		add_column(&columns, MF_SITES_ALLOCATIONS);
		add_column(&columns, MF_SITES_ALLOCATED);
		add_column(&columns, MF_SITES_TEMPORARIES);
		if (all_have(table, has_details) && !is_of_totals(table))
			add_column(&columns, MF_SITES_LARGEST);
		return columns;
	}
	add_column(&columns, 0);
	if ((!table->sort || table->sort == MF_SITES_BLOCKS) && all_have(table, has_details))
		add_column(&columns, MF_SITES_BLOCKS);
	/* With --at=end, both moments are the same. */
	if (strcmp(table->titles[0], table->titles[1]) != 0)
		add_column(&columns, 1);
	/* What is held at the end has blocks, too, if they are known. */
	if ((table->sort == 1 || table->sort == MF_SITES_LIVE) && !table->growth && all_have(table, has_counts))
		add_column(&columns, MF_SITES_LIVE);
	return columns;
}

/* Returns whether there is a column of other numbers than bytes at a moment. */
static bool are_counted(const struct mf_site_table *table)
{
	const struct columns columns = columns_of(table);

	for (unsigned int i = 0; i < columns.n; i++)
		if (columns.list[i] >= MF_SITES_SIDES)
			return true;
	return false;
}

static const char *title_of(const struct mf_site_table *table, unsigned int value)
{
	static const char *const counts[MF_SITES_VALUES] = {
		[MF_SITES_LIVE] = "blocks",
		[MF_SITES_ALLOCATIONS] = "calls",
		[MF_SITES_ALLOCATED] = "allocated",
		[MF_SITES_TEMPORARIES] = "temporary",
		[MF_SITES_BLOCKS] = "blocks",
		[MF_SITES_LARGEST] = "largest",
	};

	return value < MF_SITES_SIDES ? table->titles[value] : counts[value];
}

static void print_number(FILE *out, unsigned int value, uint64_t number)
{
	if (value >= MF_SITES_SIDES && value != MF_SITES_ALLOCATED && value != MF_SITES_LARGEST)
		fprintf(out, "%10" PRIu64 " ", number);
	else
		fprintf(out, "%10s ", mf_quantity_bytes(number).text);
}

/* Returns number @value of several sites together, if it is @number of one of them, and @sum of the others. */
static uint64_t together(uint64_t sum, unsigned int value, uint64_t number)
{
	if (value != MF_SITES_LARGEST)
		return sum + number;
	return number > sum ? number : sum;
}

/* The largest block is no part of a whole. */
static void print_share(FILE *out, const struct mf_site_table *table, uint64_t part, uint64_t whole)
{
	if (table->sort == MF_SITES_LARGEST)
		fprintf(out, "%7s  ", "");
	else
		fprintf(out, "%6.2f%%  ", mf_quantity_share(part, whole));
}

/* If the sites are inclusive, their bytes add up to more than there are. */
static uint64_t total_of(const struct mf_sites *sites, unsigned int side)
{
	uint64_t sum = 0;

	if (sites->inclusive)
		return sites->totals[side];
	for (size_t i = 0; i < sites->count; i++)
		sum = together(sum, side, sites->list[i].bytes[side]);
	return sum;
}

static void print_numbers(FILE *out, const struct columns *columns, const uint64_t *numbers)
{
	for (unsigned int i = 0; i < columns->n; i++)
		print_number(out, columns->list[i], numbers[columns->list[i]]);
}

static void print_rows(const struct mf_terminal *terminal, const struct mf_site_table *table,
		       const struct mf_sites *sites)
{
	const struct columns columns = columns_of(table);
	uint64_t whole = total_of(sites, table->sort);
	size_t n = table->query->top ? table->query->top : 10, rest = 0;
	uint64_t left[MF_SITES_VALUES] = { 0 };
	FILE *out = terminal->out;

	fputs(mf_terminal_bold(terminal), out);
	for (unsigned int i = 0; i < columns.n; i++)
		fprintf(out, "%10s ", title_of(table, columns.list[i]));
	fprintf(out, "%7s  %s%s\n", "share", mf_sites_by_names[table->by], mf_terminal_plain(terminal));
	for (size_t i = 0; i < sites->count; i++) {
		const struct mf_site *site = &sites->list[i];

		if (i >= n || !site->bytes[table->sort]) {
			for (unsigned int value = 0; value < MF_SITES_VALUES; value++)
				left[value] = together(left[value], value, site->bytes[value]);
			rest++;
			continue;
		}
		print_numbers(out, &columns, site->bytes);
		print_share(out, table, site->bytes[table->sort], whole);
		/* A stack is long, and worth its lines. */
		if (table->by == MF_SITES_BY_STACK)
			fputs(site->label, out);
		else
			mf_label_print(terminal, site->label, mf_terminal_left(terminal, 10 + 11 * columns.n));
		putc('\n', out);
	}
	if (rest && sites->inclusive) {
		fprintf(out, "%*s%zu more\n", (int)(11 * columns.n + 9), "", rest);
	} else if (rest) {
		print_numbers(out, &columns, left);
		print_share(out, table, left[table->sort], whole);
		fprintf(out, "%zu more\n", rest);
	}
	for (unsigned int i = 0; i < columns.n; i++)
		print_number(out, columns.list[i], total_of(sites, columns.list[i]));
	print_share(out, table, whole, whole);
	fputs("in all\n", out);
}

static int add_part(struct mf_sites *sites, const struct mf_site_table *table, const struct mf_site_table_part *part,
		    struct mf_error *err)
{
	int code = 0;

	if (mf_query_is_of_totals(table->query, &part->process->profile))
		return mf_sites_add_thread_totals(sites, &part->process->profile, table->by, err);
	for (unsigned int side = 0; side < MF_SITES_SIDES && !code; side++) {
		const struct mf_moment moment = {
			.profile = &part->process->profile,
			.snapshot = part->snapshots[side],
			.options = &table->query->options.report,
			.symbolizer = part->process->symbolizer,
			.is_compared = table->n_parts > 1,
			.is_touches = table->is_touches,
		};

		code = mf_sites_add(sites, &moment, table->by, side, err);
		if (!code && !side && are_counted(table))
			code = mf_sites_add_counts(sites, &moment, table->by, err) ?:
			       mf_sites_add_details(sites, &moment, table->by, err);
	}
	return code;
}

int mf_site_table_print(const struct mf_terminal *terminal, const struct mf_site_table *table, struct mf_error *err)
{
	struct mf_site_table sorted = *table;
	struct mf_sites sites = { .inclusive = table->query->inclusive, .all_calls = table->query->all_calls };
	int code = 0;

	for (size_t i = 0; i < table->n_parts && !code; i++)
		code = add_part(&sites, table, &table->parts[i], err);
	if (!code) {
		mf_sites_keep(&sites, mf_query_filter(table->query));
		if (sites.count)
			qsort_r(sites.list, sites.count, sizeof(*sites.list), compare, &sorted);
		print_rows(terminal, table, &sites);
	}
	mf_sites_deinit(&sites);
	return code;
}
