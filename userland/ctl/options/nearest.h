/* SPDX-License-Identifier: GPL-2.0 */
/* Which of several names a misspelt word was meant to be. */
#ifndef MASSIF_CTL_NEAREST_H
#define MASSIF_CTL_NEAREST_H

#include <stddef.h>

/*
 * The search for one word. Set @word (which need not end at @length) and @length, call
 * mf_nearest_consider() for each name, then read @found: the name with the fewest letters inserted, left
 * out, changed or exchanged with the next, or NULL if none is near enough.
 */
struct mf_nearest {
	const char *word;
	size_t length;

	const char *found;
	size_t distance; /* of @found */
};

void mf_nearest_consider(struct mf_nearest *nearest, const char *name);

#endif
