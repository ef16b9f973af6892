/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Files that processes have mapped, held open: their names can be read when they are deleted, moved or
 * replaced. And what they were when they were opened, so that no other file is taken for them.
 *
 * A file stays as long as somebody uses it. Descriptors are bounded: a file beyond the bound is known, but
 * not open, and is opened by its name when it is read, if it is still the same.
 *
 * Context: any thread may call any of these.
 */
#ifndef MASSIF_SYMBOLS_HELD_H
#define MASSIF_SYMBOLS_HELD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#define MF_HELD_MAX   1024u /* descriptors of one table, */
#define MF_HELD_SHARE 4u    /* and one in so many of those that the process may have */

/* How a file can be known again. Device: major << 32 | minor. */
struct mf_file_identity {
	uint64_t device, inode;
};

struct mf_held_file {
	struct mf_held_file *next; /* of the table */
	char *path;	 /* by which the kernel knows it, or knew it before it was deleted */
	struct mf_file_identity mapped; /* as the kernel says of the mapping; inode 0: unknown */
	struct mf_file_identity opened; /* of the file itself: an overlay's differ */
	uint64_t size;
	int64_t modified_ns;
	int fd;	   /* -1: it is not held open */
	int error; /* why it was never open, -errno; 0: it was */
	uint32_t users;
};

/* What a process has mapped, as the kernel tells it. */
struct mf_held_mapping {
	pid_t pid; /* 0: unknown, or it has ended */
	uint64_t start, end;
	const char *path; /* ends in " (deleted)" if it is */
	const char *alias; /* by which the process knows it; may be NULL */
	struct mf_file_identity file;
};

struct mf_held;

struct mf_file_identity mf_file_identity(const struct stat *status);

/* Holds @max files at most, and never more than a share of RLIMIT_NOFILE. NULL if memory is short. */
struct mf_held *mf_held_create(uint32_t max);
void mf_held_destroy(struct mf_held *held); /* NULL is allowed */

/* How many descriptors it has. */
uint32_t mf_held_count(struct mf_held *held);

/*
 * The file of @mapping, with one user more. It is opened if it was not known. NULL if memory is short, or
 * there is no @held.
 */
struct mf_held_file *mf_held_take(struct mf_held *held, const struct mf_held_mapping *mapping);

/* The same of the file at @path, of which no mapping is known yet; NULL also if it cannot be opened. */
struct mf_held_file *mf_held_take_path(struct mf_held *held, const char *path);

/* One user more of what is used already; NULL is allowed for @file. */
struct mf_held_file *mf_held_use(struct mf_held *held, struct mf_held_file *file);

/* One user less. After the last one it is closed. NULL is allowed for @file. */
void mf_held_release(struct mf_held *held, struct mf_held_file *file);

/*
 * A descriptor of @file, the caller's to close; or -errno: -ESTALE if another file is there by now.
 */
int mf_held_open(const struct mf_held_file *file);

/* Is @fd a descriptor of @file? */
bool mf_held_is_of(const struct mf_held_file *file, int fd);

/* Has somebody written into @file since it was opened, of which @fd is a descriptor? */
bool mf_held_has_changed(const struct mf_held_file *file, int fd);

#endif
