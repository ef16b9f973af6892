/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The progress of a long run, in a line on the terminal that is rewritten each second. It must never be mixed with what the
 * program prints, so it is shown only if messages go to a terminal to which none of the program's standard descriptors
 * leads.
 */
#ifndef MASSIF_CTL_PROGRESS_H
#define MASSIF_CTL_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MF_PROGRESS_MS 1000 /* time between two lines */

struct mf_progress_figures {
	int64_t age_ms; /* how long the program has been profiled */
	uint64_t live, peak; /* bytes */
};

/*
 * Returns whether the line may be shown on the terminal @fd: whether @fd is a terminal, and standard input, output and
 * error, which the program inherits, are not the same one. Call it before the program's descriptors are closed here.
 */
bool mf_progress_is_safe(int fd);

/* Shows the line about the program @name, unless it has just begun, or -q was given. */
void mf_progress_show(const char *name, const struct mf_progress_figures *figures);

#endif
