/* SPDX-License-Identifier: GPL-2.0 */
/* An output file that is there as a whole, or not at all. */
#ifndef MASSIF_CTL_OUTFILE_H
#define MASSIF_CTL_OUTFILE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/error.h"

struct mf_outfile {
	FILE *stream;	 /* write here */
	char *path;	 /* the file that appears, or is replaced, with _commit */
	char *temporary; /* beside it; NULL when @path is no regular file and is written directly */
};

/* The words for @path that could not be written because of @code, a -errno. Returns @code. */
int mf_outfile_explain(const char *path, int code, struct mf_error *err);

/*
 * Can @path be written? Makes a file beside it for a moment, unless @path is a device or the like.
 * Returns 0 or -errno.
 */
int mf_outfile_check(const char *path, struct mf_error *err);

/*
 * Is @path one of this process's own descriptors (/dev/stdout, /dev/fd/63, ...), so that they must
 * stay open until it is written?
 */
bool mf_outfile_needs_descriptors(const char *path);

/* Is @path a pipe, a device, a descriptor or the like? Such a thing is written into, and not replaced. */
bool mf_outfile_is_special(const char *path);

/*
 * Opens. @mode is that of a new file, less the umask; a file that is replaced gets it, too. A
 * symbolic link is replaced, never followed, unless it leads to a device, a pipe or the like.
 */
int mf_outfile_open(struct mf_outfile *file, const char *path, mode_t mode, struct mf_error *err);

/* Makes what was written to the stream the file. On an error nothing is left, as with _discard. */
int mf_outfile_commit(struct mf_outfile *file, struct mf_error *err);

/* Closes and forgets what was written. Allowed after a failed _open and after _commit. */
void mf_outfile_discard(struct mf_outfile *file);

/* What a file is made of. */
struct mf_outfile_source {
	/*
	 * Writes all of it to @out; called once more for each file that is tried. Returns 0, or -errno with
	 * words in @err; -ENOMEM: it cannot be made, whatever the file.
	 */
	int (*fill)(FILE *out, void *data, struct mf_error *err);
	void *data;
	mode_t mode;
	const char *stem; /* the file's name elsewhere, if it was to be a device, a pipe or a descriptor */
};

/*
 * Writes @path; or, where that fails, a new file of mode 0600 in $TMPDIR or else in /tmp, whose name
 * nobody can guess. *@saved is then that name, to be freed, and @err says both; otherwise it is NULL.
 * Returns 0, or -errno if it is written nowhere.
 */
int mf_outfile_write(const char *path, const struct mf_outfile_source *source, char **saved,
		     struct mf_error *err);

/* A struct mf_outfile_source's fill: copies the file whose descriptor @data points to. */
int mf_outfile_fill_from(FILE *out, void *data, struct mf_error *err);

/* The second half of it: @err says why @path could not be written. */
int mf_outfile_save(const char *path, const struct mf_outfile_source *source, char **saved,
		    struct mf_error *err);

#endif
