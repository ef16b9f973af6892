/* SPDX-License-Identifier: GPL-2.0 */
/* Options that were set up beforehand: ~/.massifrc, $MASSIF_OPTS and ./.massifrc, in this order. */
#ifndef MASSIF_CTL_DEFAULTS_H
#define MASSIF_CTL_DEFAULTS_H

#include <stddef.h>

#include "base/error.h"

#define MF_DEFAULTS_FILES 2

/* An option that was set up beforehand, and where: "MASSIF_OPTS" or "./.massifrc, line 3". Both owned. */
struct mf_default {
	char *word, *origin;
};

struct mf_defaults {
	struct mf_default *items;
	size_t count;
	char *refused[MF_DEFAULTS_FILES]; /* files that were not read, NULL behind the last */
};

/*
 * Reads all three. In a file, # at the beginning of a word starts a comment, up to the end of the line.
 * Returns 0 or -ENOMEM. A file that does not exist, or cannot be read, has no words.
 */
int mf_defaults_read(struct mf_defaults *defaults, struct mf_error *err);
void mf_defaults_free(struct mf_defaults *defaults);

/* Tells of the files that were not read, and why. */
void mf_defaults_say_refused(const struct mf_defaults *defaults);

#endif
