/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The files that the session's processes map, each with a number. A file is opened when its code is mapped. It is
 * parsed as ELF only when needed, and an unprivileged process does the parsing.
 */
#ifndef MASSIF_PAGES_FILES_H
#define MASSIF_PAGES_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "elf/binary.h"
#include "base/held.h"

/* file number of a mapping without a name */
#define MF_FILE_NONE 0u

struct mf_file {
	char *path; /* path as printed by the kernel: "/usr/bin/env", "/gone (deleted)", "[vdso]", "[heap]" */
	struct mf_file_identity identity;
	struct mf_held_file *held; /* the open file; NULL if the file is not on disk or has not been opened yet */
	struct mf_binary *binary;
	bool tried; /* an attempt was made to open the file */
	bool read; /* an attempt was made to read the file as ELF */
};

struct mf_files {
	/*
	 * table of open files; if we created the table, @own points to it, too; if the caller passed it, @own is NULL
	 */
	struct mf_held *held, *own;
	struct mf_file *files; /* all files, indexed by file number; [0] is unused */
	uint32_t count, max;
	uint32_t *table; /* hash table of file numbers; 0 marks a free slot */
	uint32_t table_bits;
	struct mf_binary_options options;
	int64_t lost_ms; /* time spent on files that could not be read, in ms */
	/* If not NULL: called once for each file whose rules could not be read, with the reason. */
	void (*unreadable)(const char *path, const char *why);
};

void mf_files_init(struct mf_files *files);
void mf_files_deinit(struct mf_files *files);

/*
 * Returns the number of the file with this path, device and inode. Returns MF_FILE_NONE if out of memory, or if @path
 * is empty.
 */
uint32_t mf_files_intern(struct mf_files *files, const char *path, uint64_t device, uint64_t inode);

/*
 * Opens the file now, because the running process @pid has mapped its code at @start..@end. Later, the path may lead to
 * a different file or to none. The process may be in a different mount namespace.
 */
void mf_files_mapped(struct mf_files *files, uint32_t number, pid_t pid, uint64_t start,
		     uint64_t end);

/* Returns the file with @number, which mf_files_intern() returned. Valid until the next mf_files_intern(). */
static inline struct mf_file *mf_files_get(const struct mf_files *files, uint32_t number)
{
	return &files->files[number];
}

/* Returns whether the file is on disk: it has a path rather than a name made up by the kernel, such as "[heap]". */
static inline bool mf_file_is_path(const struct mf_file *file)
{
	return file->path[0] == '/';
}

/*
 * Returns the open file for file @number, or NULL if the file is not on disk or has not been opened yet. The table of
 * open files owns the result.
 */
static inline struct mf_held_file *mf_files_held(const struct mf_files *files, uint32_t number)
{
	return files->files[number].held;
}

/*
 * Returns the ELF data of file @number, or NULL if it is neither an ELF file nor the vdso. The table owns the result.
 */
struct mf_binary *mf_files_binary(struct mf_files *files, uint32_t number);

/* Returns the unwind rules of file @number, or NULL if the file has not been read yet or @number is not valid. */
const struct mf_cfi *mf_files_rules(const struct mf_files *files, uint32_t number);

#endif
