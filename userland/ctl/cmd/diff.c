// SPDX-License-Identifier: GPL-2.0
// massif-ctl diff: what has changed between two recordings.

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "ctl/message/message.h"
#include "ctl/message/quantity.h"
#include "ctl/query/label.h"
#include "ctl/query/query.h"
#include "ctl/query/terminal.h"
#include "recording/reader.h"
#include "report/counted.h"
#include "report/sites.h"

enum {
	STATUS_SAME,  /* neither the peak nor the end has grown beyond --tolerance */
	STATUS_GROWN,
	STATUS_ERROR, /* bad options, or files that cannot be read */
};

enum { OLD, NEW, SIDES };

/* A comparison of two processes, or of all processes of two recordings. */
struct comparison {
	const struct mf_query *query;
	struct side {
		struct mf_recording recording;
		struct mf_recorded *one;	/* the process that is compared, if it is one */
		struct mf_recorded **processes; /* those that are compared */
		size_t n;
	} sides[SIDES];
	struct mf_sites sites;
};

static int refuse(const struct mf_error *err)
{
	mf_message_say(MF_MESSAGE_ERROR, "%s", err->text);
	return STATUS_ERROR;
}

/* What is compared of a side as a whole. Each process has its peak at a time of its own. */
struct totals {
	uint64_t peak, end, allocations, reallocations, frees;
};

static struct totals totals_of(const struct side *side)
{
	struct totals totals = { 0 };

	for (size_t i = 0; i < side->n; i++) {
		const struct mf_facts *facts = &side->processes[i]->facts;

		totals.peak += mf_profile_total(mf_query_peak(side->processes[i]));
		totals.end += mf_profile_total(side->processes[i]->end);
		totals.allocations += facts->allocations;
		totals.reallocations += facts->reallocations;
		totals.frees += facts->frees;
	}
	return totals;
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
	for (int i = OLD; i < SIDES; i++) {
		const struct side *side = &c->sides[i];

		fprintf(terminal->out, "%s ", i == OLD ? "old:" : "new:");
		if (side->n != 1)
			fprintf(terminal->out, "%zu processes, each at its own peak\n", side->n);
		for (const char *at = side->n == 1 ? side->processes[0]->facts.cmd : ""; *at; at++)
			putc((unsigned char)*at < ' ' || *at == 0x7f ? '?' : *at, terminal->out);
		if (side->n == 1)
			putc('\n', terminal->out);
	}
	fprintf(terminal->out, "\n%s%11s %10s %10s  total%s\n", mf_terminal_bold(terminal), "change", "old", "new",
		mf_terminal_plain(terminal));
}

static void print_totals(const struct mf_terminal *terminal, const struct totals *old, const struct totals *new)
{
	print_total(terminal, "peak", old->peak, new->peak, true);
	print_total(terminal, "held at the end", old->end, new->end, true);
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

static void print_row(const struct mf_terminal *terminal, const struct mf_query *query, const uint64_t *numbers)
{
	bool bytes = !query->counted || mf_profile_is_in_bytes(query->count);

	print_change(terminal->out, numbers[OLD], numbers[NEW], bytes);
	print_number(terminal->out, numbers[OLD], bytes);
	print_number(terminal->out, numbers[NEW], bytes);
}

static const char *fate_of(const struct mf_site *site)
{
	return !site->bytes[OLD] ? " (came)" : !site->bytes[NEW] ? " (went)" : "";
}

static void print_sites(const struct mf_terminal *terminal, const struct comparison *c)
{
	static const char *const counted[MF_COUNTS] = {
		[MF_COUNT_ALLOCATIONS] = ": blocks allocated",
		[MF_COUNT_ALLOCATED] = ": bytes allocated",
		[MF_COUNT_TEMPORARIES] = ": temporary blocks",
		[MF_COUNT_LIVE] = ": blocks live at the end",
	};
	size_t n = c->query->top ? c->query->top : 20, hidden = 0;
	uint64_t rest[SIDES] = { 0 }, all[SIDES] = { 0 };
	FILE *out = terminal->out;

	fprintf(out, "%s%11s %10s %10s  %s%s%s\n", mf_terminal_bold(terminal), "change", "old", "new",
		mf_sites_by_names[c->query->by_given ? c->query->by : MF_SITES_BY_PLACE],
		c->query->counted ? counted[c->query->count] : "", mf_terminal_plain(terminal));
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
		print_row(terminal, c->query, site->bytes);
		putc(' ', out);
		mf_label_print(terminal, site->label, terminal->width - 43);
		fprintf(out, "%s\n", fate_of(site));
	}
	/* If the sites are inclusive, their bytes add up to more than there are. */
	for (int side = OLD; side < SIDES && c->sites.inclusive; side++)
		all[side] = c->sites.totals[side];
	if (hidden && c->sites.inclusive) {
		fprintf(out, "%*s %zu more\n", 34, "", hidden);
	} else if (hidden) {
		print_row(terminal, c->query, rest);
		fprintf(out, " %zu more\n", hidden);
	}
	print_row(terminal, c->query, all);
	fputs(" in all\n", out);
}

