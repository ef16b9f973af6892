/* SPDX-License-Identifier: GPL-2.0 */
/* Standard output as a terminal: its width, its colours, its characters, and a pager for long texts. */
#ifndef MASSIF_CTL_TERMINAL_H
#define MASSIF_CTL_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/error.h"

struct mf_terminal {
	FILE *out;	   /* standard output, or the pager */
	unsigned int width; /* columns; 80 if it is not a terminal, unless $COLUMNS says otherwise */
	bool colours;	   /* false if $NO_COLOR is set, or it is not a terminal */
	bool utf8;
	pid_t pager;	   /* 0 if there is none */
};

/* A text style: an escape sequence, or "" on a terminal without colours. */
const char *mf_terminal_bold(const struct mf_terminal *terminal);
const char *mf_terminal_plain(const struct mf_terminal *terminal);

/*
 * Prepares for printing. On a terminal, starts the pager ($MASSIF_PAGER, $PAGER or less), which ends by itself if the
 * text fits on one screen; "cat" or "" is no pager.
 */
void mf_terminal_open(struct mf_terminal *terminal);

/* Finishes printing, and waits for the pager. Returns 0, or -errno if not everything could be written. */
int mf_terminal_close(struct mf_terminal *terminal, struct mf_error *err);

/* Returns how many columns a line has room for after the first @used ones: on a narrow terminal, lines are longer than it. */
unsigned int mf_terminal_left(const struct mf_terminal *terminal, unsigned int used);

/* Prints @text in at most @columns columns; a longer text ends in dots. Returns the number of columns. */
unsigned int mf_terminal_print_cut(const struct mf_terminal *terminal, const char *text, unsigned int columns);

/* Prints @text in lines that fit the terminal, those after the first one indented by two columns. */
void mf_terminal_print_wrapped(const struct mf_terminal *terminal, const char *text);

#endif
