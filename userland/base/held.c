// SPDX-License-Identifier: GPL-2.0
// Keeps open the files that processes have mapped.

#include "held.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "cleanup.h"
#include "proc_mapping.h"
#include "regular.h"

#define BUCKETS 1024u

/* The suffix that the kernel appends to the path of a mapped file that has been deleted. */
#define DELETED " (deleted)"

struct mf_held {
	pthread_mutex_t lock;
	struct mf_held_file *files[BUCKETS]; /* hash table of the files, keyed by path */
	uint32_t max, n_open;
};

struct mf_file_identity mf_file_identity(const struct stat *status)
{
	return (struct mf_file_identity){
		.device = (uint64_t)major(status->st_dev) << 32 | minor(status->st_dev),
		.inode = status->st_ino,
	};
}

static bool is_same(struct mf_file_identity a, struct mf_file_identity b)
{
	return a.inode == b.inode && a.device == b.device;
}

static int64_t modified_ns(const struct stat *status)
{
	return (int64_t)status->st_mtim.tv_sec * 1000000000 + status->st_mtim.tv_nsec;
}

struct mf_held *mf_held_create(uint32_t max)
{
	struct mf_held *held = calloc(1, sizeof(*held));

	if (!held)
		return NULL;
	pthread_mutex_init(&held->lock, NULL);
	held->max = max;
	return held;
}

static void destroy_file(struct mf_held_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	free(file->path);
	free(file);
}

void mf_held_destroy(struct mf_held *held)
{
	if (!held)
		return;
	for (uint32_t i = 0; i < BUCKETS; i++) {
		while (held->files[i])
			destroy_file(mf_take(held->files[i], held->files[i]->next));
	}
	pthread_mutex_destroy(&held->lock);
	free(held);
}

uint32_t mf_held_count(struct mf_held *held)
{
	uint32_t n;

	pthread_mutex_lock(&held->lock);
	n = held->n_open;
	pthread_mutex_unlock(&held->lock);
	return n;
}

/*
 * Returns whether another file may be kept open. The rest of the descriptor limit is reserved for other purposes, such
 * as the sessions of profiled processes.
 */
static bool has_room(const struct mf_held *held)
{
	struct rlimit limit;

	return held->n_open < held->max &&
	       (getrlimit(RLIMIT_NOFILE, &limit) || held->n_open < limit.rlim_cur / MF_HELD_SHARE);
}

static struct mf_held_file **bucket_of(struct mf_held *held, const char *path, size_t length)
{
	uint32_t hash = 2166136261u;

	/* FNV-1a */
	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (uint8_t)path[i]) * 16777619u;
	return &held->files[hash % BUCKETS];
}

/* Returns the length of @path without the " (deleted)" suffix. */
static size_t length_of(const char *path)
{
	size_t length = strlen(path), end = sizeof(DELETED) - 1;

	return length > end && !strcmp(path + length - end, DELETED) ? length - end : length;
}

static struct mf_held_file *find(struct mf_held_file *file, const char *path, size_t length,
				 struct mf_file_identity mapped)
{
	while (file && (strncmp(file->path, path, length) || file->path[length] ||
			!is_same(file->mapped, mapped)))
		file = file->next;
	return file;
}

/*
 * Opens the regular file @path. If @root is not "", resolves @path in that root directory. Fills @status. Returns a
 * descriptor or -errno.
 */
static int open_regular(const char *root, const char *path, struct stat *status)
{
	mf_auto_close int fd = *root ? mf_regular_open_in_root(root, path) : mf_regular_open(path);

	if (fd < 0)
		return fd;
	return fstat(fd, status) ? -errno : mf_take(fd, -1);
}

/* Whether an opened file is the file that a process has mapped. */
enum likeness {
	OTHER,
	/* overlay file systems report a different device, and possibly inode, for a mapping than for its file */
	PERHAPS,
	SAME,
};

static enum likeness compare(struct mf_file_identity mapped, struct mf_file_identity opened)
{
	if (!mapped.inode)
		return PERHAPS;
	if (mapped.inode == opened.inode)
		return SAME;
	return mapped.device == opened.device ? OTHER : PERHAPS;
}

enum { WAYS = 5, WAY_BYTES = PATH_MAX + 64 };

/* One possible way to open the file of a mapping. */
struct way {
	char root[32]; /* root directory that the path is relative to; "" for our own */
	char path[WAY_BYTES];
	bool is_sure; /* this path always leads to the mapped file */
	/*
	 * the path may lead to another file; the file is accepted only if compare() returns SAME, not if it returns
	 * PERHAPS
	 */
	bool is_guess;
};

