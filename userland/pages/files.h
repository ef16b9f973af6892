/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Numbers for the files that the session's processes map. A file is opened when its code is mapped, and read as ELF, in
 * a process without rights, when it is needed.
 */
#ifndef MASSIF_PAGES_FILES_H
#define MASSIF_PAGES_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "elf/binary.h"
#include "base/held.h"

/* number of a mapping without a name */
#define MF_FILE_NONE 0u

struct mf_file {
	char *path; /* as the kernel prints it: "/usr/bin/env", "/gone (deleted)", "[vdso]", "[heap]" */
	struct mf_file_identity identity;
	struct mf_held_file *held; /* NULL: not on disk, or not opened yet */
	struct mf_binary *binary;
	bool tried; /* opening was attempted */
	bool read; /* reading was attempted */
};

struct mf_files {
	struct mf_held *held, *own; /* own: the table that was created because the caller passed none */
	struct mf_file *files; /* indexed by number; [0] is unused */
	uint32_t count, max;
	uint32_t *table; /* hash table of numbers; 0: free slot */
	uint32_t table_bits;
	struct mf_binary_options options;
	int64_t lost_ms; /* time spent on files that could not be read */
	/* Called once for each file whose rules could not be read, with the reason; NULL: not called. */
	void (*unreadable)(const char *path, const char *why);
};

void mf_files_init(struct mf_files *files);
void mf_files_deinit(struct mf_files *files);

/*
 * Returns the number of the file with this path, device and inode. Returns MF_FILE_NONE if memory ran out or @path is
 * empty.
 */
uint32_t mf_files_intern(struct mf_files *files, const char *path, uint64_t device, uint64_t inode);

/*
 * Opens the file now, because the running process @pid has mapped its code at @start..@end. Later its path may lead to
 * another file or to none, and it may be in another mount namespace than ours.
 */
void mf_files_mapped(struct mf_files *files, uint32_t number, pid_t pid, uint64_t start,
		     uint64_t end);

/* Returns the file of @number, as mf_files_intern() returned it. Valid until the next mf_files_intern(). */
static inline struct mf_file *mf_files_get(const struct mf_files *files, uint32_t number)
{
	return &files->files[number];
}

/* Returns whether the file is on disk: it has a path rather than a name made up by the kernel, such as "[heap]". */
static inline bool mf_file_is_path(const struct mf_file *file)
{
	return file->path[0] == '/';
}

/* Returns the open file behind @number, or NULL. It belongs to the table. */
static inline struct mf_held_file *mf_files_held(const struct mf_files *files, uint32_t number)
{
	return files->files[number].held;
}

/* Returns what was read of an ELF file or of the vdso, or NULL if it is neither. It belongs to the table. */
struct mf_binary *mf_files_binary(struct mf_files *files, uint32_t number);

/* Returns the unwind rules of the file @number if it was read already; else NULL. @number may be any number. */
const struct mf_cfi *mf_files_rules(const struct mf_files *files, uint32_t number);

#endif
