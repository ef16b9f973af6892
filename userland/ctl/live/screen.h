/* SPDX-License-Identifier: GPL-2.0 */
/* The screen of massif-ctl top: running profiles to choose from, and the one that is watched. */
#ifndef MASSIF_CTL_SCREEN_H
#define MASSIF_CTL_SCREEN_H

#include <regex.h>
#include <sys/types.h>

#include "base/error.h"
#include "view.h"

struct mf_screen_options {
	pid_t pid;     /* the process to watch, or 0 for the only one or one that the user chooses */
	int period_ms; /* time between two updates */
	struct mf_live_view view;
	const char *filter; /* the text of the view's regular expression, or NULL */
};

/* The filter can be that long. */
#define MF_SCREEN_FILTER_MAX 255u

/* Compiles a filter: an extended regular expression. Returns 0, or -EINVAL with a message. */
int mf_screen_filter_compile(regex_t *regex, const char *text, struct mf_error *err);

/*
 * Shows the screen until the user leaves it. Restores the terminal, also if a signal ends this process. Returns 0 or
 * -errno; -EOPNOTSUPP if this massif-ctl was built without ncurses.
 */
int mf_screen_show(const struct mf_screen_options *options, struct mf_error *err);

#endif
