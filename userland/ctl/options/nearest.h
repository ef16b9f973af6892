/* SPDX-License-Identifier: GPL-2.0 */
/* Finds the name that was probably meant by a misspelt word. */
#ifndef MASSIF_CTL_NEAREST_H
#define MASSIF_CTL_NEAREST_H

#include <stddef.h>

/*
 * A search for one word. Set @word, which need not be NUL-terminated, and @length; call mf_nearest_consider() for each
 * name; then read @found. It is the name with the smallest edit distance (letters inserted, deleted, replaced, or
 * swapped with their neighbour), or NULL if no name is similar enough.
 */
struct mf_nearest {
	const char *word;
	size_t length;

	const char *found;
	size_t distance; /* edit distance between @found and the word that was given */
};

void mf_nearest_consider(struct mf_nearest *nearest, const char *name);

#endif
