// SPDX-License-Identifier: GPL-2.0
// Opens a path that another program supplied, if it is a regular file.

#include "base/regular.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Reopens the file of the O_PATH descriptor @place for reading. Returns a descriptor or -errno. */
static int reopen(int place)
{
	struct stat status;
	char path[32];
	int fd;

	if (fstat(place, &status))
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EINVAL;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

int mf_regular_openat(int directory, const char *path)
{
	mf_auto_close int place = openat(directory, path, O_PATH | O_CLOEXEC);

	return place < 0 ? -errno : reopen(place);
}

int mf_regular_open(const char *path)
{
	return mf_regular_openat(AT_FDCWD, path);
}

int mf_regular_open_in_root(const char *root, const char *path)
{
	const struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	mf_auto_close int directory = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	mf_auto_close int place = -1;

	if (directory < 0)
		return -errno;
	place = (int)syscall(SYS_openat2, directory, path, &how, sizeof(how));
	if (place < 0 && errno == ENOSYS)
		return mf_regular_openat(directory, path + (*path == '/'));
	return place < 0 ? -errno : reopen(place);
}
