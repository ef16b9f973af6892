// SPDX-License-Identifier: GPL-2.0
// massif-ctl diff: what has changed between two recordings.

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "ctl/message/message.h"
#include "ctl/message/quantity.h"
#include "ctl/query/query.h"
#include "ctl/query/terminal.h"
#include "recording/reader.h"
#include "report/sites.h"

enum {
	STATUS_SAME,  /* neither the peak nor the end has grown beyond --tolerance */
	STATUS_GROWN,
	STATUS_ERROR, /* bad options, or files that cannot be read */
};

enum { OLD, NEW, SIDES };

/* A comparison of two processes. */
struct comparison {
	const struct mf_query *query;
	struct mf_recorded *sides[SIDES];
	const struct mf_profile_snapshot *snapshots[SIDES]; /* those whose sites are compared */
	struct mf_sites sites;
};

static int refuse(const struct mf_error *err)
{
	mf_message_say(MF_MESSAGE_ERROR, "%s", err->text);
	return STATUS_ERROR;
}

static uint64_t peak_of(const struct comparison *c, int side)
{
	return mf_profile_total(mf_query_peak(c->sides[side]));
}

static uint64_t end_of(const struct comparison *c, int side)
{
	return mf_profile_total(c->sides[side]->end);
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Prints a change with its sign. */
static void print_change(FILE *out, uint64_t old, uint64_t new, bool bytes)
{
	char text[64];

	if (bytes)
		snprintf(text, sizeof(text), "%s%s", old == new ? "" : new > old ? "+" : "-",
			 mf_quantity_bytes(distance(old, new)).text);
	else
		snprintf(text, sizeof(text), "%s%" PRIu64, old == new ? "" : new > old ? "+" : "-",
			 distance(old, new));
	fprintf(out, "%11s ", text);
}

static void print_number(FILE *out, uint64_t number, bool bytes)
{
	if (bytes)
		fprintf(out, "%10s ", mf_quantity_bytes(number).text);
	else
		fprintf(out, "%10" PRIu64 " ", number);
}

static void print_total(const struct mf_terminal *terminal, const char *what, uint64_t old, uint64_t new, bool bytes)
{
	print_change(terminal->out, old, new, bytes);
	print_number(terminal->out, old, bytes);
	print_number(terminal->out, new, bytes);
	fprintf(terminal->out, " %s", what);
	if (old)
		fprintf(terminal->out, " (%+.2f%%)", 100 * ((double)new - (double)old) / (double)old);
	putc('\n', terminal->out);
}

static void print_heads(const struct mf_terminal *terminal, const struct comparison *c)
{
	for (int side = OLD; side < SIDES; side++) {
		fprintf(terminal->out, "%s ", side == OLD ? "old:" : "new:");
		for (const char *at = c->sides[side]->facts.cmd; *at; at++)
			putc((unsigned char)*at < ' ' || *at == 0x7f ? '?' : *at, terminal->out);
		putc('\n', terminal->out);
	}
	fprintf(terminal->out, "\n%s%11s %10s %10s  total%s\n", mf_terminal_bold(terminal), "change", "old", "new",
		mf_terminal_plain(terminal));
}

static void print_totals(const struct mf_terminal *terminal, const struct comparison *c)
{
	const struct mf_facts *old = &c->sides[OLD]->facts, *new = &c->sides[NEW]->facts;

	print_total(terminal, "peak", peak_of(c, OLD), peak_of(c, NEW), true);
	print_total(terminal, "held at the end", end_of(c, OLD), end_of(c, NEW), true);
	/* A massif.out file has no calls, and neither has pages mode. */
	if (old->allocations && new->allocations) {
		print_total(terminal, "allocations", old->allocations, new->allocations, false);
		print_total(terminal, "reallocations", old->reallocations, new->reallocations, false);
		print_total(terminal, "frees", old->frees, new->frees, false);
	}
	putc('\n', terminal->out);
}

/* The largest changes first. */
static int compare_sites(const void *left, const void *right)
{
	const struct mf_site *a = left, *b = right;
	uint64_t change_of_a = distance(a->bytes[OLD], a->bytes[NEW]);
	uint64_t change_of_b = distance(b->bytes[OLD], b->bytes[NEW]);

	if (change_of_a != change_of_b)
		return change_of_a < change_of_b ? 1 : -1;
	return strcmp(a->label, b->label);
}

static void print_row(const struct mf_terminal *terminal, const uint64_t *bytes)
{
	print_change(terminal->out, bytes[OLD], bytes[NEW], true);
	print_number(terminal->out, bytes[OLD], true);
	print_number(terminal->out, bytes[NEW], true);
}

static const char *fate_of(const struct mf_site *site)
{
	return !site->bytes[OLD] ? " (came)" : !site->bytes[NEW] ? " (went)" : "";
}

static void print_sites(const struct mf_terminal *terminal, const struct comparison *c)
{
	size_t n = c->query->top ? c->query->top : 20, hidden = 0;
	uint64_t rest[SIDES] = { 0 }, all[SIDES] = { 0 };
	FILE *out = terminal->out;

	fprintf(out, "%s%11s %10s %10s  %s%s\n", mf_terminal_bold(terminal), "change", "old", "new",
		mf_sites_by_names[c->query->by_given ? c->query->by : MF_SITES_BY_PLACE], mf_terminal_plain(terminal));
	for (size_t i = 0; i < c->sites.count; i++) {
		const struct mf_site *site = &c->sites.list[i];
		uint64_t change = distance(site->bytes[OLD], site->bytes[NEW]);

		for (int side = OLD; side < SIDES; side++)
			all[side] += site->bytes[side];
		if (!change || change < c->query->min || !n) {
			for (int side = OLD; side < SIDES; side++)
				rest[side] += site->bytes[side];
			hidden++;
			continue;
		}
		n--;
		print_row(terminal, site->bytes);
		putc(' ', out);
		mf_terminal_print_cut(terminal, site->label, terminal->width - 43);
		fprintf(out, "%s\n", fate_of(site));
	}
	if (hidden) {
		print_row(terminal, rest);
		fprintf(out, " %zu more\n", hidden);
	}
	print_row(terminal, all);
	fputs(" in all\n", out);
}

static int compare(struct comparison *c, struct mf_error *err)
{
	enum mf_sites_by by = c->query->by_given ? c->query->by : MF_SITES_BY_PLACE;
	int code = 0;

	for (unsigned int side = OLD; side < SIDES && !code; side++) {
		const struct mf_moment moment = {
			.profile = &c->sides[side]->profile,
			.snapshot = c->snapshots[side],
			.options = &c->query->options.report,
			.symbolizer = c->sides[side]->symbolizer,
		};

		code = mf_sites_add(&c->sites, &moment, by, side, err);
	}
	if (code)
		return code;
	mf_sites_keep(&c->sites, mf_query_filter(c->query));
	if (c->sites.count)
		qsort(c->sites.list, c->sites.count, sizeof(*c->sites.list), compare_sites);
	return 0;
}

/* Returns whether @new is larger than @old by more than --tolerance allows. */
static bool has_grown(const struct mf_query *query, uint64_t old, uint64_t new)
{
	return new > old && (double)(new - old) > (double)old * query->tolerance / 100;
}

static bool is_grown(const struct comparison *c)
{
	return has_grown(c->query, peak_of(c, OLD), peak_of(c, NEW)) ||
	       has_grown(c->query, end_of(c, OLD), end_of(c, NEW));
}

static int diff(struct comparison *c)
{
	struct mf_terminal terminal;
	struct mf_error err;
	bool grown = is_grown(c);

	for (int side = OLD; side < SIDES; side++) {
		c->snapshots[side] = mf_query_snapshot(c->query, c->sides[side], &err);
		if (!c->snapshots[side])
			return refuse(&err);
	}
	if (compare(c, &err))
		return refuse(&err);
	mf_terminal_open(&terminal);
	print_heads(&terminal, c);
	print_totals(&terminal, c);
	print_sites(&terminal, c);
	fprintf(terminal.out, "\n%s\n", grown ? "The peak or the end has grown." : "Neither the peak nor the end has grown.");
	if (mf_terminal_close(&terminal, &err))
		return refuse(&err);
	return grown ? STATUS_GROWN : STATUS_SAME;
}

static int diff_files(struct mf_query *query)
{
	struct mf_recording recordings[SIDES] = { 0 };
	struct comparison c = { .query = query };
	struct mf_error err;
	int status = STATUS_SAME;

	for (int side = OLD; side < SIDES && status == STATUS_SAME; side++) {
		if (mf_recording_read(query->files[side], &recordings[side], &err)) {
			status = refuse(&err);
			break;
		}
		mf_query_say_damage(query->files[side], &recordings[side]);
		c.sides[side] = mf_query_process(query, &recordings[side], &err);
		if (!c.sides[side] || mf_query_select(query, c.sides[side], &err))
			status = refuse(&err);
	}
	if (status == STATUS_SAME)
		status = diff(&c);
	mf_sites_deinit(&c.sites);
	for (int side = OLD; side < SIDES; side++)
		mf_recording_release(&recordings[side]);
	return status;
}

int mf_command_diff(int argc, char **argv)
{
	static const char *const allowed[] = {
		"--pid", "--at", "--by", "--filter", "--thread", "--through", "--top", "--min", "--tolerance", NULL,
	};
	__attribute__((cleanup(mf_query_release))) struct mf_query query = { 0 };
	struct mf_error err;

	if (mf_query_parse(&query, argc, argv, SIDES, allowed, &err))
		return refuse(&err);
	if (query.processes) {
		mf_error_set(&err, 0, "--by=process: a comparison is of two processes; choose them with --pid");
		return refuse(&err);
	}
	/* Thread IDs are different in each run. */
	if (query.by == MF_SITES_BY_THREAD)
		query.by = MF_SITES_BY_THREAD_NAME;
	return diff_files(&query);
}
