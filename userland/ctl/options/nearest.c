// SPDX-License-Identifier: GPL-2.0
// Finds the name that was probably meant by a misspelt word.

#include "nearest.h"

#include <string.h>

#define LETTERS_MAX 64u /* maximum length of the words and names that are compared; longer ones are ignored */

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * Computes the Damerau-Levenshtein distance (optimal string alignment) of two words of at most LETTERS_MAX
 * letters. Only the current row of the table and the two before it are kept.
 */
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
	size_t rows[3][LETTERS_MAX + 1];

	for (size_t j = 0; j <= b_length; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a_length; i++) {
		size_t *row = rows[i % 3], *above = rows[(i - 1) % 3], *second = rows[(i + 1) % 3];

		row[0] = i;
		for (size_t j = 1; j <= b_length; j++) {
			row[j] = least(least(row[j - 1], above[j]) + 1,
				       above[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = least(row[j], second[j - 2] + 1);
		}
	}
	return rows[a_length % 3][b_length];
}

void mf_nearest_consider(struct mf_nearest *nearest, const char *name)
{
	size_t length = strlen(name), allowed = least(nearest->length, length) / 4, found;

	if (nearest->length > LETTERS_MAX || length > LETTERS_MAX || !allowed)
		return;
	found = distance(nearest->word, nearest->length, name, length);
	if (found > allowed || (nearest->found && found >= nearest->distance))
		return;
	nearest->found = name;
	nearest->distance = found;
}
