/* SPDX-License-Identifier: GPL-2.0 */
/* The totals of the last minutes, and their curve in Braille patterns or ASCII. */
#ifndef MASSIF_CTL_GRAPH_H
#define MASSIF_CTL_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many totals are remembered: those of ten minutes, if there is one each second. */
#define MF_LIVE_HISTORY_MAX 600u

/* Zero-initialise it. */
struct mf_live_history {
	uint64_t totals[MF_LIVE_HISTORY_MAX]; /* a ring */
	int64_t at_ms[MF_LIVE_HISTORY_MAX];
	size_t next, count;
};

void mf_live_history_add(struct mf_live_history *history, int64_t at_ms, uint64_t total);

/* A column of a curve can have this many totals side by side. */
#define MF_LIVE_GRAPH_TOTALS 2u

/* Bytes for a row of a curve of so many columns, with the terminating NUL. */
#define MF_LIVE_GRAPH_BYTES(columns) ((columns) * 3 + 1)

struct mf_live_graph {
	const struct mf_live_history *history;
	size_t columns, rows;
	bool braille; /* otherwise ASCII */
};

/* Returns the highest total that the curve shows, which its top stands for. */
uint64_t mf_live_graph_highest(const struct mf_live_graph *graph);

/* Returns the time between the oldest and the newest total that it shows. */
int64_t mf_live_graph_span_ms(const struct mf_live_graph *graph);

/* Writes row @row, counted from the top, to @text, which has MF_LIVE_GRAPH_BYTES(columns) bytes. */
void mf_live_graph_row(const struct mf_live_graph *graph, size_t row, char *text);

#endif
