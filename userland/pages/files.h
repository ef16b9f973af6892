/* SPDX-License-Identifier: GPL-2.0 */
/* The files that the session's processes map, numbered; they are read as ELF files when needed. */
#ifndef MASSIF_PAGES_FILES_H
#define MASSIF_PAGES_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "elf/file.h"
#include "base/held.h"

/* What is mapped has no name. */
#define MF_FILE_NONE 0u

struct mf_file {
	char *path; /* as the kernel names it: "/usr/bin/env", "/gone (deleted)", "[vdso]", "[heap]"
		     */
	struct mf_file_identity identity;
	struct mf_held_file *held; /* NULL: it is not on disk, or was not tried */
	struct mf_elf_file *binary;
	bool tried; /* to open it */
};

struct mf_files {
	struct mf_held *held, *own; /* own: made here, since nobody gave one */
	struct mf_file *files; /* [0] is unused */
	uint32_t count, max;
	uint32_t *table; /* numbers by hash, 0: free */
	uint32_t table_bits;
};

void mf_files_init(struct mf_files *files);
void mf_files_deinit(struct mf_files *files);

/* The number of the file of these three; MF_FILE_NONE if memory ran out or @path is empty. */
uint32_t mf_files_intern(struct mf_files *files, const char *path, uint64_t device, uint64_t inode);

/*
 * Process @pid has mapped code of the file at @start..@end, and lives: the file is opened, for its
 * path may lead to another one soon, or to none; or does already, or is of another mount namespace.
 */
void mf_files_mapped(struct mf_files *files, uint32_t number, pid_t pid, uint64_t start,
		     uint64_t end);

/* Valid until the next mf_files_intern. @number is one that it returned. */
static inline struct mf_file *mf_files_get(const struct mf_files *files, uint32_t number)
{
	return &files->files[number];
}

/* Whether it is on disk: a path, not words of the kernel such as "[heap]". */
static inline bool mf_file_is_path(const struct mf_file *file)
{
	return file->path[0] == '/';
}

/* What is held open of the file, or NULL. It belongs to the table. */
static inline struct mf_held_file *mf_files_held(const struct mf_files *files, uint32_t number)
{
	return files->files[number].held;
}

/* The binary of an ELF file or of the vdso, or NULL. It belongs to the table. */
struct mf_elf_file *mf_files_binary(struct mf_files *files, uint32_t number);

#endif
