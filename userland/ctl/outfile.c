// SPDX-License-Identifier: GPL-2.0
// An output file that is there as a whole, or not at all: written beside its name and then renamed.

#include "ctl/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

int mf_outfile_explain(const char *path, int code, struct mf_error *err)
{
	return mf_error_set(err, code, "cannot write the output file '%.600s': %s", path,
			    strerror(-code));
}

/* The directory of @path, with its slash; "./" if it has none. To be released with free(). */
static char *directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? strndup(path, (size_t)(slash - path) + 1) : strdup("./");
}

/* The number of the descriptor that @path stands for, or -1. */
static int descriptor_of(const char *path)
{
	static const struct {
		const char *path;
		int fd;
	} names[] = {
		{ "/dev/stdin", STDIN_FILENO },
		{ "/dev/stdout", STDOUT_FILENO },
		{ "/dev/stderr", STDERR_FILENO },
	};
	static const char *const directories[] = { "/dev/fd/", "/proc/self/fd/" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(path, names[i].path) == 0)
			return names[i].fd;
	}
	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
		size_t length = strlen(directories[i]);
		char *end;
		long fd;

		if (strncmp(path, directories[i], length) != 0)
			continue;
		fd = strtol(path + length, &end, 10);
		return end > path + length && !*end && fd >= 0 && fd <= INT_MAX ? (int)fd : -1;
	}
	return -1;
}

bool mf_outfile_needs_descriptors(const char *path)
{
	return descriptor_of(path) >= 0;
}

/* Is there something at @path that is not to be replaced, but written into: a pipe, a device? */
static bool is_special(const char *path)
{
	struct stat st;

	return descriptor_of(path) >= 0 ||
	       (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode));
}

int mf_outfile_check(const char *path, struct mf_error *err)
{
	mf_auto_free char *directory = directory_of(path);
	int fd = descriptor_of(path);
	struct stat st;

	if (!directory)
		return mf_outfile_explain(path, -ENOMEM, err);
	if (fd >= 0) {
		int flags = fcntl(fd, F_GETFL);

		if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
			return mf_outfile_explain(path, -EBADF, err);
		return 0;
	}
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return mf_outfile_explain(path, -EISDIR, err);
	if (access(path, F_OK) == 0 && access(path, W_OK) < 0)
		return mf_outfile_explain(path, -errno, err);
	if (is_special(path))
		return 0;
	if (access(directory, W_OK | X_OK) < 0)
		return mf_outfile_explain(path, -errno, err);
	return 0;
}

/* Opens what is_special() found; nothing is created or cut. Returns a descriptor or -errno. */
static int open_special(const char *path)
{
	mf_auto_close int fd = -1;
	int own = descriptor_of(path);
	struct stat st;

	fd = own >= 0 ? fcntl(own, F_DUPFD_CLOEXEC, 0) :
			open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (own < 0 && (fstat(fd, &st) < 0 || S_ISREG(st.st_mode)))
		return -EAGAIN; /* it has been exchanged meanwhile */
	return mf_take(fd, -1);
}

/* A name nobody can guess, in the directory of @path. NULL when there is no memory. */
static char *temporary_of(const char *path)
{
	mf_auto_free char *directory = directory_of(path);
	uint64_t random;
	char *name;

	if (!directory || getrandom(&random, sizeof(random), 0) != sizeof(random))
		return NULL;
	if (asprintf(&name, "%s.massif-%016" PRIx64, directory, random) < 0)
		return NULL;
	return name;
}

int mf_outfile_open(struct mf_outfile *file, const char *path, mode_t mode, struct mf_error *err)
{
	mf_auto_close int fd = -1;

	*file = (struct mf_outfile){ .path = strdup(path) };
	if (!file->path)
		return mf_outfile_explain(path, -ENOMEM, err);
	if (is_special(path)) {
		fd = open_special(path);
		if (fd < 0)
			return mf_outfile_explain(path, fd, err);
	} else {
		/* The rename would also replace what may not be written, or a whole directory. */
		int ret = mf_outfile_check(path, err);

		if (ret)
			return ret;
		file->temporary = temporary_of(path);
		if (!file->temporary)
			return mf_outfile_explain(path, -ENOMEM, err);
		fd = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			  mode);
		if (fd < 0) {
			int code = -errno;

			free(mf_take(file->temporary, NULL));
			return mf_outfile_explain(path, code, err);
		}
	}
	file->stream = fdopen(fd, "w");
	if (!file->stream) {
		mf_outfile_discard(file);
		return mf_outfile_explain(path, -ENOMEM, err);
	}
	fd = -1;
	return 0;
}

int mf_outfile_commit(struct mf_outfile *file, struct mf_error *err)
{
	int code = 0;

	errno = 0;
	if (ferror(file->stream))
		code = -EIO;
	if (fclose(mf_take(file->stream, NULL)) && !code)
		code = errno ? -errno : -EIO;
	if (!code && file->temporary) {
		if (rename(file->temporary, file->path) < 0)
			code = -errno;
		else
			free(mf_take(file->temporary, NULL));
	}
	if (code)
		mf_outfile_explain(file->path, code, err);
	mf_outfile_discard(file);
	return code;
}

void mf_outfile_discard(struct mf_outfile *file)
{
	if (file->stream)
		fclose(file->stream);
	if (file->temporary)
		unlink(file->temporary);
	free(file->temporary);
	free(file->path);
	*file = (struct mf_outfile){ 0 };
}
