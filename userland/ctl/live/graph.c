// SPDX-License-Identifier: GPL-2.0
// The totals of the last minutes, and their curve in Braille patterns or ASCII.

#include "graph.h"

#include <string.h>

#define DOTS 4u /* heights that a character can have */

void mf_live_history_add(struct mf_live_history *history, int64_t at_ms, uint64_t total)
{
	history->totals[history->next] = total;
	history->at_ms[history->next] = at_ms;
	history->next = (history->next + 1) % MF_LIVE_HISTORY_MAX;
	if (history->count < MF_LIVE_HISTORY_MAX)
		history->count++;
}

/* Returns how many totals are shown. */
static size_t shown(const struct mf_live_graph *graph)
{
	size_t room = graph->columns * MF_LIVE_GRAPH_TOTALS;

	return graph->history->count < room ? graph->history->count : room;
}

/* Returns the place in the ring of the total that is @back steps older than the newest. */
static size_t place(const struct mf_live_history *history, size_t back)
{
	return (history->next + MF_LIVE_HISTORY_MAX - 1 - back) % MF_LIVE_HISTORY_MAX;
}

uint64_t mf_live_graph_highest(const struct mf_live_graph *graph)
{
	uint64_t highest = 0;

	for (size_t i = 0; i < shown(graph); i++) {
		uint64_t total = graph->history->totals[place(graph->history, i)];

		highest = total > highest ? total : highest;
	}
	return highest;
}

int64_t mf_live_graph_span_ms(const struct mf_live_graph *graph)
{
	const struct mf_live_history *history = graph->history;
	size_t n = shown(graph);

	return n ? history->at_ms[place(history, 0)] - history->at_ms[place(history, n - 1)] : 0;
}

/*
 * Returns how many dots of the row that begins at the height @below are filled for the total that is @back steps older
 * than the newest. A total that is not 0 has at least one dot.
 */
static unsigned int dots_of(const struct mf_live_graph *graph, size_t back, uint64_t highest, size_t below)
{
	uint64_t total, height;

	if (back >= shown(graph))
		return 0;
	total = graph->history->totals[place(graph->history, back)];
	height = highest ? (uint64_t)((double)total / (double)highest * (double)(graph->rows * DOTS) + 0.5) : 0;
	if (!height && total)
		height = 1;
	if (height <= below)
		return 0;
	return height - below < DOTS ? (unsigned int)(height - below) : DOTS;
}

/* Writes the Braille pattern whose two columns are filled from below with so many dots. Returns its number of bytes. */
static size_t put_braille(char *to, unsigned int left, unsigned int right)
{
	/* Which bits of U+2800 and following are the dots, from below. */
	static const unsigned char lefts[DOTS] = { 0x40, 0x04, 0x02, 0x01 }, rights[DOTS] = { 0x80, 0x20, 0x10, 0x08 };
	unsigned int bits = 0;

	for (unsigned int i = 0; i < DOTS; i++)
		bits |= (i < left ? lefts[i] : 0u) | (i < right ? rights[i] : 0u);
	if (!bits) {
		*to = ' ';
		return 1;
	}
	to[0] = (char)0xe2;
	to[1] = (char)(0xa0 | bits >> 6);
	to[2] = (char)(0x80 | (bits & 0x3f));
	return 3;
}

void mf_live_graph_row(const struct mf_live_graph *graph, size_t row, char *text)
{
	static const char letters[DOTS + 1] = { ' ', '.', ':', '|', '#' };
	size_t below = (graph->rows - 1 - row) * DOTS;
	uint64_t highest = mf_live_graph_highest(graph);

	for (size_t i = graph->columns; i-- > 0;) {
		unsigned int right = dots_of(graph, i * MF_LIVE_GRAPH_TOTALS, highest, below);
		unsigned int left = dots_of(graph, i * MF_LIVE_GRAPH_TOTALS + 1, highest, below);

		if (graph->braille)
			text += put_braille(text, left, right);
		else
			*text++ = letters[left > right ? left : right];
	}
	*text = '\0';
}
