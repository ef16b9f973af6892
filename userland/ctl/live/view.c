// SPDX-License-Identifier: GPL-2.0
// The texts that show a running profile.

#include "view.h"

#include <inttypes.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

#include "base/utf8.h"
#include "ctl/message/quantity.h"
#include "ctl/output/output.h"

struct text {
	char text[64];
};

bool mf_live_view_is_utf8(void)
{
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

/* Characters that make a terminal show what follows in another order. */
static bool changes_direction(wchar_t c)
{
	return c == 0x61c || (c >= 0x200e && c <= 0x200f) || (c >= 0x202a && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069);
}

/* Returns the width of the character of @n bytes at @text, or -1 if it is to be replaced. */
static int width_of(const char *text, size_t n)
{
	mbstate_t state = { 0 };
	wchar_t c;

	if (mbrtowc(&c, text, n, &state) != n || !iswprint((wint_t)c) || changes_direction(c))
		return -1;
	/* Any number of combining characters could be at the same place. */
	return wcwidth(c) > 0 ? wcwidth(c) : -1;
}

size_t mf_live_view_fit(const struct mf_live_view *view, char *to, size_t size, const char *text, size_t columns)
{
	size_t used = 0, at = 0, cut_used = 0, cut_at = 0;

	while (*text) {
		size_t n = view->utf8 ? mf_utf8_length((const unsigned char *)text) : 1;
		int width = n ? 1 : -1;

		if (!n)
			n = 1;
		else if (n > 1)
			width = width_of(text, n);
		else if (*text < ' ' || *text > '~')
			width = -1;
		if (used + (size_t)(width > 0 ? width : 1) > columns || at + n + 2 > size) {
			/* Go back to where there was room for the mark. */
			if (columns && size > 1) {
				to[cut_at++] = '~';
				cut_used++;
			}
			to[cut_at] = '\0';
			return cut_used;
		}
		if (used < columns) {
			cut_used = used;
			cut_at = at;
		}
		if (width > 0)
			memcpy(to + at, text, n);
		else
			to[at] = '?';
		at += width > 0 ? n : 1;
		used += (size_t)(width > 0 ? width : 1);
		text += n;
		if (used < columns) {
			cut_used = used;
			cut_at = at;
		}
	}
	to[at] = '\0';
	return used;
}

/* A number of blocks, with at most six characters. */
static struct text count_text(double count)
{
	static const char units[] = " kMGTPE";
	struct text text;
	size_t unit = 0;

	while (count >= 99999.5 && unit < sizeof(units) - 2) {
		count /= 1000;
		unit++;
	}
	if (unit)
		snprintf(text.text, sizeof(text.text), "%.0f%c", count, units[unit]);
	else
		snprintf(text.text, sizeof(text.text), "%.0f", count);
	return text;
}

/* A rate in bytes, with its sign. */
static struct text rate_text(double rate)
{
	double size = rate < 0 ? -rate : rate;
	struct text text;

	if (size < 0.5)
		return (struct text){ "0 B" };
	snprintf(text.text, sizeof(text.text), "%c%s", rate < 0 ? '-' : '+',
		 mf_quantity_bytes(size < 0x1p62 ? (uint64_t)(size + 0.5) : (uint64_t)1 << 62).text);
	return text;
}

static const char *const state_texts[] = {
	[MF_LIVE_BEGINNING] = "waiting for its profile",
	[MF_LIVE_RUNNING] = "running",
	[MF_LIVE_ENDING] = "ended, its file is being written",
	[MF_LIVE_ENDED] = "ended",
};

void mf_live_view_state(const struct mf_live *live, char *to, size_t size)
{
	const char *state = state_texts[live->state];

	if (live->file && live->state == MF_LIVE_ENDED)
		snprintf(to, size, "%s; wrote %s", state, live->file);
	else if (live->note)
		snprintf(to, size, "%s: %s", state, live->note);
	else
		snprintf(to, size, "%s", state);
}

static double growth_of(const struct mf_live_table *table)
{
	return (double)(int64_t)(table->totals.total - table->totals_before.total) / mf_live_table_seconds(table);
}

static void head_program(const struct mf_live *live, char *to, size_t size)
{
	char state[MF_LIVE_STATE_BYTES];
	struct mf_output_name name;

	mf_live_view_state(live, state, sizeof(state));
	mf_output_make_name(&name, live->cmd ?: "", strcspn(live->cmd ?: "", " "));
	/* The state comes before the command, which may be long. */
	snprintf(to, size, "%.30s (pid %d), %s mode, %s, %s  %s", name.text, (int)live->pid,
		 live->session.pages ? "pages" : "heap", mf_quantity_time(live->table.totals.age_ms, MF_TIME_MS).text,
		 state, live->cmd ?: "");
}

static void head_bytes(const struct mf_live *live, char *to, size_t size)
{
	const struct mf_live_totals *totals = &live->table.totals;
	char stacks[64] = "";

	if (totals->stacks)
		snprintf(stacks, sizeof(stacks), ", stacks %s", mf_quantity_bytes(totals->stacks).text);
	snprintf(to, size, "live %s (useful %s, extra %s%s)  %s/s  peak %s", mf_quantity_bytes(totals->total).text,
		 mf_quantity_bytes(totals->heap).text, mf_quantity_bytes(totals->extra).text, stacks,
		 rate_text(growth_of(&live->table)).text, mf_quantity_bytes(totals->peak).text);
}

static void head_calls(const struct mf_live *live, char *to, size_t size)
{
	const struct mf_live_table *table = &live->table;
	const struct mf_live_counts *now = &table->totals.counts, *before = &table->totals_before.counts;
	double seconds = mf_live_table_seconds(table);
	struct text allocated = rate_text((double)(now->allocated - before->allocated) / seconds);

	/* Fits into 80 columns with large numbers, too. */
	snprintf(to, size, "%s allocations/s (%s in all) of %s/s (%s in all)  %u stacks",
		 count_text((double)(now->allocations - before->allocations) / seconds).text,
		 count_text((double)now->allocations).text,
		 allocated.text + (*allocated.text == '+'),
		 mf_quantity_bytes(now->allocated).text,
		 table->n_contexts > 2 ? table->n_contexts - 2 : 0);
}

static void head_resident(const struct mf_live *live, char *to, size_t size)
{
	const struct mf_live_totals *totals = &live->table.totals;

	snprintf(to, size, "resident %s (%s %s)", mf_quantity_bytes(totals->resident).text,
		 mf_quantity_bytes(totals->resident_most).text, mf_band_names[totals->resident_band].words);
}

int mf_live_view_heads(const struct mf_live *live)
{
	return live->table.totals.resident ? MF_LIVE_HEADS : MF_LIVE_HEADS - 1;
}

static void (*const heads[MF_LIVE_HEADS])(const struct mf_live *live, char *to, size_t size) = {
	[MF_LIVE_HEAD_PROGRAM] = head_program,
	[MF_LIVE_HEAD_BYTES] = head_bytes,
	[MF_LIVE_HEAD_CALLS] = head_calls,
	[MF_LIVE_HEAD_RESIDENT] = head_resident,
};

void mf_live_view_head(const struct mf_live *live, int line, char *to, size_t size)
{
	heads[line](live, to, size);
}

/* The column by which the table is sorted is marked. */
static const char *mark(const struct mf_live_view *view, enum mf_live_sort sort, const char *marked, const char *plain)
{
	return view->sort == sort ? marked : plain;
}

void mf_live_view_columns(const struct mf_live_view *view, char *to, size_t size)
{
	snprintf(to, size, "%10s %6s %12s %9s  %s", mark(view, MF_LIVE_HELD, "[HELD]", "HELD"), "%",
		 mark(view, MF_LIVE_GROWTH, "[GROWTH/s]", "GROWTH/s"), mark(view, MF_LIVE_ALLOCATIONS, "[ALLOC/s]", "ALLOC/s"),
		 view->by == MF_LIVE_BY_SITE ? "SITE" : "FUNCTION");
}

void mf_live_view_site(const struct mf_live *live, const struct mf_live_site *site, char *to, size_t size)
{
	snprintf(to, size, "%10s %5.1f%% %12s %9s  ", mf_quantity_bytes(site->now.bytes).text,
		 mf_quantity_share(site->now.bytes, live->table.totals.counts.bytes), rate_text(site->growth).text,
		 count_text(site->allocations).text);
}

void mf_live_view_print(const struct mf_live_view *view, const struct mf_live *live, size_t rows, FILE *out)
{
	const struct mf_live_table *table = &live->table;
	const struct mf_live_totals *totals = &table->totals;
	const struct mf_live_counts *counts = &totals->counts;
	double seconds = mf_live_table_seconds(table);
	const struct mf_live_site **sites;
	size_t n = mf_live_table_list(table, view->by, view->sort, view->filter, &sites);
	char state[MF_LIVE_STATE_BYTES], label[MF_LIVE_LABEL_MAX * 2];

	mf_live_view_state(live, state, sizeof(state));
	fprintf(out, "program      %s\npid          %d\nmode         %s\nstate        %s\n", live->cmd ?: "", (int)live->pid,
		live->session.pages ? "pages" : "heap", state);
	fprintf(out, "time         %" PRId64 " ms\n", totals->age_ms);
	fprintf(out, "live         %" PRIu64 " B (useful %" PRIu64 ", extra %" PRIu64 ", stacks %" PRIu64 "), %+.0f B/s\n",
		totals->total, totals->heap, totals->extra, totals->stacks, growth_of(table));
	fprintf(out, "peak         %" PRIu64 " B\n", totals->peak);
	if (totals->resident)
		fprintf(out, "resident     %" PRIu64 " B (%" PRIu64 " %s)\n", totals->resident, totals->resident_most,
			mf_band_names[totals->resident_band].words);
	fprintf(out, "allocations  %" PRIu64 " (%" PRIu64 " B), %.0f/s\n", counts->allocations, counts->allocated,
		(double)(counts->allocations - table->totals_before.counts.allocations) / seconds);
	fprintf(out, "rates        of the last %.3f s\n", seconds);
	fprintf(out, "%16s %7s %16s %12s %14s  %s\n", "HELD", "%", "GROWTH/s", "ALLOC/s", "ALLOCATIONS",
		view->by == MF_LIVE_BY_SITE ? "SITE" : "FUNCTION");
	for (size_t i = 0; i < n && i < rows; i++) {
		const struct mf_live_site *site = sites[i];

		mf_live_view_fit(view, label, sizeof(label), site->label, sizeof(label));
		fprintf(out, "%16" PRIu64 " %6.1f%% %+16.0f %12.0f %14" PRIu64 "  %s\n", site->now.bytes,
			mf_quantity_share(site->now.bytes, counts->bytes), site->growth, site->allocations,
			site->now.allocations, label);
	}
	if (n > rows)
		fprintf(out, "and %zu more\n", n - rows);
	putc('\n', out);
	free(sites);
}
