/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Keeps open the files that processes have mapped, so that symbol names can be read from them even after they are
 * deleted, moved or replaced. It also records the identity of each file, so that no other file is mistaken for it.
 *
 * A file is kept while it has users. The number of descriptors is limited. A file beyond the limit stays in the table
 * but is not kept open; it is reopened by its path when it is needed, provided it is still the same file.
 *
 * Context: all functions may be called from any thread.
 */
#ifndef MASSIF_BASE_HELD_H
#define MASSIF_BASE_HELD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#define MF_HELD_MAX   1024u /* maximum number of descriptors in one table */
#define MF_HELD_SHARE 4u    /* a table uses at most 1/4 of RLIMIT_NOFILE */

/* Identifies a file. The device is major << 32 | minor. */
struct mf_file_identity {
	uint64_t device, inode;
};

struct mf_held_file {
	struct mf_held_file *next; /* next file in the same chain of the hash table */
	char *path;	 /* path that the kernel reports; for a deleted file, the last path it had */
	/* identity that the kernel reports for the mapping; unknown if the inode is 0 */
	struct mf_file_identity mapped;
	/* identity of the opened file, which can differ from @mapped in overlay file systems */
	struct mf_file_identity opened;
	uint64_t size;
	int64_t modified_ns;
	int fd;	   /* descriptor of the file; -1 if the file is not kept open */
	int error; /* -errno if the file could not be opened, otherwise 0 */
	uint32_t users;
};

/* A mapping of a process, as the kernel reports it. */
struct mf_held_mapping {
	pid_t pid; /* process id; 0 if unknown or if the process has ended */
	uint64_t start, end;
	const char *path; /* path of the mapped file; ends in " (deleted)" if the file has been deleted */
	const char *alias; /* the path by which the process opened the file, such as "/proc/self/fd/3"; may be NULL */
	struct mf_file_identity file;
};

struct mf_held;

struct mf_file_identity mf_file_identity(const struct stat *status);

/*
 * Creates a table of at most @max descriptors, but never more than RLIMIT_NOFILE / MF_HELD_SHARE. Returns NULL if out
 * of memory.
 */
struct mf_held *mf_held_create(uint32_t max);
void mf_held_destroy(struct mf_held *held); /* @held may be NULL */

/* Returns the number of descriptors that the table keeps open. */
uint32_t mf_held_count(struct mf_held *held);

/*
 * Returns the file of @mapping and adds a user to it. Opens the file if it is not already in the table. Returns NULL if
 * out of memory or if @held is NULL.
 */
struct mf_held_file *mf_held_take(struct mf_held *held, const struct mf_held_mapping *mapping);

/*
 * Like mf_held_take(), but for the file at @path, which is not mapped yet. Also returns NULL if the file cannot be
 * opened.
 */
struct mf_held_file *mf_held_take_path(struct mf_held *held, const char *path);

/*
 * Like mf_held_take_path(), but resolves @path in the root directory @root, and the file gets the path that the kernel
 * tells for it.
 */
struct mf_held_file *mf_held_take_in_root(struct mf_held *held, const char *root, const char *path);

/* Adds a user to @file, which must have at least one user already. @file may be NULL. */
struct mf_held_file *mf_held_use(struct mf_held *held, struct mf_held_file *file);

/* Removes one user of @file. When the last user is removed, closes and frees the file. @file may be NULL. */
void mf_held_release(struct mf_held *held, struct mf_held_file *file);

/*
 * Opens @file. Returns a descriptor, which the caller closes, or -errno; -ESTALE if the path now leads to another
 * file.
 */
int mf_held_open(const struct mf_held_file *file);

/* Returns whether @fd is a descriptor of @file. */
bool mf_held_is_of(const struct mf_held_file *file, int fd);

/* Returns whether @file has been written to since it was opened. @fd is a descriptor of @file. */
bool mf_held_has_changed(const struct mf_held_file *file, int fd);

#endif
