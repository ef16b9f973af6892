// SPDX-License-Identifier: GPL-2.0
// Writes an output file atomically: writes a temporary file and then renames it.

#include "outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"

int mf_outfile_explain(const char *path, int code, struct mf_error *err)
{
	return mf_error_set(err, code, "cannot write '%.600s': %s", path, strerror(-code));
}

/* Returns the directory of @path, including the trailing slash, or "./". The caller frees the result. */
static char *directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? strndup(path, (size_t)(slash - path) + 1) : strdup("./");
}

/* Returns the descriptor that @path (such as /dev/stdout) stands for, or -1. */
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

bool mf_outfile_is_special(const char *path)
{
	struct stat st;

	return descriptor_of(path) >= 0 ||
	       (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode));
}

/* Checks that @path may be written or replaced. Returns 0 or -errno. */
static int check_name(const char *path)
{
	int fd = descriptor_of(path);
	struct stat st;

	if (fd >= 0) {
		int flags = fcntl(fd, F_GETFL);

		return flags < 0 || (flags & O_ACCMODE) == O_RDONLY ? -EBADF : 0;
	}
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return -EISDIR;
	if (access(path, F_OK) == 0 && access(path, W_OK) < 0)
		return -errno;
	return 0;
}

/*
 * Opens a special file (see mf_outfile_is_special()) without creating or truncating anything. Returns a
 * descriptor or -errno.
 */
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
		return -EAGAIN; /* @path has been replaced by a regular file since it was checked */
	return mf_take(fd, -1);
}

/* Returns an unguessable name in the directory of @path; NULL if out of memory. */
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

static int open_temporary(const char *name, mode_t mode)
{
	return open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
}

/*
 * Tests whether files can be created in the directory of @path, by creating one. access() is not a reliable test: it
 * succeeds for root in /proc, and for anybody in a deleted directory.
 */
static int try_directory_of(const char *path)
{
	mf_auto_free char *name = temporary_of(path);
	mf_auto_close int fd = -1;

	if (!name)
		return -ENOMEM;
	fd = open_temporary(name, 0600);
	if (fd < 0)
		return -errno;
	unlink(name);
	return 0;
}

int mf_outfile_check(const char *path, struct mf_error *err)
{
	int code = check_name(path);

	if (!code && !mf_outfile_is_special(path))
		code = try_directory_of(path);
	return code ? mf_outfile_explain(path, code, err) : 0;
}

