/* SPDX-License-Identifier: GPL-2.0 */
/* Maps the file of a loaded object, to read sections that are not in memory. */
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
 * Maps the file at @object's path. Returns false if there is no such file, or if another file has replaced it since it
 * was loaded. Preserves errno.
 * Context: opens a file, so must not be called if the program has restricted its system calls.
 */
bool mf_object_file_open(struct mf_object_file *file, const struct dl_phdr_info *object);
void mf_object_file_close(const struct mf_object_file *file);

/* Are the @size bytes at @offset inside the file? */
static inline bool mf_object_file_has(const struct mf_object_file *file, uint64_t offset, uint64_t size)
{
	return offset <= file->size && size <= file->size - offset;
}

/* Returns the first section with the given name, or NULL. */
const ElfW(Shdr) *mf_object_file_section(const struct mf_object_file *file, const char *name);

#endif