/*
 * Lists ways to open the file of @mapping. The path is valid in the process's mount namespace, which may differ from
 * ours, so it is also tried relative to the process's root directory. By now, the path may lead to another file. A
 * deleted file can be opened through /proc/PID/map_files (which needs privileges), through the process's own link in
 * /proc/self, or through /proc/PID/exe.
 */
static int list_ways(const struct mf_held_mapping *mapping, struct way ways[WAYS])
{
	static const char self[] = "/proc/self/";
	size_t length = length_of(mapping->path);
	bool deleted = mapping->path[length];
	int pid = (int)mapping->pid, n = 0;

	memset(ways, 0, WAYS * sizeof(*ways));
	if (!deleted)
		snprintf(ways[n++].path, WAY_BYTES, "%s", mapping->path);
	if (!pid)
		return n;
	if (!deleted) {
		snprintf(ways[n].root, sizeof(ways[n].root), "/proc/%d/root", pid);
		snprintf(ways[n++].path, WAY_BYTES, "%s", mapping->path);
	}
	ways[n].is_sure = true;
	snprintf(ways[n++].path, WAY_BYTES, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid,
		 mapping->start, mapping->end);
	if (mapping->alias && !strncmp(mapping->alias, self, strlen(self))) {
		ways[n].is_guess = true;
		snprintf(ways[n++].path, WAY_BYTES, "/proc/%d/%s", pid, mapping->alias + strlen(self));
	}
	ways[n].is_guess = true;
	snprintf(ways[n++].path, WAY_BYTES, "/proc/%d/exe", pid);
	return n;
}

/*
 * Opens the file of @mapping through another mapping that the process has of the same file now. @mapping itself may be
 * gone: a dynamic linker first maps a library as a whole, and then replaces parts of that mapping. Returns a descriptor
 * or -errno.
 */
static int open_by_other_mapping(const struct mf_held_mapping *mapping, struct stat *status)
{
	struct mf_proc_mapping other;
	struct mf_proc_mappings all;
	char path[WAY_BYTES];
	int fd = -ENOENT;

	if (!mapping->pid || !mapping->file.inode || mf_proc_mappings_open(&all, mapping->pid))
		return fd;
	while (fd < 0 && mf_proc_mappings_next(&all, &other)) {
		if (other.inode != mapping->file.inode || other.device != mapping->file.device)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)mapping->pid,
			 other.start, other.end);
		fd = open_regular("", path, status);
	}
	mf_proc_mappings_close(&all);
	return fd;
}

/* Opens the file of @mapping. Returns a descriptor or -errno. */
static int open_mapped(const struct mf_held_mapping *mapping, struct stat *status)
{
	struct way *ways = malloc(WAYS * sizeof(*ways));
	mf_auto_close int perhaps = -1;
	int n = ways ? list_ways(mapping, ways) : 0, code = -ENOENT, other;
	struct stat found;

	for (int i = 0; i < n; i++) {
		mf_auto_close int fd = open_regular(ways[i].root, ways[i].path, &found);
		enum likeness likeness;

		if (fd < 0) {
			/*
			 * Ignore an error on a path in /proc: it may only mean that we lack the privileges for that
			 * path.
			 */
			if (!ways[i].is_sure && !ways[i].is_guess)
				code = fd;
			continue;
		}
		likeness = ways[i].is_sure ? SAME : compare(mapping->file, mf_file_identity(&found));
		if (likeness == SAME) {
			*status = found;
			free(ways);
			return mf_take(fd, -1);
		}
		if (likeness == PERHAPS && perhaps < 0 && !ways[i].is_guess) {
			*status = found;
			perhaps = mf_take(fd, -1);
		} else if (likeness == OTHER && !ways[i].is_guess) {
			code = -ESTALE;
		}
	}
	free(ways);
	if (perhaps >= 0)
		return mf_take(perhaps, -1);
	other = open_by_other_mapping(mapping, status);
	return other >= 0 ? other : code;
}

/* Stores @fd, a descriptor or -errno, in @file; closes the descriptor if the table is full. */
static void set_opened(struct mf_held *held, struct mf_held_file *file, int fd, const struct stat *status)
{
	file->fd = -1;
	file->error = fd < 0 ? fd : 0;
	if (fd < 0)
		return;
	file->opened = mf_file_identity(status);
	file->size = (uint64_t)status->st_size;
	file->modified_ns = modified_ns(status);
	if (has_room(held)) {
		file->fd = fd;
		held->n_open++;
	} else {
		close(fd);
	}
}

static struct mf_held_file *add(struct mf_held *held, const char *path, size_t length,
				struct mf_file_identity mapped, int fd, const struct stat *status)
{
	struct mf_held_file **bucket = bucket_of(held, path, length);
	struct mf_held_file *file = calloc(1, sizeof(*file));

