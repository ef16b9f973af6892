// SPDX-License-Identifier: GPL-2.0
// The files that the session's processes map, each with a number. A file is read as ELF only when it is needed.

#include "pages/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * Once LOST_MS has been spent on unreadable files in total, each further file is allowed only HURRIED_MS, so that such
 * files cannot hold up a session for long.
 */
#define LOST_MS	   20000
#define HURRIED_MS 1000u

#define TABLE_BITS_FIRST 8u

void mf_files_init(struct mf_files *files)
{
	*files = (struct mf_files){.count = 1};
}

void mf_files_deinit(struct mf_files *files)
{
	for (uint32_t i = 1; i < files->count; i++) {
		mf_binary_close(files->files[i].binary);
		mf_held_release(files->held, files->files[i].held);
		free(files->files[i].path);
	}
	free(files->files);
	free(files->table);
	mf_held_destroy(files->own);
	mf_files_init(files);
}

static uint32_t hash_of(const char *path, uint64_t device, uint64_t inode)
{
	uint64_t hash = inode * 0x9e3779b97f4a7c15ull ^ device;

	/* FNV-1a hash of the path. */
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
		    (file->identity.inode == inode && file->identity.device == device &&
		     !strcmp(file->path, path)))
			return &files->table[i];
	}
}

/* Keeps the table at most half full, and makes room for one more file. */
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

			*find_slot(files, file->path, file->identity.device, file->identity.inode) = i;
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
		.identity = { .device = device, .inode = inode },
	};
	*slot = files->count;
	return files->count++;
}

static struct mf_held *table_of(struct mf_files *files)
{
	if (!files->held)
		files->held = files->own = mf_held_create(MF_HELD_MAX);
	return files->held;
}

static void hold(struct mf_files *files, uint32_t number, pid_t pid, uint64_t start, uint64_t end)
{
	struct mf_file *file = &files->files[number];

	if (file->tried)
		return;
	file->tried = true;
	if (mf_file_is_path(file))
		file->held = mf_held_take(table_of(files), &(struct mf_held_mapping){
			.pid = pid, .start = start, .end = end, .path = file->path, .file = file->identity,
		});
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void read_binary(struct mf_files *files, uint32_t number)
{
	struct mf_file *file = &files->files[number];
	struct mf_binary_options options = files->options;
	int64_t start = now_ms();
	const char *why = NULL;

	if (file->read)
		return;
	file->read = true;
	if (files->lost_ms > LOST_MS)
		options.patience_ms = HURRIED_MS;
	if (file->held)
		file->binary = mf_binary_open(file->held, &options, &why);
	else if (!strcmp(file->path, "[vdso]"))
		file->binary = mf_binary_open_vdso();
	if (why)
		files->lost_ms += now_ms() - start;
	if (why && files->unreadable)
		files->unreadable(file->path, why);
}

struct mf_binary *mf_files_binary(struct mf_files *files, uint32_t number)
{
	if (!number)
		return NULL;
	hold(files, number, 0, 0, 0);
	read_binary(files, number);
	return files->files[number].binary;
}

const struct mf_cfi *mf_files_rules(const struct mf_files *files, uint32_t number)
{
	struct mf_binary *binary = number < files->count ? files->files[number].binary : NULL;

	return binary ? mf_binary_cfi(binary) : NULL;
}

void mf_files_mapped(struct mf_files *files, uint32_t number, pid_t pid, uint64_t start,
		     uint64_t end)
{
	if (number)
		hold(files, number, pid, start, end);
}
