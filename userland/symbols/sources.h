/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The files that the names of one object were read from, and those that they would have been read from had
 * they been there: as long as all of them are what they were, so are the names.
 */
#ifndef MASSIF_SYMBOLS_SOURCES_H
#define MASSIF_SYMBOLS_SOURCES_H

#include <stdbool.h>
#include <stdint.h>

#define MF_SOURCES_MAX 5 /* the object, its debug file by build id, and three places by name */

/* A file as it was at some time; all zeros: there was none. */
struct mf_source {
	uint64_t inode, size;
	int64_t modified_ns, changed_ns;
};

/* All zeros: none yet. */
struct mf_sources {
	struct mf_source files[MF_SOURCES_MAX];
	const char *paths[MF_SOURCES_MAX];
	uint32_t count;
	bool others; /* these are not all */
};

/*
 * Adds @path, as it is now. Before it is opened: if it changes meanwhile, it is not what it was. The path is
 * copied.
 */
void mf_sources_add(struct mf_sources *sources, const char *path);

/* Frees the paths, of those that were added. */
void mf_sources_deinit(struct mf_sources *sources);

bool mf_sources_are_same(const struct mf_sources *a, const struct mf_sources *b);

/* Looks at the files. */
bool mf_sources_are_still(const struct mf_sources *sources);

#endif
