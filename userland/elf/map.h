/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads an ELF object's unwind tables into memory, at the relative addresses at which they would be loaded, and finds
 * the object's code.
 */
#ifndef MASSIF_ELF_MAP_H
#define MASSIF_ELF_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "profile/object.h"
#include "cfi/rows.h"

#define MF_ELFMAP_CODE_MAX 16

struct mf_elf_map {
	struct mf_rows_object object;
	uint64_t bias; /* address in @memory minus link-time address */
	void *memory;
	size_t size;
	int fd; /* descriptor of the file, which stays open */
	int n_code;
	struct mf_elf_map_part {
		uint64_t offset, size; /* the segment's position and size in the file */
	} code[MF_ELFMAP_CODE_MAX]; /* readable and executable segments */
};

/*
 * Reads the file of @object if the file still has the build ID stored in @object. Returns 0 or -errno. Nothing in the
 * file is trusted, and later changes to the file do not matter.
 */
int mf_elf_map_open(struct mf_elf_map *map, const struct mf_object *object);

/*
 * Like mf_elf_map_open(), but reads the open file @fd. Takes ownership of @fd. If @fd is a negative error number,
 * returns it.
 */
int mf_elf_map_read(struct mf_elf_map *map, const struct mf_object *object, int fd);

/* Closes the file and unmaps the memory. */
void mf_elf_map_close(struct mf_elf_map *map);

/*
 * Searches all code for client requests. Returns the size of the code in bytes, or 0 if there is a request or some code
 * cannot be read.
 */
uint64_t mf_elf_map_search(const struct mf_elf_map *map);

#endif
