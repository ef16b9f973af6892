/* SPDX-License-Identifier: GPL-2.0 */
/* An ELF file on disk (or the vdso), and the separate file with its debug information. */
#ifndef MASSIF_SYMBOLS_IMAGE_H
#define MASSIF_SYMBOLS_IMAGE_H

#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdbool.h>

#include "profile/object.h"
#include "symbols/opener.h"
#include "symbols/sections.h"

/* As mf_opener_open(), or what asks another process for it. */
typedef int mf_image_opening(void *opener, const struct mf_opener_request *request);

struct mf_image {
	int fd, debug_fd; /* -1: none */
	void *memory;	  /* a copy of the vdso */
	Elf *elf;	  /* NULL: the file is not there or is not the one that was mapped */
	const char *why;  /* its names are lost; NULL: they are not, or it cannot have any */
	Elf *debug_elf;	  /* NULL: no separate file */
	struct mf_sections sections; /* of either */
	bool shares; /* some of its names are in a third file */
	mf_image_opening *open;
	void *opener;
};

/*
 * Opens what @object was mapped from: what is held of it, or else what its path leads to. If the file has
 * another build id than @object, it was replaced since, and its names would be wrong; without a build id, so
 * it is if it was written to since it is held. Then, as for any file that cannot be read, image->elf is NULL.
 * @open, which is given @opener, opens the files; both must outlive the image.
 */
void mf_image_open(struct mf_image *image, const struct mf_object *object, mf_image_opening *open, void *opener);
void mf_image_close(struct mf_image *image);

#endif
