/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Opens the files that the names of one object are read from, for who reads them: that may be a process that cannot
 * open files, and that what it reads has made do anything (parser.h). So what can be asked for is only what is listed
 * here, and of it only regular files that begin as ELF files do.
 */
#ifndef MASSIF_SYMBOLS_OPENER_H
#define MASSIF_SYMBOLS_OPENER_H

#include <stddef.h>
#include <stdint.h>

#include "profile/object.h"
#include "symbols/sources.h"

#define MF_OPENER_BYTES_MAX 4096u /* of what a request names */
#define MF_OPENER_PLACES    3u	  /* where a linked debug file may be, relative to the object */

enum mf_opener_what {
	MF_OPENER_OBJECT,      /* what is held of it, or else what its path leads to */
	MF_OPENER_PATH,	       /* what its path leads to, whatever is held */
	MF_OPENER_BY_BUILD_ID, /* the debug file of the build id in @name */
	MF_OPENER_BY_LINK,     /* the debug file called @name in @place, below MF_OPENER_PLACES */
	MF_OPENER_OTHER,       /* an absolute path in @name: libdw's own wish */
};

struct mf_opener_request {
	uint32_t what;
	uint32_t place;
	uint32_t size; /* of @name */
	uint8_t name[MF_OPENER_BYTES_MAX]; /* bytes of a build id, or text without a NUL */
};

struct mf_opener {
	const struct mf_object *object;
	struct mf_sources sources; /* what was opened, or was not there to be opened */
};

/* @object must outlive it. */
void mf_opener_init(struct mf_opener *opener, const struct mf_object *object);
void mf_opener_deinit(struct mf_opener *opener);

/*
 * Returns a descriptor, the caller's to close, or -errno. The object itself, if it does not begin as an ELF file,
 * is given as a descriptor that cannot be read (O_PATH): only what file it is can be seen.
 */
int mf_opener_open(struct mf_opener *opener, const struct mf_opener_request *request);

#endif
