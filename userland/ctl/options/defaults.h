/* SPDX-License-Identifier: GPL-2.0 */
/* Default options from ~/.massifrc, $MASSIF_OPTS and ./.massifrc, in this order. */
#ifndef MASSIF_CTL_DEFAULTS_H
#define MASSIF_CTL_DEFAULTS_H

#include <stddef.h>

#include "base/error.h"

#define MF_DEFAULTS_FILES 2

/* A default option and its origin, such as "MASSIF_OPTS" or "./.massifrc, line 3". The structure owns both strings. */
struct mf_default {
	char *word, *origin;
};

struct mf_defaults {
	struct mf_default *items;
	size_t count;
	/*
	 * paths of the option files that were not read because they are not trusted; unused entries, at the end, are
	 * NULL
	 */
	char *refused[MF_DEFAULTS_FILES];
};

/*
 * Reads the default options from all three sources. In a file, # at the start of a word begins a comment that extends
 * to the end of the line. A file that does not exist or cannot be read is skipped. Returns 0 or -ENOMEM.
 */
int mf_defaults_read(struct mf_defaults *defaults, struct mf_error *err);
void mf_defaults_free(struct mf_defaults *defaults);

/* Reports the files that were refused, and why. */
void mf_defaults_say_refused(const struct mf_defaults *defaults);

#endif