int mf_outfile_open(struct mf_outfile *file, const char *path, mode_t mode, struct mf_error *err)
{
	mf_auto_close int fd = -1;

	*file = (struct mf_outfile){ .path = strdup(path) };
	if (!file->path)
		return mf_outfile_explain(path, -ENOMEM, err);
	if (mf_outfile_is_special(path)) {
		fd = open_special(path);
		if (fd < 0)
			return mf_outfile_explain(path, fd, err);
	} else {
		/* Check the permissions of an existing file: the later rename would replace even a read-only one. */
		int ret = check_name(path);

		if (ret)
			return mf_outfile_explain(path, ret, err);
		file->temporary = temporary_of(path);
		if (!file->temporary)
			return mf_outfile_explain(path, -ENOMEM, err);
		fd = open_temporary(file->temporary, mode);
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

/* stdio does not save the errno of a failed write, so write again to obtain it. */
static int reason_of_failure(FILE *stream)
{
	clearerr(stream);
	errno = 0;
	putc('\n', stream);
	fflush(stream);
	return errno ? -errno : -EIO;
}

/*
 * Returns whether the file system of @fd may report a lack of space only at fsync(). Local file systems report it
 * immediately; waiting for their disks would take many seconds in a run with a thousand processes.
 */
static bool is_remote(int fd)
{
	static const uint32_t types[] = {
		NFS_SUPER_MAGIC, SMB_SUPER_MAGIC, SMB2_SUPER_MAGIC, CIFS_SUPER_MAGIC, FUSE_SUPER_MAGIC,
		V9FS_MAGIC,	 CEPH_SUPER_MAGIC, AFS_SUPER_MAGIC, AFS_FS_MAGIC,     CODA_SUPER_MAGIC,
	};
	struct statfs status;

	if (fstatfs(fd, &status))
		return true;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if ((uint32_t)status.f_type == types[i])
			return true;
	return false;
}

/* Flushes and closes the stream. Returns 0 or -errno. */
static int finish(struct mf_outfile *file)
{
	int code = 0;

	if (fflush(file->stream) || ferror(file->stream))
		code = reason_of_failure(file->stream);
	else if (file->temporary && is_remote(fileno(file->stream)) && fsync(fileno(file->stream)))
		code = -errno;
	errno = 0;
	if (fclose(mf_take(file->stream, NULL)) && !code)
		code = errno ? -errno : -EIO;
	return code;
}

int mf_outfile_commit(struct mf_outfile *file, struct mf_error *err)
{
	int code = finish(file);

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

/* Fills the file and commits it. On error, removes the file. */
static int fill_and_commit(struct mf_outfile *file, const struct mf_outfile_source *source,
			   struct mf_error *err)
{
	int code = source->fill(file->stream, source->data, err);

	if (!code)
		return mf_outfile_commit(file, err);
	if (code != -ENOMEM)
		mf_outfile_explain(file->path, code, err);
	mf_outfile_discard(file);
	return code;
}

/* Returns the base name to use if @path must be saved elsewhere: its own, or source->stem if @path is special. */
static const char *stem_of(const char *path, const struct mf_outfile_source *source)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;

	return mf_outfile_is_special(path) || !*base ? source->stem : base;
}

/*
 * Creates a file with an unguessable name in @directory, to replace @path, which could not be written. Returns 0 or
 * -errno.
 */
static int open_elsewhere(struct mf_outfile *file, const char *directory, const char *path,
			  const struct mf_outfile_source *source)
{
	mf_auto_close int fd = -1;
	int code;

	*file = (struct mf_outfile){ 0 };
	if (asprintf(&file->path, "%s/%.200s.XXXXXX", directory, stem_of(path, source)) < 0) {
		file->path = NULL;
		return -ENOMEM;
	}
	fd = mkostemp(file->path, O_CLOEXEC);
	if (fd < 0) {
		code = -errno;
		free(mf_take(file->path, NULL));
		return code;
	}
	/*
	 * The file already has its final name. Record that name as the temporary name, too, so that the file is removed
	 * if writing fails.
	 */
	file->temporary = strdup(file->path);
	file->stream = file->temporary ? fdopen(fd, "w") : NULL;
	if (!file->stream) {
		unlink(file->path);
		mf_outfile_discard(file);
		return -ENOMEM;
	}
	fd = -1;
	return 0;
}

#define REFUGES		 2
#define REFUGE_BYTES_MAX 300 /* limit on a directory's name, so that a whole file name fits into a message */

/* Returns the directory for the @i-th attempt to save a file elsewhere, $TMPDIR or /tmp; NULL to skip the attempt. */
static const char *refuge(size_t i)
{
	const char *chosen = getenv("TMPDIR");

	if (i)
		return chosen && strcmp(chosen, "/tmp") == 0 ? NULL : "/tmp";
	return chosen && chosen[0] == '/' && strlen(chosen) <= REFUGE_BYTES_MAX ? chosen : NULL;
}

int mf_outfile_save(const char *path, const struct mf_outfile_source *source, char **saved,
		    struct mf_error *err)
{
	struct mf_error why = *err, other = { "out of memory" };
	int code = -ENOENT;

	for (size_t i = 0; i < REFUGES; i++) {
		const char *directory = refuge(i);
		mf_auto_free char *name = NULL;
		struct mf_outfile file;

		if (!directory)
			continue;
		code = open_elsewhere(&file, directory, path, source);
		if (code) {
			mf_outfile_explain(directory, code, &other);
			continue;
		}
		name = strdup(file.path);
		code = name ? fill_and_commit(&file, source, &other) : -ENOMEM;
		if (code)
			continue;
		mf_error_set(err, 0, "%.400s; saved as %s instead", why.text, name);
		*saved = mf_take(name, NULL);
		return 0;
	}
	return mf_error_set(err, code, "%.500s; %.400s; it is lost", why.text, other.text);
}

int mf_outfile_fill_from(FILE *out, void *data, struct mf_error *err)
{
	char buffer[65536];
	off_t at = 0;
	ssize_t size;

	while ((size = pread(*(const int *)data, buffer, sizeof(buffer), at)) > 0) {
		errno = EIO;
		if (fwrite(buffer, 1, (size_t)size, out) != (size_t)size)
			break;
		at += size;
	}
	return size ? mf_error_set(err, -errno, "%s", strerror(errno)) : 0;
}

int mf_outfile_write(const char *path, const struct mf_outfile_source *source, char **saved,
		     struct mf_error *err)
{
	struct mf_outfile file;
	int code = mf_outfile_open(&file, path, source->mode, err);

	*saved = NULL;
	if (code)
		mf_outfile_discard(&file);
	else
		code = fill_and_commit(&file, source, err);
	if (!code || code == -ENOMEM)
		return code;
	return mf_outfile_save(path, source, saved, err);
}
