// SPDX-License-Identifier: GPL-2.0
// Decides which executed programs --trace-children skips.

#include "skipped_children.h"

#include <string.h>

#include "base/pattern.h"

/* Returns whether @text matches one of the comma-separated @patterns. */
static bool matches_any(const char *patterns, const char *text, size_t length)
{
	while (patterns && *patterns) {
		size_t n = strcspn(patterns, ",");

		if (n && mf_pattern_matches(patterns, n, text, length))
			return true;
		patterns += n + (patterns[n] == ',');
	}
	return false;
}

bool mf_children_skips(const struct mf_options *options, const char *path, const char *args,
		       size_t n_bytes)
{
	if (matches_any(options->trace_children_skip, path, strlen(path)))
		return true;
	while (n_bytes) {
		size_t length = strnlen(args, n_bytes);

		if (matches_any(options->trace_children_skip_by_arg, args, length))
			return true;
		length += length < n_bytes;
		args += length;
		n_bytes -= length;
	}
	return false;
}
