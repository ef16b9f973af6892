/* SPDX-License-Identifier: GPL-2.0 */
/* An ELF object's unwind tables, read from its file, where they would be if it were loaded; and its code. */
#ifndef MASSIF_UNWIND_ELFMAP_H
#define MASSIF_UNWIND_ELFMAP_H

#include <stddef.h>
#include <stdint.h>

#include "profile/object.h"
#include "cfi/rows.h"

#define MF_ELFMAP_CODE_MAX 16

struct mf_elf_map {
	struct mf_rows_object object;
	uint64_t bias; /* of an address here against the link-time one */
	void *memory;
	size_t size;
	int fd; /* the file, still open */
	int n_code;
	struct mf_elf_map_part {
		uint64_t offset, size; /* in the file */
	} code[MF_ELFMAP_CODE_MAX]; /* segments that can be read and executed */
};

/*
 * Reads the file of @object, if it is still the one with its build id. Returns 0 or -errno. Nothing in
 * the file is trusted; and whatever becomes of it later, what was read stays.
 */
int mf_elf_map_open(struct mf_elf_map *map, const struct mf_object *object);

/* The same of the file @fd, a descriptor that it takes over, or -errno. */
int mf_elf_map_read(struct mf_elf_map *map, const struct mf_object *object, int fd);
void mf_elf_map_close(struct mf_elf_map *map);

/* Returns how many bytes of code there are if no client request is in them, and all could be read; else 0. */
uint64_t mf_elf_map_search(const struct mf_elf_map *map);

#endif
