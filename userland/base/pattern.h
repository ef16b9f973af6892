/* SPDX-License-Identifier: GPL-2.0 */
/* Text patterns: `*` matches any text, `?` any character. */
#ifndef MASSIF_BASE_PATTERN_H
#define MASSIF_BASE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Returns whether all of @text matches @pattern. Neither is NUL-terminated; sizes are in bytes. */
bool mf_pattern_matches(const char *pattern, size_t pattern_size, const char *text,
			size_t text_size);

/* The same for strings. @text may be NULL; no pattern matches it. */
static inline bool mf_pattern_matches_text(const char *pattern, const char *text)
{
	return text && mf_pattern_matches(pattern, strlen(pattern), text, strlen(text));
}

#endif
