/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The files that an object's names depend on: those that the names were read from, and those that would have been used
 * if they had existed. As long as none of these files changes, the names stay the same.
 */
#ifndef MASSIF_SYMBOLS_SOURCES_H
#define MASSIF_SYMBOLS_SOURCES_H

#include <stdbool.h>
#include <stdint.h>

/*
 * maximum number of files: the object, its debug file by build id, and three possible locations of a debug file by name
 */
#define MF_SOURCES_MAX 5

/* The state of a file at one point in time; all zeroes if the file did not exist. */
struct mf_source {
	uint64_t inode, size;
	int64_t modified_ns, changed_ns;
};

/* A list of files and their states. Zero-initialise it. */
struct mf_sources {
	struct mf_source files[MF_SOURCES_MAX];
	const char *paths[MF_SOURCES_MAX];
	uint32_t count;
	bool others; /* the names also depend on files that are missing from this list, so they must not be saved */
};

/*
 * Adds a copy of @path with the file's current state. Call this before opening the file, so that a later change is
 * noticed.
 */
void mf_sources_add(struct mf_sources *sources, const char *path);

/* Frees the paths that mf_sources_add() copied. */
void mf_sources_deinit(struct mf_sources *sources);

/* Returns whether two lists of files are both complete and contain the same files in the same states. */
bool mf_sources_are_same(const struct mf_sources *a, const struct mf_sources *b);

/* Returns whether all files are unchanged on disk. */
bool mf_sources_are_still(const struct mf_sources *sources);

#endif
