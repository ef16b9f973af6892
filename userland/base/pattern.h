/* SPDX-License-Identifier: GPL-2.0 */
/* Patterns of text: `*` is any text, `?` any character. */
#ifndef MASSIF_BASE_PATTERN_H
#define MASSIF_BASE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

/* Does all of @text match @pattern? Both have lengths, and no end. */
bool mf_pattern_matches(const char *pattern, size_t pattern_size, const char *text,
			size_t text_size);

#endif
