// SPDX-License-Identifier: GPL-2.0
// A value of LD_PRELOAD.

#include "library_list.h"

#include <string.h>

#define SEPARATORS ": " /* see ld.so(8) */

char *mf_library_list_find(char *list, const char *library)
{
	size_t length = strlen(library);

	for (;; list++) {
		size_t n = strcspn(list, SEPARATORS);

		if (n == length && !strncmp(list, library, n))
			return list;
		list += n;
		if (!*list)
			return NULL;
	}
}

void mf_library_list_remove(char *list, char *place)
{
	char *end = list + strlen(list), *rest = place + strcspn(place, SEPARATORS);
	size_t length;

	/* One separator goes with it. */
	if (*rest)
		rest++;
	else if (place > list)
		place--;
	length = (size_t)(end - rest);
	memmove(place, rest, length);
	memset(place + length, 0, (size_t)(end - (place + length)));
}