	if (file)
		file->path = strndup(path, length);
	if (!file || !file->path) {
		free(file);
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	file->mapped = mapped;
	set_opened(held, file, fd, status);
	file->next = *bucket;
	*bucket = file;
	return file;
}

struct mf_held_file *mf_held_take(struct mf_held *held, const struct mf_held_mapping *mapping)
{
	size_t length = length_of(mapping->path);
	struct mf_held_file *file;
	struct stat status;

	if (!held)
		return NULL;
	pthread_mutex_lock(&held->lock);
	file = find(*bucket_of(held, mapping->path, length), mapping->path, length, mapping->file);
	if (!file) {
		int fd = open_mapped(mapping, &status);

		file = add(held, mapping->path, length, mapping->file, fd, &status);
	}
	if (file)
		file->users++;
	pthread_mutex_unlock(&held->lock);
	return file;
}

/* Returns the path that the link @path in /proc leads to, of a deleted file as well. The caller frees the result. */
static char *name_of_link(const char *path)
{
	mf_auto_free char *name = malloc(PATH_MAX);
	ssize_t length = name ? readlink(path, name, PATH_MAX - 1) : -1;

	if (length < 0)
		return NULL;
	name[length] = '\0';
	name[length_of(name)] = '\0';
	return mf_take(name, NULL);
}

/* Returns the path that @path resolves to, even if it is a link in /proc to a deleted file. The caller frees it. */
static char *name_of(const char *path)
{
	return realpath(path, NULL) ?: name_of_link(path);
}

/* Adds a user to the file @name, which is open as @fd, unless @name is NULL. Takes ownership of @fd. */
static struct mf_held_file *take_opened(struct mf_held *held, const char *name, int fd, const struct stat *status)
{
	struct mf_held_file *file;

	if (!name) {
		close(fd);
		return NULL;
	}
	pthread_mutex_lock(&held->lock);
	file = find(*bucket_of(held, name, strlen(name)), name, strlen(name), mf_file_identity(status));
	if (file)
		close(fd);
	else
		file = add(held, name, strlen(name), mf_file_identity(status), fd, status);
	if (file)
		file->users++;
	pthread_mutex_unlock(&held->lock);
	return file;
}

struct mf_held_file *mf_held_take_path(struct mf_held *held, const char *path)
{
	struct stat status;
	int fd = held ? open_regular("", path, &status) : -1;
	mf_auto_free char *name = fd >= 0 ? name_of(path) : NULL;

	return fd >= 0 ? take_opened(held, name, fd, &status) : NULL;
}

struct mf_held_file *mf_held_take_in_root(struct mf_held *held, const char *root, const char *path)
{
	struct stat status;
	int fd = held ? open_regular(root, path, &status) : -1;
	mf_auto_free char *name = NULL;
	char link[32];

	if (fd < 0)
		return NULL;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	name = name_of_link(link);
	return take_opened(held, name, fd, &status);
}

struct mf_held_file *mf_held_use(struct mf_held *held, struct mf_held_file *file)
{
	if (!file)
		return NULL;
	pthread_mutex_lock(&held->lock);
	file->users++;
	pthread_mutex_unlock(&held->lock);
	return file;
}

void mf_held_release(struct mf_held *held, struct mf_held_file *file)
{
	struct mf_held_file **at;

	if (!file)
		return;
	pthread_mutex_lock(&held->lock);
	if (!--file->users) {
		at = bucket_of(held, file->path, strlen(file->path));
		while (*at != file)
			at = &(*at)->next;
		*at = file->next;
		held->n_open -= file->fd >= 0;
		destroy_file(file);
	}
	pthread_mutex_unlock(&held->lock);
}

int mf_held_open(const struct mf_held_file *file)
{
	mf_auto_close int fd = -1;
	struct stat status;

	if (file->error)
		return file->error;
	if (file->fd >= 0) {
		fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
		return fd < 0 ? -errno : mf_take(fd, -1);
	}
	fd = open_regular("", file->path, &status);
	if (fd < 0)
		return fd;
	return is_same(file->opened, mf_file_identity(&status)) ? mf_take(fd, -1) : -ESTALE;
}

bool mf_held_is_of(const struct mf_held_file *file, int fd)
{
	struct stat status;

	return !fstat(fd, &status) && is_same(file->opened, mf_file_identity(&status));
}

bool mf_held_has_changed(const struct mf_held_file *file, int fd)
{
	struct stat status;

	return fstat(fd, &status) || (uint64_t)status.st_size != file->size ||
	       modified_ns(&status) != file->modified_ns;
}
