// SPDX-License-Identifier: GPL-2.0
// Finds the program to profile and determines whether the preload shim can be loaded into it.

#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/regular.h"
#include "elf/kind.h"

#define SHELL "/bin/sh"

enum {
	HEAD_SIZE = 256,     /* number of bytes that the kernel reads from a script (BINPRM_BUF_SIZE) */
	INTERPRETERS_MAX = 5, /* nesting depth of scripts at which the kernel fails with ELOOP */
};

/* Checks whether @path is an executable file. Returns 0 if so, otherwise -errno. */
static int check_executable(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode) || access(path, X_OK) < 0)
		return -EACCES;
	return 0;
}

/*
 * Searches for @name in the list @directories. Returns 0 and stores the result in *@path, which the caller frees, or
 * returns -errno.
 */
static int search_path(const char *name, const char *directories, char **path)
{
	int ret = -ENOENT;

	/* The default of execvp() if PATH is not set. */
	if (!directories)
		directories = "/bin:/usr/bin";
	for (;;) {
		mf_auto_free char *candidate = NULL;
		size_t length = strcspn(directories, ":");
		int problem;

		if (asprintf(&candidate, "%.*s%s%s", (int)length, directories, length ? "/" : "",
			     name) < 0)
			return -ENOMEM;
		problem = check_executable(candidate);
		if (!problem) {
			*path = mf_take(candidate, NULL);
			return 0;
		}
		/*
		 * If no directory contains an executable file of that name, report one that exists but is not
		 * executable.
		 */
		if (problem == -EACCES)
			ret = problem;
		if (!directories[length])
			return ret;
		directories += length + 1;
	}
}

static int complain(struct mf_error *err, int code, const char *name)
{
	switch (code) {
	case -EISDIR:
		return mf_error_set(err, code, "%.600s: is a directory, not a program", name);
	case -ENOENT:
		if (!strchr(name, '/'))
			return mf_error_set(err, code, "%.600s: command not found", name);
	}
	return mf_error_set(err, code, "%.600s: cannot be executed: %s", name, strerror(-code));
}

/*
 * Returns whether executing @path gains privileges. If so, the loader runs in secure-execution mode and ignores
 * LD_PRELOAD; see execve(2) and ld.so(8).
 */
static bool is_privileged(const char *path)
{
	struct statvfs fs;
	struct stat st;

	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		return false;
	if (statvfs(path, &fs) == 0 && fs.f_flag & ST_NOSUID)
		return false;
	if (stat(path, &st) < 0)
		return false;
	if (st.st_mode & S_ISUID && st.st_uid != getuid())
		return true;
	/* Without group execute permission, the set-gid bit stands for mandatory locking, and execve() ignores it. */
	if ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st.st_gid != getgid())
		return true;
	return getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}

/*
 * Reads the interpreter from the first line of a script. Returns 1 and stores the interpreter in *@interpreter, which
 * the caller frees; 0 if @head is not a script; or -ENOMEM.
 */
static int read_interpreter(const char *head, char **interpreter)
{
	const char *start;

	if (strncmp(head, "#!", 2) != 0)
		return 0;
	start = head + 2 + strspn(head + 2, " \t");
	*interpreter = strndup(start, strcspn(start, " \t\n"));
	return *interpreter ? 1 : -ENOMEM;
}

/* Returns whether a shell would run the file. Like a shell, checks that the first line contains no NUL. */
static bool is_text(const char *head, size_t size)
{
	const char *line_end = memchr(head, '\n', size);

	return !memchr(head, '\0', line_end ? (size_t)(line_end - head) : size);
}

/* Reads the start of the file @path into @head and NUL-terminates it. Returns the number of bytes read, or -errno. */
static ssize_t read_head(const char *path, char head[HEAD_SIZE + 1])
{
	mf_auto_close int fd = mf_regular_open(path);
	ssize_t size;

	/* exec fails with EACCES for a file that is not a regular file. */
	if (fd < 0)
		return fd == -EINVAL ? -EACCES : fd;
	size = pread(fd, head, HEAD_SIZE, 0);
	if (size < 0)
		return -errno;
	head[size] = '\0';
	return size;
}

/* Determines the kind of the executable @path. For a script, sets program->image to the interpreter. */
static int classify(struct mf_program *program, const char *path, struct mf_error *err)
{
	char head[HEAD_SIZE + 1];

	for (int i = 0; i <= INTERPRETERS_MAX; i++) {
		mf_auto_free char *interpreter = NULL;
		ssize_t size = read_head(path, head);
		int ret;

		if (is_privileged(path)) {
			program->kind = MF_PROGRAM_PRIVILEGED;
			/* The set-uid bit of a script has no effect. */
			if (size < 0 || strncmp(head, "#!", 2) != 0)
				return 0;
		}
		program->kind = MF_PROGRAM_UNKNOWN;
		if (size < 0)
			return 0;
		ret = read_interpreter(head, &interpreter);
		if (ret < 0)
			return mf_error_set(err, ret, "out of memory");
		if (ret == 0) {
			program->kind = mf_elf_kind(path);
			if (program->kind != MF_PROGRAM_UNKNOWN || i > 0 ||
			    !is_text(head, (size_t)size))
				return 0;
			/*
			 * The file is not an ELF file and does not begin with #!, so let the shell execute it, as
			 * execvp() does.
			 */
			program->by_shell = true;
			interpreter = strdup(SHELL);
			if (!interpreter)
				return mf_error_set(err, -ENOMEM, "out of memory");
		}
		ret = check_executable(interpreter);
		if (ret)
			return mf_error_set(err, ret, "%.400s: bad interpreter %.200s: %s",
					    path, interpreter, strerror(-ret));
		free(program->image);
		program->image = mf_take(interpreter, NULL);
		path = program->image;
	}
	return mf_error_set(err, -ELOOP, "%.600s: cannot be executed: too many nested interpreters", program->path);
}

int mf_program_resolve(struct mf_program *program, const char *name, const char *directories,
		       struct mf_error *err)
{
	int ret;

	*program = (struct mf_program){ 0 };
	if (strchr(name, '/') || !*name) {
		ret = check_executable(name);
		program->path = strdup(name);
		if (!ret && !program->path)
			ret = -ENOMEM;
	} else {
		ret = search_path(name, directories, &program->path);
	}
	ret = ret ? complain(err, ret, name) : classify(program, program->path, err);
	if (ret)
		mf_program_deinit(program);
	return ret;
}

void mf_program_deinit(struct mf_program *program)
{
	free(program->path);
	free(program->image);
	*program = (struct mf_program){ 0 };
}
