/* SPDX-License-Identifier: GPL-2.0 */
/* An ELF file on disk (or the vdso), with the separate file that contains its debug information. */
#ifndef MASSIF_SYMBOLS_IMAGE_H
#define MASSIF_SYMBOLS_IMAGE_H

#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdbool.h>

#include "profile/object.h"
#include "symbols/opener.h"
#include "symbols/sections.h"
#include "symbols/shared_file.h"

/* Opens a file: either mf_opener_open() or a function that asks another process to open it. */
typedef int mf_image_opening(void *opener, const struct mf_opener_request *request);

struct mf_image {
	int fd, debug_fd; /* descriptors of the file and of its separate debug file, or -1 if none */
	void *memory;	  /* a copy of the vdso, or NULL */
	Elf *elf;	  /* the file that the object was mapped from; NULL if it cannot be opened or was replaced */
	const char *why;  /* a constant string: why names are missing; NULL if none are, or if the object cannot have names */
	Elf *debug_elf;	  /* the separate debug file; NULL if there is none */
	struct mf_sections sections; /* decompressed sections of the file and of its separate debug file */
	bool shares; /* some names are in a file that several objects share (.gnu_debugaltlink, made by dwz) */
	struct mf_shared_file shared; /* which file that is, if @shares */
	mf_image_opening *open;
	void *opener;
};

/*
 * Opens the file that @object was mapped from: the one that is held open for it, or the one at its path. If its build
 * id differs from that of @object, the file has been replaced and its names would be wrong. Without a build id, the
 * same applies if the file has been written to since it was mapped. In these cases, and if the file cannot be read,
 * image->elf is NULL.
 *
 * If there is a search (search.h), and symbols or debug information are missing, further files are tried. Only those
 * with the build id of @object are used. image->debug_elf can be found this way even if image->elf is not.
 *
 * Files are opened by calling @open with @opener; both must outlive the image.
 */
void mf_image_open(struct mf_image *image, const struct mf_object *object, mf_image_opening *open, void *opener);
void mf_image_close(struct mf_image *image);

/* What an image has, in its file or in its separate debug file. */
enum {
	MF_IMAGE_SYMBOLS = 1 << 0, /* the symbol table .symtab */
	MF_IMAGE_DWARF = 1 << 1,   /* debug information */
};

/* Returns a combination of MF_IMAGE_*. */
unsigned int mf_image_found(const struct mf_image *image);

#endif
