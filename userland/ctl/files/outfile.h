/* SPDX-License-Identifier: GPL-2.0 */
/* Writes an output file atomically: completely or not at all. */
#ifndef MASSIF_CTL_OUTFILE_H
#define MASSIF_CTL_OUTFILE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/error.h"

struct mf_outfile {
	FILE *stream;	 /* the stream to write to */
	char *path;	 /* the file that mf_outfile_commit() creates or replaces */
	char *temporary; /* temporary name in the same directory; NULL if @path is special and written directly */
};

/* Formats an error message for a failure to write @path. @code is the reason, a negative errno. Returns @code. */
int mf_outfile_explain(const char *path, int code, struct mf_error *err);

/*
 * Checks that @path can be written, by creating and deleting a temporary file in its directory. Creates none if @path
 * is a pipe, a device or the like (see mf_outfile_is_special()). Returns 0 or -errno.
 */
int mf_outfile_check(const char *path, struct mf_error *err);

/*
 * Returns whether @path is one of this process's own descriptors (/dev/stdout, /dev/fd/63, ...). If so, inherited
 * descriptors must stay open until the file is written.
 */
bool mf_outfile_needs_descriptors(const char *path);

/*
 * Returns whether @path is written to in place rather than replaced: it is a pipe, a device, a descriptor or the like.
 */
bool mf_outfile_is_special(const char *path);

/*
 * Opens @path for writing. A new or replacement file is created with @mode, modified by the umask. A symbolic link is
 * replaced, not followed, unless it leads to a special file. Returns 0 or -errno.
 */
int mf_outfile_open(struct mf_outfile *file, const char *path, mode_t mode, struct mf_error *err);

/*
 * Closes the stream and puts the file in place. Returns 0 or -errno; on error, deletes what was written, like
 * mf_outfile_discard().
 */
int mf_outfile_commit(struct mf_outfile *file, struct mf_error *err);

/*
 * Closes the stream and deletes what was written. May also be called if mf_outfile_open() has failed, or after
 * mf_outfile_commit().
 */
void mf_outfile_discard(struct mf_outfile *file);

/* Describes a file to write: its contents, its mode and its fallback name. */
struct mf_outfile_source {
	/*
	 * Writes the contents to @out; called once for each file that is tried. Returns 0, or -errno with a message in
	 * @err. After -ENOMEM no other file is tried.
	 */
	int (*fill)(FILE *out, void *data, struct mf_error *err);
	void *data;
	mode_t mode;
	const char *stem; /* base name for the fallback file if the original file is special */
};

/*
 * Writes @path. If that fails, writes a new file with mode 0600 and an unguessable name in $TMPDIR or /tmp instead;
 * *@saved is then set to its name, which the caller must free, and the message in @err names both files. Otherwise,
 * *@saved is NULL. Returns 0, or -errno if neither file was written.
 */
int mf_outfile_write(const char *path, const struct mf_outfile_source *source, char **saved,
		     struct mf_error *err);

/* A fill() function for struct mf_outfile_source: copies the file whose descriptor @data points to. */
int mf_outfile_fill_from(FILE *out, void *data, struct mf_error *err);

/*
 * The fallback of mf_outfile_write(): writes a new file in $TMPDIR or /tmp. On entry, @err says why @path could not be
 * written.
 */
int mf_outfile_save(const char *path, const struct mf_outfile_source *source, char **saved,
		    struct mf_error *err);

#endif
