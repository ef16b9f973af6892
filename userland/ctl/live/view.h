/* SPDX-License-Identifier: GPL-2.0 */
/* The texts that show a running profile: the same on a terminal and in a pipe, but for exact numbers there. */
#ifndef MASSIF_CTL_VIEW_H
#define MASSIF_CTL_VIEW_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "live.h"

/* How a profile is shown. */
struct mf_live_view {
	enum mf_live_by by;
	enum mf_live_sort sort;
	const regex_t *filter; /* NULL: all sites */
	bool utf8;	       /* other texts than ASCII can be shown */
};

/* Lines of text above the table. */
enum {
	MF_LIVE_HEAD_PROGRAM,
	MF_LIVE_HEAD_BYTES,
	MF_LIVE_HEAD_CALLS,
	MF_LIVE_HEAD_RESIDENT, /* only if mf_live_view_heads() says so */
	MF_LIVE_HEADS,
};

/* Whether the characters of the user's locale are UTF-8. Call setlocale() before. */
bool mf_live_view_is_utf8(void);

/*
 * Copies as much of @text to @to, which has @size bytes, as fits into @columns, and returns how many columns it takes.
 * What cannot be printed, or changes the direction of the text, becomes a question mark. A text that was cut ends in "~".
 */
size_t mf_live_view_fit(const struct mf_live_view *view, char *to, size_t size, const char *text, size_t columns);

/* Writes how the process is doing, and where its file is, to @to, which has @size bytes. */
void mf_live_view_state(const struct mf_live *live, char *to, size_t size);
#define MF_LIVE_STATE_BYTES (4096 + 64) /* enough for the longest path */

/* Returns how many lines are above the table: MF_LIVE_HEADS, or one less if the resident set is not sampled. */
int mf_live_view_heads(const struct mf_live *live);

/* Writes line MF_LIVE_HEAD_* to @to, which has @size bytes. */
void mf_live_view_head(const struct mf_live *live, int line, char *to, size_t size);

/* Writes the head of the table, or the line of @site up to its label, to @to. */
void mf_live_view_columns(const struct mf_live_view *view, char *to, size_t size);
void mf_live_view_site(const struct mf_live *live, const struct mf_live_site *site, char *to, size_t size);

/* Prints everything, with exact numbers and at most @rows sites. */
void mf_live_view_print(const struct mf_live_view *view, const struct mf_live *live, size_t rows, FILE *out);

#endif
