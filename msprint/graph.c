// SPDX-License-Identifier: GPL-2.0
/*
 * The graph of total memory over time.
 *
 * The canvas has columns 0 to width and rows 0 to height; column 0 and row 0 are the axes. Each snapshot is drawn as a
 * bar in the column of its time. A horizontal line at the height of each bar leads to the next one. A row represents
 * largest / height bytes, which need not be an integer.
 *
 * No snapshot is later than the last one (mf_profile_finish() checks that), but times may decrease in between. In that
 * case, the next bar is to the left of the previous one, and no line connects them.
 */

#include "graph.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "label.h"
#include "memory.h"
#include "output.h"
#include "profile.h"

/* What a cell shows. If two bars share a column, the one with the higher rank is visible. */
enum { NORMAL = ':', DETAILED = '@', PEAK = '#' };

struct canvas {
	unsigned int width;
	unsigned int height;
	char *cells;		/* the rows of the canvas; each has width + 1 cells */
	struct mf_number *rows;	/* a bar reaches row y if it stands for at least rows[y] bytes */
};

/* The most recently drawn bar, from which the next line starts. */
struct bar {
	unsigned int x;
	unsigned int y;		/* top row of the bar; 0 if the bar does not reach any row */
	char mark;
};

static void deinit(struct canvas *canvas)
{
	free(canvas->cells);
	free(canvas->rows);
}

static char *cell(struct canvas *canvas, unsigned int x, unsigned int y)
{
	return &canvas->cells[(size_t)y * (canvas->width + 1) + x];
}

static void init(struct canvas *canvas, unsigned int width, unsigned int height,
		 struct mf_number largest)
{
	size_t size = (size_t)(width + 1) * (height + 1);
	struct mf_number step = mf_number_divide(largest, mf_number_of(height));
	size_t room = 0;
	unsigned int y;

	canvas->width = width;
	canvas->height = height;
	mf_memory_grow((void **)&canvas->cells, &room, size, 1);
	memset(canvas->cells, ' ', size);
	room = 0;
	mf_memory_grow((void **)&canvas->rows, &room, height + 1, sizeof(*canvas->rows));
	for (y = 0; y <= height; y++) {
		canvas->rows[y] = mf_number_multiply(mf_number_of(y), step);
		*cell(canvas, 0, y) = '|';
	}
	memset(canvas->cells, '-', width + 1);
	*cell(canvas, 0, 0) = '+';
	*cell(canvas, width, 0) = '>';
	*cell(canvas, 0, height) = '^';
}

/*
 * Returns the column in which a time is drawn, counted from 1. If two large times differ by too little for a double to
 * distinguish them, the earlier one may end up beyond the last column, in which case it is not drawn.
 */
static unsigned int find_column(const struct canvas *canvas, struct mf_number time, struct mf_number end)
{
	double position = trunc(mf_number_double(mf_number_divide(time, end)) * canvas->width) + 1;

	/* The formula for @position would put the end time itself one column too far to the right. */
	return mf_number_equal(time, end) ? canvas->width : (unsigned int)position;
}

/* Overwrites columns @first to @last in the bar's top row. Draws nothing if @last is less than @first. */
static void draw_line(struct canvas *canvas, unsigned int first, unsigned int last,
		      const struct bar *bar)
{
	if (!bar->y)
		return;
	for (unsigned int x = first; x <= last && x <= canvas->width; x++)
		*cell(canvas, x, bar->y) = bar->mark;
}

static int rank(char mark)
{
	return mark == PEAK ? 2 : mark == DETAILED ? 1 : 0;
}

static void draw_bar(struct canvas *canvas, struct mf_number total, struct bar *bar)
{
	unsigned int y;
	char *at;

	bar->y = 0;
	for (y = 1; y <= canvas->height; y++) {
		if (!mf_number_at_least(total, canvas->rows[y]))
			break;
		bar->y = y;
		if (bar->x > canvas->width)
			continue;
		at = cell(canvas, bar->x, y);
		if (rank(bar->mark) >= rank(*at))
			*at = bar->mark;
	}
}

static void draw(struct canvas *canvas, const struct mf_profile *profile, struct mf_number end)
{
	const struct mf_snapshot *snapshot;
	struct bar bar = { .mark = NORMAL };
	unsigned int x;
	size_t i;

	for (i = 0; i < profile->count; i++) {
		snapshot = &profile->snapshots[i];
		x = find_column(canvas, snapshot->time, end);
		draw_line(canvas, bar.x + 1, x - 1, &bar);
		bar.x = x;
		bar.mark = snapshot->is_peak ? PEAK : snapshot->has_tree ? DETAILED : NORMAL;
		draw_bar(canvas, snapshot->total, &bar);
	}
}

static void print(struct canvas *canvas, const struct mf_label *bytes, const struct mf_label *time,
		  struct mf_output *out)
{
	unsigned int y = canvas->height;

	mf_output_string(out, "    ");
	mf_output_right(out, bytes->unit, strlen(bytes->unit), 2);
	mf_output_string(out, "\n");
	mf_output_string(out, bytes->text);
	for (;;) {
		mf_output_bytes(out, cell(canvas, 0, y), canvas->width + 1);
		if (y-- == 0)
			break;
		mf_output_string(out, y ? "\n     " : "\n   0 ");
	}
	mf_output_string(out, time->unit);
	mf_output_string(out, "\n     0");
	mf_output_repeat(out, ' ', canvas->width > 5 ? canvas->width - 5 : 0);
	mf_output_string(out, time->text);
	mf_output_string(out, "\n");
}

/* Replaces 0 with 1, because the scale of an axis must not end at 0. */
static struct mf_number at_least_one(struct mf_number number)
{
	return mf_number_is_true(number) ? number : mf_number_of(1);
}

void mf_graph_print(const struct mf_profile *profile, const struct mf_text *unit,
		    unsigned int width, unsigned int height, struct mf_output *out)
{
	__attribute__((cleanup(deinit))) struct canvas canvas = {};
	struct mf_text bytes = { .data = "B", .len = 1 };
	struct mf_number largest = at_least_one(profile->largest);
	struct mf_number end = at_least_one(profile->snapshots[profile->count - 1].time);
	struct mf_label byte_label;
	struct mf_label time_label;

	init(&canvas, width, height, largest);
	draw(&canvas, profile, end);
	mf_label_make(&byte_label, largest, &bytes);
	mf_label_make(&time_label, end, unit);
	print(&canvas, &byte_label, &time_label, out);
}
