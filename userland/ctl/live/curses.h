/* SPDX-License-Identifier: GPL-2.0 */
/* The terminal, used through ncurses: it is restored however this process ends. */
#ifndef MASSIF_CTL_CURSES_H
#define MASSIF_CTL_CURSES_H

#include <stdbool.h>

#include "base/error.h"

/* Colours, numbered as pairs of ncurses. */
enum {
	MF_CURSES_PLAIN,
	MF_CURSES_CURVE,
	MF_CURSES_ALERT,
};

struct mf_curses {
	int signals;  /* descriptor that is readable when a signal is pending */
	bool colours; /* false if $NO_COLOR is set, or the terminal has none */
};

/* Begins to use the terminal. Returns 0 or -errno; the message says what is missing. */
int mf_curses_open(struct mf_curses *curses, struct mf_error *err);

/* Restores the terminal. */
void mf_curses_close(struct mf_curses *curses);

/*
 * Handles pending signals. Suspends this process if the user wants that, and takes the new size of a window. Returns the
 * signal that is to end this process, or 0.
 */
int mf_curses_look(struct mf_curses *curses);

/* Ends this process by @signal, which mf_curses_look() has returned. Close @curses before. */
void mf_curses_die(int signal);

#endif
