// SPDX-License-Identifier: GPL-2.0
// The user's cache directory, which keeps results of one run to speed up the next.

#include "base/cachedir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/*
 * Limits on the total for all files with the same suffix, needed because each new build of a program adds files. When a
 * limit is reached, the oldest files are removed until usage is down to three quarters of the limit.
 */
#define FILES_MAX 512u
#define BYTES_MAX (64u << 20)

#define NAME_SIZE 256u

void mf_cachedir_locate(char *path, size_t size)
{
	const char *base = getenv("XDG_CACHE_HOME"), *below = "massif";

	path[0] = '\0';
	if (getauxval(AT_SECURE))
		return;
	if (!base || base[0] != '/') {
		base = getenv("HOME");
		below = ".cache/massif";
	}
	if (!base || base[0] != '/')
		return;
	if ((size_t)snprintf(path, size, "%s/%s", base, below) >= size)
		path[0] = '\0';
}

static bool is_own(const struct stat *status)
{
	return status->st_uid == geteuid() && !(status->st_mode & (S_IWGRP | S_IWOTH));
}

bool mf_cachedir_may_keep_from(int fd)
{
	struct stat status;

	if (fstat(fd, &status) || (status.st_uid && status.st_uid != geteuid()) || status.st_mode & S_IWOTH)
		return false;
	/* With umask 002, which is usual where each user has a group, a user's own files are writable by that group. */
	return !(status.st_mode & S_IWGRP) || status.st_gid == getegid();
}

int mf_cachedir_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	struct stat status;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &status) || !is_own(&status)) {
		close(fd);
		return -EPERM;
	}
	return fd;
}

/* Creates at most the last two components of @path; the directories above them must already exist. */
int mf_cachedir_make(const char *path)
{
	int fd = mf_cachedir_open(path);
	char above[PATH_MAX];
	char *slash;

	if (fd != -ENOENT)
		return fd;
	snprintf(above, sizeof(above), "%s", path);
	slash = strrchr(above, '/');
	*slash = '\0';
	if ((mkdir(above, 0700) && errno != EEXIST) || (mkdir(path, 0700) && errno != EEXIST))
		return -errno;
	return mf_cachedir_open(path);
}

static bool read_all(int fd, char *to, size_t size)
{
	for (size_t n = 0; n < size;) {
		ssize_t got = read(fd, to + n, size - n);

		if (got <= 0)
			return false;
		n += (size_t)got;
	}
	return true;
}

void *mf_cachedir_read(int directory, const char *name, size_t most, size_t *size)
{
	mf_auto_close int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW |
							       O_NONBLOCK | O_NOCTTY);
	mf_auto_free char *contents = NULL;
	struct stat status;

	if (fd < 0 || fstat(fd, &status) || !S_ISREG(status.st_mode) || !is_own(&status) ||
	    (uint64_t)status.st_size > most)
		return NULL;
	*size = (size_t)status.st_size;
	contents = malloc(*size + 1);
	return contents && read_all(fd, contents, *size) ? mf_take(contents, NULL) : NULL;
}

struct entry {
	struct timespec changed;
	uint64_t bytes;
	char name[NAME_SIZE];
};

static int by_age(const void *a, const void *b)
{
	const struct timespec *one = &((const struct entry *)a)->changed;
	const struct timespec *other = &((const struct entry *)b)->changed;

	if (one->tv_sec != other->tv_sec)
		return one->tv_sec < other->tv_sec ? -1 : 1;
	return (one->tv_nsec > other->tv_nsec) - (one->tv_nsec < other->tv_nsec);
}

/*
 * Removes the oldest files with the suffix @kind if there are too many. Called before a new file is created. Files that
 * are still being written (their names have a pid after the suffix) are counted, and may be removed, too.
 */
static void make_room(int directory, const char *kind)
{
	mf_auto_free struct entry *entries = NULL;
	size_t n = 0, room = 0;
	uint64_t bytes = 0;
	struct dirent *found;
	DIR *list = fdopendir(dup(directory));

	if (!list)
		return;
	rewinddir(list);
	while ((found = readdir(list))) {
		struct stat status;

		if (n == room) {
			struct entry *more;

			room = room ? 2 * room : 64;
			more = realloc(entries, room * sizeof(*entries));
			if (!more)
				break;
			entries = more;
		}
		if (!strstr(found->d_name, kind) ||
		    fstatat(directory, found->d_name, &status, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(status.st_mode))
			continue;
		bytes += entries[n].bytes = (uint64_t)status.st_size;
		entries[n].changed = status.st_mtim;
		snprintf(entries[n++].name, NAME_SIZE, "%s", found->d_name);
	}
	closedir(list);
	if (n < FILES_MAX && bytes < BYTES_MAX)
		return;
	qsort(entries, n, sizeof(*entries), by_age);
	for (size_t i = 0; n - i > FILES_MAX / 4 * 3 || bytes > BYTES_MAX / 4 * 3; i++) {
		unlinkat(directory, entries[i].name, 0);
		bytes -= entries[i].bytes;
	}
}

static bool write_all(int fd, const char *from, size_t size)
{
	for (size_t n = 0; n < size;) {
		ssize_t written = write(fd, from + n, size - n);

		if (written <= 0)
			return false;
		n += (size_t)written;
	}
	return true;
}

void mf_cachedir_write(int directory, const char *name, const void *from, size_t size)
{
	const char *kind = strrchr(name, '.');
	char beside[NAME_SIZE];
	bool done;
	int fd;

	if (kind && faccessat(directory, name, F_OK, AT_SYMLINK_NOFOLLOW))
		make_room(directory, kind);
	snprintf(beside, sizeof(beside), "%s.%ld", name, (long)getpid());
	fd = openat(directory, beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return;
	done = write_all(fd, from, size);
	done = !close(fd) && done;
	if (!done || renameat(directory, beside, directory, name))
		unlinkat(directory, beside, 0);
}
