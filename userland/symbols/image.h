/* SPDX-License-Identifier: GPL-2.0 */
/* An ELF file on disk (or the vdso), and the separate file with its debug information. */
#ifndef MASSIF_SYMBOLS_IMAGE_H
#define MASSIF_SYMBOLS_IMAGE_H

#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdbool.h>

#include "symbols/object.h"
#include "symbols/sections.h"

/* A file as it was at some time; all zeros: none. */
struct mf_image_file {
	uint64_t inode, size;
	int64_t modified_ns, changed_ns;
};

/* What names were read from. */
struct mf_image_identity {
	struct mf_image_file file, debug;
};

struct mf_image {
	int fd, debug_fd; /* -1: none */
	void *memory;	  /* a copy of the vdso */
	Elf *elf;	  /* NULL: the file is not there or is not the one that was mapped */
	Elf *debug_elf;	  /* NULL: no separate file */
	struct mf_sections sections; /* of either */
	bool found_by_build_id;	     /* the separate file */
};

/*
 * Opens what @object was mapped from. If the file has another build id than @object, it was
 * replaced since, and its names would be wrong: then, as for any file that cannot be read,
 * image->elf is NULL.
 */
void mf_image_open(struct mf_image *image, const struct mf_object *object);
void mf_image_close(struct mf_image *image);

/*
 * What names of @image come from: of the files that are open, and of those for @object that would be looked
 * at first. The one is true as long as it is still the other: mf_image_is_still(). Not every image's names
 * come from no more than mf_image_look() looks at: then mf_image_identify() returns false.
 */
bool mf_image_identify(const struct mf_image *image, struct mf_image_identity *identity);
void mf_image_look(const struct mf_object *object, struct mf_image_identity *identity);
bool mf_image_is_still(const struct mf_image_identity *then, const struct mf_image_identity *now);

#endif
