// SPDX-License-Identifier: GPL-2.0
// Monitor commands from the program itself: massif-ctl generates the file's content, and the program writes the file.
//
// As a result, a relative path refers to the program's working directory, and the file can only be created where the
// program may write. massif-ctl may have different privileges, so it never opens a file that the program names.

#include "monitor_command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/join.h"
#include "core/session.h"
#include "core/thread.h"

#define MODE 0644

/* Buffers for executing a monitor command. Allocated with mmap(), because they may not fit on a small thread stack. */
struct scratch {
	struct mf_join_file file;
	char path[2 * PATH_MAX];
	char buffer[16384];
};

/*
 * Copies the whole contents of the file that the monitor command writes, which massif-ctl has sent as a descriptor, to
 * descriptor @to. Returns 0 or -errno.
 */
static int copy(struct scratch *scratch, int to)
{
	long n, done, at = 0;

	while ((n = syscall(SYS_pread64, scratch->file.contents, scratch->buffer,
			    sizeof(scratch->buffer), at)) > 0) {
		for (long i = 0; i < n; i += done) {
			done = syscall(SYS_write, to, scratch->buffer + i, n - i);
			if (done < 0 && errno == EINTR)
				done = 0;
			else if (done < 0)
				return -errno;
		}
		at += n;
	}
	return n < 0 ? -errno : 0;
}

static bool is_regular(int fd)
{
	struct stat status;

	return !syscall(SYS_fstat, fd, &status) && S_ISREG(status.st_mode);
}

static int write_file(struct scratch *scratch)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, scratch->file.name,
			      O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, MODE);
	int code;

	if (fd < 0)
		return -errno;
	code = copy(scratch, fd);
	/* Remove the incomplete file. massif-ctl still has the full content. */
	if (code && is_regular(fd))
		syscall(SYS_unlinkat, AT_FDCWD, scratch->file.name, 0);
	syscall(SYS_close, fd);
	return code;
}

/* Returns the file's absolute path, or its name if the directory is unknown. */
static const char *path_of(struct scratch *scratch)
{
	const char *name = scratch->file.name;
	long length = name[0] == '/' ? 0 : syscall(SYS_getcwd, scratch->path, PATH_MAX);
	size_t n;

	if (length < 2 || scratch->path[0] != '/')
		return name;
	n = (size_t)length - 1; /* getcwd(2)'s length includes the NUL */
	if (scratch->path[n - 1] != '/')
		scratch->path[n++] = '/';
	strcpy(scratch->path + n, name);
	return scratch->path;
}

/*
 * Executes the command and writes its file to @name or, if @name is NULL, to the path in the command. If there is a
 * file to write, sets *@written to 0 or -errno.
 */
static int execute(const char *text, const char *name, struct scratch *scratch, int *written)
{
	int code = mf_join_command(text, &scratch->file);

	if (!code && scratch->file.contents >= 0) {
		if (name)
			strcpy(scratch->file.name, name);
		*written = write_file(scratch);
		mf_join_written(&scratch->file, path_of(scratch), *written);
	}
	return code;
}

/*
 * Like execute(), but allocates the scratch memory. Returns 0 or -errno from massif-ctl; -EAGAIN if there is no memory;
 * -ESRCH in a process that is not profiled, or in a signal handler that interrupted the shim.
 */
static int perform(const char *text, const char *name, int *written)
{
	uint8_t inside = mf_thread_local.inside;
	struct scratch *scratch;
	int saved = errno, code = -EAGAIN;

	if (!mf_session_is_active() || inside & MF_INSIDE_SHIM)
		return -ESRCH;
	mf_thread_local.inside = inside | MF_INSIDE_SHIM;
	/* In a forked child that has had no event yet, mf_thread_get() gets a session for the child from massif-ctl. */
	mf_thread_get();
	scratch = mmap(NULL, sizeof(*scratch), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);
	if (scratch != MAP_FAILED) {
		code = execute(text, name, scratch, written);
		munmap(scratch, sizeof(*scratch));
	}
	mf_thread_local.inside = inside;
	errno = saved;
	return code;
}

uint64_t mf_command_execute(const char *text)
{
	int written = 0;

	return text && perform(text, NULL, &written) == -ENOSYS;
}

int mf_command_snapshot(const char *file)
{
	int written = -ENOENT, code;

	if (!file || strlen(file) >= PATH_MAX)
		return -ENAMETOOLONG;
	code = perform("detailed_snapshot", file, &written);
	return code ? code : written;
}
