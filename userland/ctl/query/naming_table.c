// SPDX-License-Identifier: GPL-2.0
// Prints which names of a recording were found in its files, and what to do about those that were not.

#include "naming_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/image.h"

static int compare(const void *left, const void *right)
{
	const struct mf_naming_file *a = left, *b = right;

	if (a->n_frames != b->n_frames)
		return a->n_frames > b->n_frames ? -1 : 1;
	return strcmp(a->object->path, b->object->path);
}

static bool is_complete(const struct mf_naming_file *file)
{
	return file->lines == file->n_frames;
}

/* Returns whether a debug file could give the file more names than it has now. */
static bool lacks_debug_file(const struct mf_naming_file *file)
{
	return !is_complete(file) && file->object->build_id_size && file->opened &&
	       (!file->readable || !(file->found & MF_IMAGE_DWARF));
}

static void print_build_id(FILE *out, const struct mf_object *object)
{
	fputs("build-id ", out);
	for (size_t i = 0; i < object->build_id_size; i++)
		fprintf(out, "%02x", object->build_id[i]);
}

static void print_remark(FILE *out, const struct mf_naming_file *file)
{
	if (is_complete(file))
		return;
	if (!file->object->build_id_size) {
		fputs(": it has no build-id, so its names cannot be looked up", out);
		return;
	}
	if (file->opened && !file->readable)
		fprintf(out, ": not found (%s), ", file->why ?: "no such file");
	else if (file->opened && file->why)
		fprintf(out, ": %s, ", file->why);
	else if (lacks_debug_file(file))
		fputs(": no debug information was found, ", out);
	else
		return;
	print_build_id(out, file->object);
}

int mf_naming_table_print(FILE *out, struct mf_naming *naming, struct mf_error *err)
{
	bool lacks = false;

	if (naming->n_files)
		qsort(naming->files, naming->n_files, sizeof(*naming->files), compare);
	fprintf(out, "%8s %13s %8s %11s  %s\n", "frames", "named before", "now", "with lines", "file");
	for (size_t i = 0; i < naming->n_files; i++) {
		const struct mf_naming_file *file = &naming->files[i];

		fprintf(out, "%8zu %13zu %8zu %11zu  %s", file->n_frames, file->named_before, file->named, file->lines,
			file->object->path);
		print_remark(out, file);
		putc('\n', out);
		lacks |= lacks_debug_file(file);
	}
	if (lacks)
		fputs("For what was not found, install the packages with the debug symbols (Debian: NAME-dbgsym), or use\n"
		      "--debug-dir=DIR with a directory that has the files, or --debuginfod=URL with a server.\n", out);
	if (fflush(out) || ferror(out))
		return mf_error_set(err, -errno, "cannot write what was found: %s", strerror(errno));
	return 0;
}
