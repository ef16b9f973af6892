// SPDX-License-Identifier: GPL-2.0
// Further files in which the names of an object may be.

#include "symbols/search.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/regular.h"

#define DEBUG_ROOT "/usr/lib/debug"

enum { BUILD_ID_LEAST = 2, BUILD_ID_MOST = 64 };

char *mf_search_debug_path(const char *root, const uint8_t *build_id, size_t size)
{
	char digits[2 * BUILD_ID_MOST + 1] = "", *path;

	if (size < BUILD_ID_LEAST || size > BUILD_ID_MOST)
		return NULL;
	for (size_t i = 0; i < size; i++)
		snprintf(digits + 2 * i, 3, "%02x", build_id[i]);
	return asprintf(&path, "%s/.build-id/%.2s/%s.debug", root, digits, digits + 2) < 0 ? NULL : path;
}

static int open_by_build_id(const char *root, const struct mf_object *object)
{
	mf_auto_free char *path = mf_search_debug_path(root, object->build_id, object->build_id_size);

	return path ? mf_regular_open(path) : -ENOENT;
}

/* Symbolic links in the copy of a file system lead to other files of this copy. */
static int open_in_copy(const char *root, const struct mf_object *object)
{
	return object->path[0] == '/' ? mf_regular_open_in_root(root, object->path) : -ENOENT;
}

static int open_debug_file_in_copy(const char *root, const struct mf_object *object)
{
	mf_auto_free char *path = mf_search_debug_path(DEBUG_ROOT, object->build_id, object->build_id_size);

	return path ? mf_regular_open_in_root(root, path) : -ENOENT;
}

static int open_by_name(const char *directory, const struct mf_object *object, const char *suffix)
{
	const char *slash = strrchr(object->path, '/'), *name = slash ? slash + 1 : object->path;
	mf_auto_free char *path = NULL;

	if (!*name)
		return -ENOENT;
	if (asprintf(&path, "%s/%s%s", directory, name, suffix) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	return mf_regular_open(path);
}

static int open_debug_file_by_name(const char *directory, const struct mf_object *object)
{
	return open_by_name(directory, object, ".debug");
}

/* The directory in which the program was built has the object without its path on the other machine. */
static int open_object_by_name(const char *directory, const struct mf_object *object)
{
	return open_by_name(directory, object, "");
}

static int (*const in_directory[])(const char *directory, const struct mf_object *object) = {
	open_by_build_id, open_debug_file_in_copy, open_in_copy, open_debug_file_by_name, open_object_by_name,
};

#define IN_DIRECTORY (sizeof(in_directory) / sizeof(in_directory[0]))

int mf_search_open(const struct mf_search *search, const struct mf_object *object, uint32_t place)
{
	int fd;

	/* The object may not be on this machine although its debug file is. */
	if (!place)
		return open_by_build_id(DEBUG_ROOT, object);
	place--;
	if (place / IN_DIRECTORY >= search->n_directories)
		return -ENXIO;
	fd = in_directory[place % IN_DIRECTORY](search->directories[place / IN_DIRECTORY], object);
	return fd == -ENXIO ? -ENOENT : fd;
}

int mf_search_open_shared(const struct mf_search *search, const char *path)
{
	size_t length = strlen(DEBUG_ROOT "/");
	int fd = -ENOENT;

	if (strncmp(path, DEBUG_ROOT "/", length) != 0)
		return -ENOENT;
	for (size_t i = 0; i < search->n_directories && fd < 0; i++) {
		fd = mf_regular_open_in_root(search->directories[i], path + length - 1);
		if (fd < 0)
			fd = mf_regular_open_in_root(search->directories[i], path);
	}
	return fd;
}
