// SPDX-License-Identifier: GPL-2.0
// Opens the files from which the names in one object are read.

#include "symbols/opener.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/regular.h"
#include "base/held.h"

#define DEBUG_ROOT "/usr/lib/debug"

void mf_opener_init(struct mf_opener *opener, const struct mf_object *object, const struct mf_search *search)
{
	*opener = (struct mf_opener){ .object = object, .search = search };
}

void mf_opener_deinit(struct mf_opener *opener)
{
	if (opener->fetched > 0)
		close(opener->fetched);
	mf_sources_deinit(&opener->sources);
}

static bool is_elf(int fd)
{
	char magic[SELFMAG];

	return pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) && !memcmp(magic, ELFMAG, SELFMAG);
}

/*
 * Checks whether @fd refers to an ELF file. If it does, or if @fd is itself a -errno, returns @fd; otherwise closes it
 * and returns -ENOEXEC.
 */
static int only_elf(int fd)
{
	if (fd < 0 || is_elf(fd))
		return fd;
	close(fd);
	return -ENOEXEC;
}

/* Like only_elf(), but if the file is not ELF, returns an O_PATH descriptor for it, from which nothing can be read. */
static int readable_if_elf(int fd)
{
	char path[32];
	int place;

	if (fd < 0 || is_elf(fd))
		return fd;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	place = open(path, O_PATH | O_CLOEXEC);
	if (place < 0)
		place = -errno;
	close(fd);
	return place;
}

/*
 * Names are read from the file that is held open, but a later run will open the file at the path. If these files
 * differ, the names must not be saved.
 */
static void check_source(struct mf_opener *opener, int fd)
{
	struct stat status;

	if (opener->sources.count && fd >= 0 &&
	    (fstat(fd, &status) || status.st_ino != opener->sources.files[0].inode))
		opener->sources.others = true;
}

/* Adds @path to the sources unless it is already listed: a restarted child requests the same files again. */
static void add_source(struct mf_opener *opener, const char *path)
{
	for (uint32_t i = 0; i < opener->sources.count; i++) {
		if (strcmp(opener->sources.paths[i], path) == 0) {
			opener->sources.others |= !mf_sources_are_still(&opener->sources);
			return;
		}
	}
	mf_sources_add(&opener->sources, path);
}

static int open_object(struct mf_opener *opener, bool by_path)
{
	const struct mf_object *object = opener->object;
	int fd;

	if (object->kind != MF_OBJECT_FILE || !object->path)
		return -ENOENT;
	add_source(opener, object->path);
	if (object->held && !by_path)
		fd = mf_held_open(object->held);
	else
		fd = mf_regular_open(object->path);
	check_source(opener, fd);
	return readable_if_elf(fd);
}

static int open_debug_file(struct mf_opener *opener, const char *path)
{
	add_source(opener, path);
	return only_elf(mf_regular_open(path));
}

static int open_by_build_id(struct mf_opener *opener, const uint8_t *bytes, size_t size)
{
	mf_auto_free char *path = mf_search_debug_path(DEBUG_ROOT, bytes, size);

	return path ? open_debug_file(opener, path) : -EINVAL;
}

/* The names may come from files that are not among the sources, so they must not be saved. */
static int open_searched(struct mf_opener *opener, uint32_t place)
{
	opener->sources.others = true;
	return only_elf(mf_search_open(opener->search, opener->object, place));
}

/* Asks a server only once: the child process may be restarted, or hostile. Returns a new descriptor or -errno. */
static int open_fetched(struct mf_opener *opener)
{
	const struct mf_search *search = opener->search;
	const struct mf_object *object = opener->object;
	int fd;

	if (!search->fetch)
		return -ENOENT;
	if (!opener->fetched) {
		opener->sources.others = true;
		fd = search->fetch(search->fetch_data, object->build_id, object->build_id_size);
		opener->fetched = fd ? only_elf(fd) : -EBADF;
	}
	if (opener->fetched < 0)
		return opener->fetched;
	fd = fcntl(opener->fetched, F_DUPFD_CLOEXEC, 0);
	return fd < 0 ? -errno : fd;
}

/*
 * Opens the debug file @name, which the object's debug link refers to. @place selects one of the directories that GDB's
 * documentation lists for such files; which directories these are depends on the directory of the object.
 */
static int open_by_link(struct mf_opener *opener, const char *name, uint32_t place)
{
	static const char *const formats[MF_OPENER_PLACES] = {
		"%.*s/%s",
		"%.*s/.debug/%s",
		DEBUG_ROOT "%.*s/%s",
	};
	mf_auto_free char *real = opener->object->path ? realpath(opener->object->path, NULL) : NULL;
	const char *slash = real ? strrchr(real, '/') : NULL;
	mf_auto_free char *path = NULL;

	if (!slash || !*name || strchr(name, '/') || place >= MF_OPENER_PLACES)
		return -ENOENT;
	if (asprintf(&path, formats[place], (int)(slash - real), real, name) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	return strcmp(path, real) == 0 ? -ENOENT : open_debug_file(opener, path);
}

int mf_opener_open(struct mf_opener *opener, const struct mf_opener_request *request)
{
	mf_auto_free char *text = NULL;
	int fd;

	if (request->size > sizeof(request->name))
		return -ENAMETOOLONG;
	switch (request->what) {
	case MF_OPENER_OBJECT:
	case MF_OPENER_PATH:
		return open_object(opener, request->what == MF_OPENER_PATH);
	case MF_OPENER_BY_BUILD_ID:
		return open_by_build_id(opener, request->name, request->size);
	case MF_OPENER_SEARCHED:
	case MF_OPENER_FETCHED:
		if (!opener->search || !opener->object->build_id_size)
			return -ENXIO;
		return request->what == MF_OPENER_FETCHED ? open_fetched(opener) : open_searched(opener, request->place);
	}
	text = strndup((const char *)request->name, request->size);
	if (!text)
		return -ENOMEM;
	if (request->what == MF_OPENER_BY_LINK)
		return open_by_link(opener, text, request->place);
	if (request->what != MF_OPENER_OTHER)
		return -EINVAL;
	/* Refuse relative paths, because we do not know what they are relative to. */
	fd = *text == '/' ? only_elf(mf_regular_open(text)) : -ENOENT;
	/* Such as the file that dwz has split off several debug files. */
	if (fd < 0 && opener->search)
		fd = only_elf(mf_search_open_shared(opener->search, text));
	opener->sources.others |= fd >= 0;
	return fd;
}
