// SPDX-License-Identifier: GPL-2.0
// The files that the session's processes map, numbered; they are read as ELF files when needed.

#include "pages/files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_BITS_FIRST 8u

void mf_files_init(struct mf_files *files)
{
	*files = (struct mf_files){.count = 1};
}

void mf_files_deinit(struct mf_files *files)
{
	for (uint32_t i = 1; i < files->count; i++) {
		mf_binary_close(files->files[i].binary);
		free(files->files[i].path);
	}
	free(files->files);
	free(files->table);
	mf_files_init(files);
}

static uint32_t hash_of(const char *path, uint64_t device, uint64_t inode)
{
	uint64_t hash = inode * 0x9e3779b97f4a7c15ull ^ device;

	/* FNV-1a over the path. */
	for (; *path; path++)
		hash = (hash ^ (uint8_t)*path) * 0x100000001b3ull;
	return (uint32_t)(hash >> 32) ^ (uint32_t)hash;
}

static uint32_t *find_slot(const struct mf_files *files, const char *path, uint64_t device,
			   uint64_t inode)
{
	uint32_t mask = (1u << files->table_bits) - 1;

	for (uint32_t i = hash_of(path, device, inode) & mask;; i = (i + 1) & mask) {
		const struct mf_file *file = &files->files[files->table[i]];

		if (!files->table[i] ||
		    (file->inode == inode && file->device == device && !strcmp(file->path, path)))
			return &files->table[i];
	}
}

/* Keeps the table at most half full, and room for one more file. */
static bool make_room(struct mf_files *files)
{
	uint32_t bits = files->table ? files->table_bits + 1 : TABLE_BITS_FIRST;

	if (files->count >= files->max) {
		uint32_t max = files->max ? files->max * 2 : 64;
		struct mf_file *more = realloc(files->files, max * sizeof(*more));

		if (!more)
			return false;
		files->files = more;
		files->max = max;
	}
	if (!files->table || files->count >= 1u << (files->table_bits - 1)) {
		uint32_t *table = calloc(1u << bits, sizeof(*table));

		if (!table)
			return false;
		free(files->table);
		files->table = table;
		files->table_bits = bits;
		for (uint32_t i = 1; i < files->count; i++) {
			const struct mf_file *file = &files->files[i];

			*find_slot(files, file->path, file->device, file->inode) = i;
		}
	}
	return true;
}

uint32_t mf_files_intern(struct mf_files *files, const char *path, uint64_t device, uint64_t inode)
{
	uint32_t *slot;
	char *copy;

	if (!*path || !make_room(files))
		return MF_FILE_NONE;
	slot = find_slot(files, path, device, inode);
	if (*slot)
		return *slot;
	copy = strdup(path);
	if (!copy)
		return MF_FILE_NONE;
	files->files[files->count] = (struct mf_file){
		.path = copy,
		.device = device,
		.inode = inode,
	};
	*slot = files->count;
	return files->count++;
}

/* What the kernel appends to the path of a file that has none any more. */
#define DELETED " (deleted)"

static bool is_deleted(const struct mf_file *file)
{
	size_t length = strlen(file->path), end = sizeof(DELETED) - 1;

	return length > end && !strcmp(file->path + length - end, DELETED);
}

/* Whether @binary is what was mapped: yes, no, or perhaps. */
enum likeness {
	OTHER,
	PERHAPS, /* an overlay's files have another device, and perhaps inode, than what is mapped */
	SAME,
};

static enum likeness compare(const struct mf_file *file, const struct mf_binary *binary)
{
	uint64_t device, inode;

	mf_binary_identity(binary, &device, &inode);
	if (inode == file->inode)
		return SAME;
	return device == file->device ? OTHER : PERHAPS;
}

/*
 * The path is of the mount namespace of the process, which may not be ours, and may have been given
 * to another file since. The process's own view is asked then; for a file that has no path any
 * more, the mapping itself (which takes privileges), or the program that the process runs.
 */
static struct mf_binary *open_file(const struct mf_file *file, pid_t pid, uint64_t start,
				   uint64_t end)
{
	struct mf_binary *perhaps = NULL;
	bool deleted = is_deleted(file);
	char root[4096 + 64], mapping[96], program[64];
	const char *const paths[] = {deleted ? NULL : file->path, deleted ? NULL : root, mapping,
				     program};

	snprintf(root, sizeof(root), "/proc/%d/root%s", (int)pid, file->path);
	snprintf(mapping, sizeof(mapping), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid,
		 start, end);
	snprintf(program, sizeof(program), "/proc/%d/exe", (int)pid);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct mf_binary *binary;
		enum likeness likeness;

		if (!paths[i] || (i && !pid))
			continue;
		binary = mf_binary_open(paths[i]);
		likeness = binary ? compare(file, binary) : OTHER;
		/* A mapping is what it is, by whatever name. */
		if (likeness == SAME || (binary && paths[i] == mapping)) {
			mf_binary_close(perhaps);
			return binary;
		}
		if (likeness == PERHAPS && !perhaps && paths[i] != program)
			perhaps = binary;
		else
			mf_binary_close(binary);
	}
	return perhaps;
}

static void open_binary(struct mf_file *file, pid_t pid, uint64_t start, uint64_t end)
{
	if (file->tried)
		return;
	file->tried = true;
	if (mf_file_is_path(file))
		file->binary = open_file(file, pid, start, end);
	else if (!strcmp(file->path, "[vdso]"))
		file->binary = mf_binary_open_vdso();
}

struct mf_binary *mf_files_binary(struct mf_files *files, uint32_t number)
{
	if (!number)
		return NULL;
	open_binary(&files->files[number], 0, 0, 0);
	return files->files[number].binary;
}

void mf_files_mapped(struct mf_files *files, uint32_t number, pid_t pid, uint64_t start,
		     uint64_t end)
{
	if (number)
		open_binary(&files->files[number], pid, start, end);
}
