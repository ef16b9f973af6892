/* SPDX-License-Identifier: GPL-2.0 */
/* The file of an object that is loaded: its sections, most of which are not in memory. */
#ifndef MASSIF_PRELOAD_OBJECT_FILE_H
#define MASSIF_PRELOAD_OBJECT_FILE_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct mf_object_file {
	const unsigned char *bytes;
	uint64_t size;
	const ElfW(Shdr) *sections;
	uint32_t n_sections;
};

/*
 * Maps the file that is found at @object's path. False if there is none, or another one by now. Keeps errno.
 * Context: the file is opened by a system call, so not once the program has restricted these.
 */
bool mf_object_file_open(struct mf_object_file *file, const struct dl_phdr_info *object);
void mf_object_file_close(const struct mf_object_file *file);

/* Are the @size bytes at @offset in the file? */
static inline bool mf_object_file_has(const struct mf_object_file *file, uint64_t offset, uint64_t size)
{
	return offset <= file->size && size <= file->size - offset;
}

/* The first section of this name; NULL if there is none. */
const ElfW(Shdr) *mf_object_file_section(const struct mf_object_file *file, const char *name);

#endif
