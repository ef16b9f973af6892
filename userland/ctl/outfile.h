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

/* Can @path probably be written? Changes nothing. Returns 0 or -errno. */
int mf_outfile_check(const char *path, struct mf_error *err);

/*
 * Is @path one of this process's own descriptors (/dev/stdout, /dev/fd/63, ...), so that they must
 * stay open until it is written?
 */
bool mf_outfile_needs_descriptors(const char *path);

/*
 * Opens. @mode is that of a new file, less the umask; a file that is replaced gets it, too. A
 * symbolic link is replaced, never followed, unless it leads to a device, a pipe or the like.
 */
int mf_outfile_open(struct mf_outfile *file, const char *path, mode_t mode, struct mf_error *err);

/* Makes what was written to the stream the file. On an error nothing is left, as with _discard. */
int mf_outfile_commit(struct mf_outfile *file, struct mf_error *err);

/* Closes and forgets what was written. Allowed after a failed _open and after _commit. */
void mf_outfile_discard(struct mf_outfile *file);

#endif
