/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Opens the files that the names of one object are read from, on behalf of the process that reads them. That process is
 * unprivileged and may have been taken over by a hostile file (parser.h). So it can make only the requests listed here,
 * which let it read nothing but regular files that begin with the ELF magic number.
 */
#ifndef MASSIF_SYMBOLS_OPENER_H
#define MASSIF_SYMBOLS_OPENER_H

#include <stddef.h>
#include <stdint.h>

#include "profile/object.h"
#include "symbols/search.h"
#include "symbols/sources.h"

#define MF_OPENER_BYTES_MAX 4096u /* maximum size of the name in a request */
#define MF_OPENER_PLACES    3u	  /* number of directories, derived from the object's path, that may contain a linked
				   * debug file */

enum mf_opener_what {
	MF_OPENER_OBJECT,      /* the file held open for the object, or the file at its path */
	MF_OPENER_PATH,	       /* the file at the object's path, even if a file is held open */
	MF_OPENER_BY_BUILD_ID, /* the debug file that has the build id given in @name */
	MF_OPENER_BY_LINK,     /* the debug file @name in directory number @place (less than MF_OPENER_PLACES) */
	MF_OPENER_OTHER,       /* the file with the absolute path @name, which libdw tried to open on its own */
	MF_OPENER_SEARCHED,    /* file number @place of those that mf_search_open() finds; -ENXIO after the last one */
	MF_OPENER_FETCHED,     /* the debug file that a server has for the object's build id */
};

struct mf_opener_request {
	uint32_t what;
	uint32_t place;
	uint32_t size; /* size of @name in bytes */
	/*
	 * what identifies the requested file: the bytes of a build id (MF_OPENER_BY_BUILD_ID), or a file name or path
	 * without a terminating NUL (MF_OPENER_BY_LINK, MF_OPENER_OTHER)
	 */
	uint8_t name[MF_OPENER_BYTES_MAX];
};

struct mf_opener {
	const struct mf_object *object;
	const struct mf_search *search; /* where else files are looked for; NULL: nowhere */
	int fetched; /* descriptor of the file that was fetched from a server, or -errno; 0: none was asked for */
	struct mf_sources sources; /* files that were opened or were looked for but not found */
};

/* Initialises @opener. @object and @search, which may be NULL, must outlive it. */
void mf_opener_init(struct mf_opener *opener, const struct mf_object *object, const struct mf_search *search);
void mf_opener_deinit(struct mf_opener *opener);

/*
 * Opens the requested file. Returns a descriptor, which the caller closes, or -errno. If the object's own file does not
 * begin with the ELF magic number, the descriptor is opened with O_PATH: it identifies the file but cannot be read
 * from.
 */
int mf_opener_open(struct mf_opener *opener, const struct mf_opener_request *request);

#endif