/* Adds the bytes of @moment, or the numbers that --value names. */
static int add_moment(struct comparison *c, const struct mf_moment *moment, enum mf_sites_by by, unsigned int side,
		      struct mf_error *err)
{
	struct mf_counted counted;
	int code;

	if (!c->query->counted)
		return mf_sites_add(&c->sites, moment, by, side, err);
	if (!moment->profile->counts)
		return mf_error_set(err, -ENODATA, "--value: a file has no calls: it is of pages mode, or a massif.out file");
	code = mf_counted_init(&counted, moment, c->query->count, err);
	if (!code)
		code = mf_sites_add(&c->sites, &counted.moment, by, side, err);
	mf_counted_deinit(&counted);
	return code;
}

static int add_sites(struct comparison *c, unsigned int side, struct mf_error *err)
{
	enum mf_sites_by by = c->query->by_given ? c->query->by : MF_SITES_BY_PLACE;

	for (size_t i = 0; i < c->sides[side].n; i++) {
		struct mf_recorded *process = c->sides[side].processes[i];
		const struct mf_moment moment = {
			.profile = &process->profile,
			.snapshot = mf_query_snapshot(c->query, process, err),
			.options = &c->query->options.report,
			.symbolizer = process->symbolizer,
			.process = process->facts.name,
			.is_compared = true,
			.without_lines = true,
		};
		int code = moment.snapshot ? add_moment(c, &moment, by, side, err) : -ESRCH;

		if (code)
			return code;
	}
	return 0;
}

static int compare(struct comparison *c, struct mf_error *err)
{
	int code = add_sites(c, OLD, err) ?: add_sites(c, NEW, err);

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

static int diff(struct comparison *c)
{
	const struct totals old = totals_of(&c->sides[OLD]), new = totals_of(&c->sides[NEW]);
	bool grown = has_grown(c->query, old.peak, new.peak) || has_grown(c->query, old.end, new.end);
	struct mf_terminal terminal;
	struct mf_error err;

	if (compare(c, &err))
		return refuse(&err);
	mf_terminal_open(&terminal);
	print_heads(&terminal, c);
	print_totals(&terminal, &old, &new);
	print_sites(&terminal, c);
	fprintf(terminal.out, "\n%s\n", grown ? "The peak or the end has grown." : "Neither the peak nor the end has grown.");
	if (mf_terminal_close(&terminal, &err))
		return refuse(&err);
	return grown ? STATUS_GROWN : STATUS_SAME;
}

/* Chooses the processes of a side: the one that --pid names, or all. Returns 0 or -errno with a message. */
static int choose(const struct mf_query *query, struct side *side, struct mf_error *err)
{
	side->processes = side->recording.processes;
	side->n = side->recording.n_processes;
	if (query->pid || side->n < 2) {
		side->one = mf_query_process(query, &side->recording, err);
		side->processes = &side->one;
		side->n = 1;
		if (!side->one)
			return -ESRCH;
	}
	return mf_query_select(query, side->processes, side->n, err);
}

static int read_side(const struct mf_query *query, const char *path, struct side *side, struct mf_error *err)
{
	int code = mf_recording_read(path, &side->recording, err);

	if (code)
		return code;
	mf_query_say_damage(path, &side->recording);
	return choose(query, side, err);
}

static int diff_files(struct mf_query *query)
{
	struct comparison c = {
		.query = query,
		.sites = { .inclusive = query->inclusive, .all_calls = query->all_calls },
	};
	struct mf_error err;
	int status = STATUS_SAME;

	for (int side = OLD; side < SIDES && status == STATUS_SAME; side++)
		if (read_side(query, query->files[side], &c.sides[side], &err))
			status = refuse(&err);
	if (status == STATUS_SAME)
		status = diff(&c);
	mf_sites_deinit(&c.sites);
	for (int side = OLD; side < SIDES; side++)
		mf_recording_release(&c.sides[side].recording);
	return status;
}

int mf_command_diff(int argc, char **argv)
{
	static const char *const allowed[] = {
		"--pid", "--at", "--by", "--inclusive", "--all-calls", "--filter", "--thread", "--through", "--top", "--min",
		"--tolerance", "--value", NULL,
	};
	__attribute__((cleanup(mf_query_release))) struct mf_query query = { 0 };
	struct mf_error err;

	if (mf_query_parse(&query, argc, argv, SIDES, allowed, &err))
		return refuse(&err);
	/* Thread IDs are different in each run. */
	if (query.by == MF_SITES_BY_THREAD)
		query.by = MF_SITES_BY_THREAD_NAME;
	return diff_files(&query);
}
