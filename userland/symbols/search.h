/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Further files in which the names of an object may be, for objects of another machine: debug files by build id, the
 * object below other directories, and what a server has. Every file may be another one of the same name, so the process
 * that reads it compares its build id with that of the object (image.h).
 */
#ifndef MASSIF_SYMBOLS_SEARCH_H
#define MASSIF_SYMBOLS_SEARCH_H

#include <stddef.h>
#include <stdint.h>

#include "profile/object.h"

struct mf_search {
	/* directories with debug files, or with a copy of the other machine's file system, in the order of the search */
	const char *const *directories;
	size_t n_directories;
	/*
	 * If not NULL: fetches the debug file with the build id of @size bytes at @build_id, if no other file has debug
	 * information. Returns a descriptor or -errno. Context: any thread, several at a time.
	 */
	int (*fetch)(void *data, const uint8_t *build_id, size_t size);
	void *fetch_data;
};

/*
 * Opens the @place-th file in which the names of @object may be, counting from 0. @object has a build id. Returns a
 * descriptor; -ENXIO if @place is beyond the last one; or another -errno.
 */
int mf_search_open(const struct mf_search *search, const struct mf_object *object, uint32_t place);

/*
 * Returns the path of the debug file with this build id in @root, to be freed; NULL if out of memory, or if no build id
 * has this size.
 */
char *mf_search_debug_path(const char *root, const uint8_t *build_id, size_t size);

/*
 * Opens what takes the place of @path, a file in /usr/lib/debug that this machine does not have: in one of the
 * directories, it is at the same path, or at the same path below the directory of debug files. Returns a descriptor or
 * -errno.
 */
int mf_search_open_shared(const struct mf_search *search, const char *path);

#endif
