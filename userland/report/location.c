// SPDX-License-Identifier: GPL-2.0
// Prints source positions for reports.

#include "report/location.h"

#include <inttypes.h>
#include <string.h>

/*
 * Functions of the C library that call main, directly or indirectly. By default, reports show them as `(below main)` or
 * not at all. Names must match literally. In separate debug files, symbol names may include a version; such a name does
 * not match, so reports show the function like any other.
 */
static const struct {
	const char *name;
	bool suffixes; /* also match compiler-generated clones `name.something` */
} below_main[] = {
	{ "__libc_start_main", true },
	{ "__libc_start_call_main", false },
	{ "generic_start_main", true },
	{ "_start", false },
};

bool mf_location_is_below_main(const char *function)
{
	if (!function)
		return false;
	for (size_t i = 0; i < sizeof(below_main) / sizeof(*below_main); i++) {
		size_t length = strlen(below_main[i].name);

		if (strncmp(function, below_main[i].name, length) != 0)
			continue;
		if (!function[length] || (below_main[i].suffixes && function[length] == '.'))
			return true;
	}
	return false;
}

const char *mf_location_function(const char *function, const struct mf_report_options *options)
{
	if (!options->show_below_main && mf_location_is_below_main(function))
		return "(below main)";
	return function;
}

/* Returns the part of @directory that reports show, or "" if they show none of it. */
static const char *shown_directory(const char *directory, const struct mf_strings *after)
{
	if (!directory || !after->count)
		return "";
	for (size_t i = 0; i < after->count; i++) {
		const char *found = strstr(directory, after->items[i]);

		if (found) {
			directory = found + strlen(after->items[i]);
			break;
		}
	}
	if (strncmp(directory, "./", 2) == 0)
		directory += 2;
	return directory;
}

static void print_file(FILE *out, const struct mf_location *location,
		       const struct mf_report_options *options)
{
	const char *directory = shown_directory(location->directory, &options->fullpath_after);

	fputs(" (", out);
	if (*directory)
		fprintf(out, "%s/", directory);
	fprintf(out, "%s:%u)", location->file, location->line);
}

void mf_location_print(FILE *out, uint64_t pc, const struct mf_location *location,
		       const struct mf_report_options *options)
{
	const char *function = mf_location_function(location->function, options);

	fprintf(out, "0x%" PRIX64 ": ", pc);
	if (location->note) {
		fputs(location->note, out);
		return;
	}
	fputs(function ? function : "???", out);
	if (function && options->sym_offsets && location->offset)
		fprintf(out, "+%" PRIu64, location->offset);
	if (location->file)
		print_file(out, location, options);
	else if (location->object)
		fprintf(out, " (in %s)", location->object);
	else if (function)
		fputs(" (in ?\?\?)", out); /* the backslashes prevent a trigraph */
}
