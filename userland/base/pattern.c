// SPDX-License-Identifier: GPL-2.0
// Text patterns: `*` matches any text, `?` any character.

#include "base/pattern.h"

bool mf_pattern_matches(const char *pattern, size_t pattern_size, const char *text,
			size_t text_size)
{
	const char *end = pattern + pattern_size, *text_end = text + text_size;
	const char *star = NULL, *resume = NULL;

	while (text < text_end) {
		if (pattern < end && *pattern == '*') {
			star = pattern++;
			resume = text;
		} else if (pattern < end && (*pattern == '?' || *pattern == *text)) {
			pattern++;
			text++;
		} else if (star) {
			/* Let the last star match one more character. */
			pattern = star + 1;
			text = ++resume;
		} else {
			return false;
		}
	}
	while (pattern < end && *pattern == '*')
		pattern++;
	return pattern == end;
}
