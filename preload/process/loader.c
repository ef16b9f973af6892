// SPDX-License-Identifier: GPL-2.0
// Finds out whether a program that is about to be executed can load the shim.
//
// glibc's dynamic loader ignores a library in LD_PRELOAD that it cannot load. The loaders of other C libraries end the
// program instead. massif-ctl classifies programs by the same rule (userland/elf/kind.c), but it may be unable to find
// the files of a container, and its answer would come too late to change the environment.

#include "loader.h"

#include <alloca.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* File name of glibc's dynamic loader. The shim needs a library of this name. */
#define LOADER "ld-linux-x86-64.so.2"

enum {
	HEAD_BYTES = 256,      /* what the kernel reads of a script (BINPRM_BUF_SIZE) */
	NESTED_SCRIPTS = 5,    /* nesting depth of scripts at which the kernel fails with ELOOP */
	SEGMENT_BYTES = 65536, /* the kernel executes no program with a longer table of segments */
};

/* Opens a file for reading if it is a regular one. Returns the descriptor, or a negative number. */
static int open_regular(int directory, const char *path)
{
	struct stat status;

	if (syscall(SYS_newfstatat, directory, path, &status, 0) || !S_ISREG(status.st_mode))
		return -1;
	return (int)syscall(SYS_openat, directory, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

/*
 * Opens the first executable file called @name in the list @directories, as execvp() would find it. The path is built on the
 * stack, in as many bytes as execvp() itself uses for this.
 */
static int search(const char *name, const char *directories)
{
	size_t name_bytes = strlen(name) + 1, most = strnlen(directories, PATH_MAX - 1);
	char *path;

	if (name_bytes > NAME_MAX + 1)
		return -1;
	path = alloca(most + 1 + name_bytes);
	for (;; directories++) {
		size_t length = strcspn(directories, ":");
		int fd = -1;

		if (length <= most) {
			memcpy(path, directories, length);
			path[length] = '/';
			/* An empty entry stands for the working directory. */
			memcpy(path + length + (length > 0), name, name_bytes);
			if (!syscall(SYS_faccessat, AT_FDCWD, path, X_OK))
				fd = open_regular(AT_FDCWD, path);
		}
		directories += length;
		if (fd >= 0 || !*directories)
			return fd;
	}
}

/* Returns what follows the last slash of @path. */
static const char *last_part(const char *path)
{
	for (const char *slash = path; (slash = strchr(slash, '/')); path = ++slash)
		;
	return path;
}

/*
 * Returns whether the last part of the loader's path, which is @bytes long at @offset, is not the name of glibc's loader. Only
 * the end of the path is read, to use little of the caller's stack.
 */
static bool names_another(int fd, uint64_t offset, uint64_t bytes)
{
	char end[NAME_MAX + 2]; /* with the slash before the name */
	size_t n = bytes < sizeof(end) ? (size_t)bytes : sizeof(end);

	if (bytes < 2 || pread(fd, end, n, (off_t)(offset + bytes - n)) != (ssize_t)n || end[n - 1])
		return false;
	return strcmp(last_part(end), LOADER) != 0;
}

/* Returns whether @fd is an ELF file of the shim's machine that has a loader, but not glibc's. */
static bool is_foreign(int fd)
{
	Elf64_Ehdr header;
	Elf64_Phdr segment;

	if (pread(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    header.e_machine != EM_X86_64 || header.e_phentsize != sizeof(segment) ||
	    header.e_phnum > SEGMENT_BYTES / sizeof(segment))
		return false;
	for (unsigned int i = 0; i < header.e_phnum; i++) {
		off_t offset = (off_t)(header.e_phoff + i * sizeof(segment));

		if (pread(fd, &segment, sizeof(segment), offset) != (ssize_t)sizeof(segment))
			return false;
		if (segment.p_type == PT_INTERP)
			return names_another(fd, segment.p_offset, segment.p_filesz);
	}
	return false;
}

/*
 * Returns whether @path is musl's dynamic loader, which a user can execute as a program with another program as argument. The
 * file itself looks like a statically linked program.
 */
static bool is_musl_loader(const char *path)
{
	static const char start[] = "ld-musl-";

	return !strncmp(last_part(path), start, sizeof(start) - 1);
}

/* Opens the program that interprets the script @fd. Returns a negative number if @fd is no script. */
static int open_interpreter(int fd)
{
	char head[HEAD_BYTES + 1], *start = head + 2;
	ssize_t n = pread(fd, head, HEAD_BYTES, 0);

	if (n < 2 || memcmp(head, "#!", 2))
		return -1;
	head[n] = '\0';
	while (*start == ' ' || *start == '\t')
		start++;
	start[strcspn(start, " \t\n")] = '\0';
	return open_regular(AT_FDCWD, start);
}

bool mf_loader_is_foreign(int directory, const char *path, const char *directories)
{
	int saved = errno, given = *path ? -1 : directory, fd;
	bool foreign = false;

	if (!*path)
		fd = given;
	else if (directories)
		fd = search(path, directories);
	else
		fd = open_regular(directory, path);
	for (int i = 0; fd >= 0; i++) {
		int interpreter = -1;

		foreign = is_foreign(fd) || (!i && is_musl_loader(path));
		if (!foreign && i < NESTED_SCRIPTS)
			interpreter = open_interpreter(fd);
		if (fd != given)
			close(fd);
		fd = interpreter;
	}
	errno = saved;
	return foreign;
}
