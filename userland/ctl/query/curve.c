// SPDX-License-Identifier: GPL-2.0
// Draws memory over time with characters.

#include "curve.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/message/quantity.h"

#define LABEL 10 /* columns for the labels at the left */
#define STEPS 8	 /* heights that a character can have */

/* Returns the column of a time, from 0 to @columns - 1. */
static size_t column_of(int64_t time, int64_t last, size_t columns)
{
	size_t column;

	if (last <= 0 || time <= 0)
		return 0;
	if (time >= last)
		return columns - 1;
	/* As doubles, large times can be equal that are not. */
	column = (size_t)((double)time / (double)last * (double)columns);
	return column < columns ? column : columns - 1;
}

/*
 * Fills @values, one for each column, with the largest total in the time that it stands for. Between two snapshots, the
 * total is that of the earlier one.
 */
static void sample(const struct mf_profile *profile, uint64_t *values, size_t columns)
{
	int64_t last = profile->snapshots[profile->n_snapshots - 1].time;
	uint64_t before = 0;
	size_t next = 0;

	for (size_t i = 0; i < profile->n_snapshots; i++) {
		size_t column = column_of(profile->snapshots[i].time, last, columns);
		uint64_t total = mf_profile_total(&profile->snapshots[i]);

		for (; next <= column; next++)
			values[next] = before;
		/* In a hostile file, times can go backwards; such a total is drawn where the time is. */
		if (total > values[column])
			values[column] = total;
		before = total;
	}
}

static const char *cell(const struct mf_terminal *terminal, unsigned int height)
{
	static const char *const blocks[] = { " ", "\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587",
					      "\u2588" };
	static const char *const letters[] = { " ", ".", ".", ":", ":", ":", "|", "|", "#" };

	return (terminal->utf8 ? blocks : letters)[height];
}

/* Returns how much of the row that begins at @below, in units of 1/STEPS of a row, a column of @height fills. */
static unsigned int fill_of(uint64_t height, unsigned int below)
{
	if (height <= below)
		return 0;
	return height - below >= STEPS ? STEPS : (unsigned int)(height - below);
}

void mf_curve_draw(const struct mf_terminal *terminal, const struct mf_profile *profile, unsigned int rows)
{
	size_t columns = terminal->width - LABEL - 2;
	uint64_t *values = calloc(columns, sizeof(*values)), highest = 0;
	const char *time;
	struct mf_quantity label, end;

	if (!values || !profile->n_snapshots) {
		free(values);
		return;
	}
	sample(profile, values, columns);
	for (size_t i = 0; i < columns; i++)
		highest = values[i] > highest ? values[i] : highest;
	/* If the program held nothing, there is nothing to draw. */
	if (!highest) {
		free(values);
		return;
	}
	label = mf_quantity_bytes(highest);
	for (unsigned int row = rows; row-- > 0;) {
		fprintf(terminal->out, "%*s %s", LABEL, row + 1 == rows ? label.text : row ? "" : "0 B",
			terminal->utf8 ? "\u2502" : "|");
		size_t blanks = 0;

		for (size_t i = 0; i < columns; i++) {
			/* A column that is not 0 has at least the lowest height. */
			uint64_t height = (uint64_t)((double)values[i] / (double)highest * (double)(rows * STEPS));
			unsigned int fill = fill_of(height || !values[i] ? height : 1, row * STEPS);

			/* A line does not end with blanks. */
			if (!fill) {
				blanks++;
				continue;
			}
			fprintf(terminal->out, "%*s%s", (int)blanks, "", cell(terminal, fill));
			blanks = 0;
		}
		putc('\n', terminal->out);
	}
	end = mf_quantity_time(profile->snapshots[profile->n_snapshots - 1].time, profile->time_unit);
	time = end.text;
	fprintf(terminal->out, "%*s 0%*s\n\n", LABEL, "", (int)columns, time);
	free(values);
}
